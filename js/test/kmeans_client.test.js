/** The client of K-means: enrolled, asked once, drawn once; and every way in which a curator can fail or cheat. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ChannelError, KMeansClient, KMeansStudy, ProtocolError, RejectedError, UnavailableError } from "../dist/kmeans.js";
import { receiptWords } from "../dist/words.js";
import { URL_OF, token } from "./curator.js";
import { FRACTIONS, KMeansCurator, ROUNDS, STUDY, drawn, integerOf, roundOf, somebodyIn, turnsOf } from "./kmeans_curator.js";

const POINT = [0.25, 1.5];
const [FIRST, SECOND, NEVER] = [somebodyIn(1), somebodyIn(2), somebodyIn(null)];

function client(curator, who = FIRST, options = {}) {
  return new KMeansClient(URL_OF, { token: token(who), fetch: curator.fetch, firstWait: 0, ...options });
}

/** Somebody who has enrolled, in a study whose first round is asked. */
async function asked(who = FIRST, options = {}) {
  const curator = new KMeansCurator();
  const one = client(curator, who, options);
  await one.enroll(POINT);
  curator.ask();
  curator.received = [];
  return { curator, one };
}

test("who enrolls sends no more than a commitment, and the point stays here", async () => {
  const curator = new KMeansCurator();
  const one = client(curator);
  const { study } = await one.study();
  assert.ok(study instanceof KMeansStudy);
  const given = [...POINT];
  const receipt = await one.enroll(given);
  given[0] = 0.9; // what an app does with its own list afterwards
  assert.deepEqual([receipt.group, receipt.resent], ["local", false]);
  assert.equal(curator.asked.some(({ options }) => options.body?.includes("0.25")), false);
  assert.deepEqual(curator.asked.filter(({ method }) => method === "POST").map(({ path }) => path), ["/studies/minutes/enrollments"]);
  const kept = await one.kept();
  assert.match(kept.body, /^\{"digest":"[0-9a-f]{64}","nonce":"[0-9a-f]{32}"\}$/); // which opens it
  assert.deepEqual(curator.received, [JSON.stringify({ digest: STUDY.digest, commitment: receipt.commitment })]);
  assert.deepEqual([kept.point, kept.integer], [POINT, 0]);
  assert.ok((await one.enroll([0.9, 0])).resent);
  assert.deepEqual((await one.kept()).point, POINT);
});

test("a point in trust is on the grid of its bounds, and its commitment is the protocol's", async () => {
  for (const point of [POINT, [1 / 3, -0.7], [2, -9], [0, 5]]) {
    const curator = new KMeansCurator();
    const one = client(curator);
    const receipt = await one.trust(point);
    assert.equal(receipt.group, "trusted");
    const { value } = JSON.parse(curator.received[0]);
    assert.equal((await one.kept()).integer, String(integerOf(value)));
    value.forEach((x, j) => assert.ok(Math.abs(x - Math.min(Math.max(point[j], [0, -5][j]), [1, 5][j])) < 1e-6));
    await assert.rejects(one.enroll(point), { reason: "group" });
    await assert.rejects(one.answer(point), { reason: "group" });
    assert.ok((await one.withdraw()).opened);
  }
});

test("a point that is none draws and keeps nothing", async () => {
  const curator = new KMeansCurator();
  const one = client(curator);
  for (const point of [[0.5], [0.5, NaN], "0.5,1", [0.5, "1"], [0.5, 1, 2]]) {
    for (const act of ["enroll", "trust"]) {
      await assert.rejects(one[act](point), (error) => error instanceof ChannelError && error.reason === "value" && !/0\.5/.test(error.message));
    }
  }
  assert.equal(await one.kept(), undefined);
  assert.equal(curator.received.length, 0);
});

test("an answer is drawn in one's own round, sent as it was drawn, and its receipt is checked", async () => {
  const { curator, one } = await asked();
  const receipt = await one.answer();
  assert.deepEqual([receipt.resent, receipt.commitment, receipt.round], [false, curator.answers.get(FIRST), 1]);
  const { point, answer, turns } = await one.kept();
  assert.deepEqual([point, turns, curator.received], [undefined, turnsOf(["1/3"]), [answer.body]]);
  assert.deepEqual(Object.keys(JSON.parse(answer.body)), ["round", "ask", "variant", "code", "nonce", "enrollment_nonce"]);
  assert.deepEqual([answer.number, answer.purpose, answer.receipt], [1, "what vectors ask", receipt.document]);
  assert.ok(JSON.parse(answer.question).centers && JSON.parse(answer.channel).epsilon === "1");
  assert.ok(one.symbol >= 0 && one.symbol < 4);
  const again = await one.answer([0.9, 0.9]);
  assert.deepEqual([again.resent, again.commitment], [true, receipt.commitment]);
  assert.equal(new Set(curator.received).size, 1);
});

test("answers are those of the question and the channel", async () => {
  const counts = new Map();
  for (let i = 0; i < 600; i++) {
    const { one } = await asked();
    await one.answer([0.25, 0]); // at the first center: both signs are even odds
    const { variant, code } = JSON.parse((await one.kept()).answer.body);
    assert.ok(variant < 2 && code < 4);
    counts.set(code >> 1, (counts.get(code >> 1) ?? 0) + 1);
  }
  // Label 0: its two symbols with e / (e + 3) and 1 / (e + 3) together, 0.65; six standard deviations.
  const share = (Math.E + 1) / (Math.E + 3);
  assert.ok(Math.abs((counts.get(0) ?? 0) - 600 * share) < 6 * Math.sqrt(600 * share * (1 - share)));
});

test("a device answers by itself, when it is its turn", async () => {
  const curator = new KMeansCurator();
  const one = client(curator, SECOND);
  const enrolled = await one.enroll(POINT);
  assert.deepEqual((await one.resume()).document, enrolled.document); // nothing is asked yet
  assert.equal(curator.asked.some(({ path }) => path.endsWith("/round")), false);
  curator.state = "closed";
  assert.equal((await one.resume()).commitment, enrolled.commitment);
  curator.ask();
  assert.equal((await one.resume()).commitment, enrolled.commitment); // others are asked
  assert.deepEqual([(await one.kept()).turns, (await one.kept()).point], [turnsOf(["1/3"]), POINT]);
  await assert.rejects(one.answer(), (error) => error instanceof RejectedError && error.reason === "early" && /later round/.test(error.message));
  const before = curator.asked.length;
  await one.resume();
  assert.deepEqual(curator.asked.slice(before).map(({ path }) => path), ["/studies/minutes"]); // it is still the same round
  curator.ask();
  const receipt = await one.resume();
  assert.deepEqual([receipt.commitment, receipt.round], [curator.answers.get(SECOND), 2]);
  assert.deepEqual((await one.resume()).document, receipt.document);
  assert.equal((await one.kept()).turns, turnsOf(FRACTIONS));
});

test("whoever comes late is told so, and the point is deleted", async () => {
  const { curator, one } = await asked();
  curator.ask();
  await assert.rejects(one.resume(), (error) => error instanceof RejectedError && error.reason === "late" && /has ended/.test(error.message));
  assert.equal((await one.kept()).point, undefined);
  await assert.rejects(one.answer(POINT), { reason: "late" });
  const absent = client(curator, NEVER);
  curator.state = "open";
  await absent.enroll(POINT);
  curator.ask();
  assert.equal(curator.steps, "released"); // all rounds have been asked
  await assert.rejects(absent.answer(), { name: "RejectedError", reason: "late" });
  assert.equal((await absent.kept()).point, undefined);
  assert.equal(curator.answers.size, 0);
});

test("without a point nobody is answered for, and whoever has not enrolled is not asked", async () => {
  const curator = new KMeansCurator();
  const one = client(curator);
  await assert.rejects(one.answer(POINT), { name: "ProtocolError", reason: "nothing", message: /enroll\(\)/ });
  await one.enroll();
  curator.ask();
  assert.equal((await one.resume()).group, "local"); // its enrollment's
  await assert.rejects(one.answer(), { name: "ChannelError", reason: "value" });
  assert.equal((await one.kept()).answer, undefined);
  assert.equal((await one.answer(POINT)).round, 1);
});

for (const [name, troubles, options] of [
  ["answers 500", [{ status: 500, reason: "unavailable" }, { status: 503, reason: "unavailable" }], {}],
  ["asks to wait", [{ status: 429, reason: "too-many", headers: { "Retry-After": "0.001" } }], {}],
  ["is gone", ["gone", "gone"], {}],
  ["hangs", ["hang"], { timeout: 20 }],
  ["takes it and loses the answer", ["lose", "lose"], {}],
]) {
  test(`a curator that ${name} gets the same bytes again`, async () => {
    const { curator, one } = await asked(FIRST, options);
    curator.troubles = [undefined, undefined, ...troubles]; // the round and the keys come
    if (troubles[0] === "lose") curator.troubles = troubles;
    await one.answer();
    assert.deepEqual([new Set(curator.received).size, curator.answers.size, curator.troubles.length], [1, 1, 0]);
  });
}

for (const [name, trouble, reason, options] of [
  ["answers 500", { status: 500, reason: "unavailable" }, "unavailable", {}],
  ["is gone", "gone", "unreachable", {}],
  ["hangs", "hang", "unreachable", { timeout: 5, attempts: 2 }],
]) {
  test(`while a curator ${name} the answer is kept, and sent later as it is`, async () => {
    const store = new Map();
    const { curator, one } = await asked(FIRST, { store, ...options });
    curator.troubles = [undefined, undefined, ...new Array(20).fill(trouble)];
    await assert.rejects(one.answer(), (error) => error instanceof UnavailableError && error.reason === reason);
    const { answer, point } = await one.kept();
    assert.equal(point, undefined);
    await assert.rejects(one.answer([0.9, 0.9]), UnavailableError);
    assert.deepEqual((await one.kept()).answer, answer);
    curator.troubles = [];
    const again = client(curator, FIRST, { store }); // the app was started again
    assert.deepEqual([(await again.resume()).commitment, curator.received], [curator.answers.get(FIRST), [answer.body]]);
    assert.equal(again.symbol, undefined); // which was in memory only
  });
}

test("an answer that arrived in time gets its receipt after its round, one that did not is late", async () => {
  for (const [trouble, after] of [["lose", undefined], ["gone", "late"]]) {
    const { curator, one } = await asked(FIRST, { attempts: 1 });
    curator.troubles = trouble === "lose" ? ["lose"] : [undefined, undefined, "gone"];
    await assert.rejects(one.answer(), UnavailableError);
    const { answer } = await one.kept();
    curator.ask();
    if (after) await assert.rejects(one.resume(), { reason: after });
    else assert.equal((await one.resume()).commitment, curator.answers.get(FIRST));
    assert.equal((await one.kept()).answer.body, answer.body);
    curator.ask(); // there is no round any more
    if (!after) assert.equal((await one.answer()).round, undefined);
  }
});

test("an enrollment that never arrived is sent first, and is gone once the curator refuses it", async () => {
  const curator = new KMeansCurator();
  const one = client(curator, FIRST, { attempts: 1 });
  await one.study();
  curator.troubles = [undefined, "gone"];
  await assert.rejects(one.enroll(POINT), UnavailableError);
  curator.ask();
  await assert.rejects(one.answer(), { name: "RejectedError", reason: "closed" });
  assert.deepEqual(await one.kept(), { gone: "closed" });
  const other = client(curator);
  curator.state = "open";
  curator.troubles = [undefined, undefined, "lose"];
  await assert.rejects(client(curator, FIRST, { attempts: 1 }).enroll(), UnavailableError);
  drawn.byte = 8; // another device of theirs
  await assert.rejects(other.enroll(POINT), { reason: "duplicate" });
  drawn.byte = 7;
});

test("eight tabs draw one answer", async () => {
  const curator = new KMeansCurator();
  const store = new Map();
  const tabs = Array.from({ length: 8 }, () => client(curator, FIRST, { store }));
  await Promise.all(tabs.map((tab) => tab.enroll(POINT)));
  curator.ask();
  curator.received = [];
  const receipts = await Promise.all(tabs.map((tab) => tab.resume()));
  assert.deepEqual([new Set(curator.received).size, new Set(receipts.map((receipt) => receipt.commitment)).size], [1, 1]);
  assert.equal(tabs.filter((tab) => tab.symbol !== undefined).length, 1);
});

test("people withdraw before the first round, and not after it", async () => {
  const curator = new KMeansCurator();
  const [one, other, trusting] = [client(curator), client(curator, somebodyIn(1, 1)), client(curator, somebodyIn(1, 2))];
  await assert.rejects(one.withdraw(), { reason: "nothing" });
  await one.enroll(POINT);
  await other.enroll(POINT);
  await trusting.trust(POINT);
  const receipt = await one.withdraw();
  assert.deepEqual([receipt.opened, Object.keys(await one.kept())], [true, ["gone", "receipt"]]);
  assert.deepEqual((await one.withdraw()).document, receipt.document);
  await assert.rejects(one.enroll(POINT), { reason: "withdrawn" });
  await assert.rejects(one.answer(POINT), { reason: "withdrawn" });
  curator.ask();
  await assert.rejects(other.withdraw(), { name: "RejectedError", reason: "closed", message: /before the first round/ });
  assert.deepEqual((await other.kept()).point, POINT);
  assert.equal((await other.answer()).round, 1);
  await assert.rejects(trusting.withdraw(), { reason: "closed" });
  assert.deepEqual(await trusting.kept(), { gone: "closed" }); // its point need not be here any more
});

test("once the study is released, or withdrawn, what is kept is deleted; a device that forgets does not answer", async () => {
  for (const state of ["released", "withdrawn"]) {
    const { curator, one } = await asked();
    await one.answer();
    curator.state = state;
    await one.resume();
    assert.deepEqual(await one.kept(), { gone: "closed" });
    await assert.rejects(one.answer(POINT), { reason: "closed" });
  }
  const { curator, one } = await asked();
  await one.forget();
  assert.deepEqual(await one.kept(), { gone: "forgotten" });
  assert.equal(await one.resume(), undefined);
  await assert.rejects(one.answer(POINT), { reason: "forgotten" });
  assert.equal(curator.answers.size, 0);
  const waiting = client(curator, SECOND);
  curator.state = "open";
  await waiting.enroll(POINT);
  curator.state = "released";
  await assert.rejects(waiting.answer(), { reason: "closed" });
  assert.deepEqual(await waiting.kept(), { gone: "closed" });
});

const other = STUDY.text.replace('"epsilon":"1"', '"epsilon":"8"');
for (const [name, round, reason] of [
  ["of another study", { text: ROUNDS[0].replace(STUDY.text, other) }, "round"],
  ["with a weaker channel", { text: ROUNDS[0].replace('"low":751094022,"extra":1290591208', '"low":751094021,"extra":1290591212') }, "round"],
  ["with another epsilon", { text: ROUNDS[0].replace('"type":"response","version":2,"epsilon":"1"', '"type":"response","version":2,"epsilon":"2"') }, "round"],
  ["with one more space", { text: `${ROUNDS[0]} ` }, "round"],
  ["of another number", { text: ROUNDS[0].replace('"number":1', '"number":2'), turns: turnsOf(["1/3", "1/3"]) }, "early"],
  ["without a text", { text: undefined }, "round"],
  ["with turns that ask another share", { turns: turnsOf(["2/3"]) }, "turns"],
  ["with turns of another study", { turns: turnsOf(["1/3"], "0".repeat(64)) }, "turns"],
  ["with turns that pick people", { turns: turnsOf(["1/1000"]) }, "turns"],
  ["without turns", { turns: undefined }, "turns"],
]) {
  test(`a round ${name} is not answered`, async () => {
    const { curator, one } = await asked();
    curator.round = round;
    if (reason === "early") {
      // Whose turn is in round 1 is late for one that says that it is the second; it is not answered either.
      await assert.rejects(one.answer(), { reason: "late" });
    } else {
      await assert.rejects(one.answer(), (error) => error instanceof ProtocolError && error.reason === reason && /Nothing was drawn or sent\.$/.test(error.message));
      assert.deepEqual([(await one.kept()).turns, (await one.kept()).point], [undefined, POINT]);
    }
    assert.deepEqual([(await one.kept()).answer, curator.received], [undefined, []]);
  });
}

test("turns that change are refused, and so is another study", async () => {
  const curator = new KMeansCurator();
  const store = new Map();
  const one = client(curator, SECOND, { store });
  await one.enroll(POINT);
  curator.ask();
  await assert.rejects(one.answer(), { reason: "early" });
  curator.ask();
  curator.round = { turns: turnsOf(["1/4", "1/4"]) };
  await assert.rejects(one.answer(), { name: "ProtocolError", reason: "turns", message: /changed whose turn/ });
  curator.round = {};
  const renamed = STUDY.text.replace("½ points", "other points");
  const { createHash } = await import("node:crypto");
  curator.study = { ...STUDY, text: renamed, digest: createHash("sha256").update(renamed).digest("hex") };
  await assert.rejects(client(curator, SECOND, { store }).answer(), { name: "ProtocolError", reason: "study" });
  assert.deepEqual([(await one.kept()).turns, curator.answers.size], [turnsOf(["1/3"]), 0]);
});

for (const [name, change, reason] of [
  ["another commitment", (c, d) => c.sign({ ...d.receipt, commitment: "0".repeat(64) }), "receipt"],
  ["another round", (c, d) => c.sign({ ...d.receipt, round: 2 }), "receipt"],
  ["another group", (c, d) => c.sign({ ...d.receipt, group: "trusted" }), "receipt"],
  ["another epsilon", (c, d) => c.sign({ ...d.receipt, epsilon: "9" }), "receipt"],
  ["a changed word", (c, d) => ({ ...d, receipt: { ...d.receipt, day: "2026-11-18" } }), "signature"],
  ["another key's name", (c, d) => ({ ...d, kid: "another" }), "key"],
]) {
  test(`an answer's receipt with ${name} is refused, and the answer is kept`, async () => {
    const { curator, one } = await asked();
    curator.changeReceipt = (document) => change(curator, document);
    await assert.rejects(one.answer(), (error) => error instanceof ProtocolError && error.reason === reason);
    assert.equal((await one.kept()).answer.receipt, undefined);
    curator.changeReceipt = (document) => document;
    assert.ok((await one.answer()).resent);
    assert.equal(new Set(curator.received).size, 1);
  });
}

for (const [name, document, reason] of [
  ["a changed text", { text: STUDY.text.replace("½", "¼") }, "digest"],
  ["another epsilon than its text", { epsilon: "0.5" }, "channel"],
  ["a delta", { delta: "0.0001" }, "promise"],
  ["a kind that is none", { kind: "clusters" }, "kind"],
]) {
  test(`a study with ${name} is refused before anything is kept`, async () => {
    const curator = new KMeansCurator();
    curator.document = document;
    const one = client(curator);
    for (const act of ["enroll", "trust"]) await assert.rejects(one[act](POINT), { name: "ProtocolError", reason });
    assert.deepEqual([await one.kept(), curator.received], [undefined, []]);
  });
}

test("no sentence that quotes a coordinate is passed on", async () => {
  const curator = new KMeansCurator();
  const one = client(curator);
  await one.study();
  curator.troubles = [undefined, { status: 409, reason: "refused", detail: "the first number, 0.25, is not allowed" }];
  await assert.rejects(one.trust(POINT), (error) => error.reason === "refused" && !/0\.25/.test(error.message));
  curator.troubles = [undefined, { status: 409, reason: "refused", detail: "not today" }];
  await assert.rejects(one.trust(POINT), { message: "The curator says: not today" });
});

test("whose turn it is does not depend on how a token spells a name", async () => {
  const names = Array.from({ length: 50 }, (_, i) => `Ame\u0301lie ${i}`).filter((name) => roundOf(name) === 1).slice(0, 4);
  for (const who of names.flatMap((name) => [name, name.normalize()])) {
    const { curator, one } = await asked(who);
    assert.equal((await one.answer()).commitment, curator.answers.get(who));
  }
});

test("the words of a receipt tell an enrollment, its withdrawal and an answer apart", async () => {
  const curator = new KMeansCurator();
  const [one, other] = [client(curator), client(curator, SECOND)];
  assert.match(receiptWords(await one.enroll(POINT)), /: you enrolled, and will be asked once\./);
  assert.match(receiptWords(await one.resume()), /: you enrolled, and will be asked once\./);
  await other.enroll(POINT);
  assert.match(receiptWords(await other.withdraw()), /: you withdrew your enrollment\./);
  curator.ask();
  assert.match(receiptWords(await one.resume()), /: you answered round 1\./);
  assert.match(receiptWords(await one.resume()), /: you answered round 1\./);
});
