/** Rounds of K-means: the same bytes give Python's answers to the last bit, and what Python refuses is refused. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { ChannelError, KMeansStudy, parseKMeansStudy } from "../dist/kmeans.js";
import { known, notRefused, stream, kmeans as vectors } from "./vectors.js";

const MOST_BYTES = 2 ** 15; // of an answer
const own = vectors.bases[0];
const NONCE = "0f".repeat(16);
const untouched = () => assert.fail("bytes were drawn");

/** The points of a case, and its random bytes. */
function inputs({ seed, count }, { bounds }) {
  const words = stream(`${seed} inputs`, 4 * count * bounds.length);
  return Array.from({ length: count }, (_, i) =>
    bounds.map(([lower, upper], j) => {
      const word = words.readUInt32LE(4 * (i * bounds.length + j));
      return lower + (upper - lower) * (i % 3 ? (word / 2 ** 32) * 1.5 - 0.25 : (word >>> 30) / 2);
    }),
  );
}

let compared = 0;
const kinds = new Set();

for (const c of vectors.rounds) {
  test(`${c.seed}, epsilon ${c.epsilon}: ${c.count} answers`, async () => {
    const study = await parseKMeansStudy(c.study, c.epsilon);
    const round = await study.parseRound(c.text);
    assert.equal(round.digest, c.digest);
    let used = 0;
    const source = known(stream(`${c.seed} bytes`, c.count * MOST_BYTES));
    const bytes = (view) => {
      used += view.byteLength;
      source(view);
    };
    const answers = inputs(c, study).map((point) => {
      const answer = round.answer(point, bytes);
      assert.equal(answer.round, c.digest);
      return `${answer.ask} ${answer.variant} ${answer.code}`;
    });
    assert.deepEqual(answers.slice(0, c.first.length).map((answer) => answer.slice(0, 80)), c.first);
    assert.equal(used, c.bytes);
    assert.equal(createHash("sha256").update(answers.map((answer) => `${answer}\n`).join("")).digest("hex"), c.sha256);
    compared += answers.length;
    for (const { question, channel } of JSON.parse(c.text).asks) kinds.add(question.kind).add(channel.type).add(study.bounds.length);
  });
}

test("every kind of question and of channel was answered, in 1 to 16 dimensions", () => {
  const dimensions = Array.from({ length: 16 }, (_, i) => i + 1);
  const named = ["grid", "label_signs", "direction", "second_moment", "length", "response", "choice", "unary"];
  assert.deepEqual(kinds, new Set([...named, ...dimensions]));
  assert.ok(compared >= 2000);
});

for (const { text, digest, epsilon } of vectors.accepted_studies) {
  test(`accepted: study ${digest.slice(0, 8)}`, async () => {
    const study = await parseKMeansStudy(text, epsilon);
    assert.ok(study instanceof KMeansStudy);
    assert.equal(study.digest, digest);
    assert.equal(study.text, text);
  });
}

test("tampered studies, rounds and turns are refused", async () => {
  assert.ok(vectors.refused_studies.length >= 140);
  assert.ok(vectors.refused_rounds.length >= 900);
  assert.ok(vectors.refused_turns.length >= 70);
  const study = await parseKMeansStudy(own, 1);
  assert.deepEqual(await notRefused(vectors.refused_studies, ChannelError, (c) => parseKMeansStudy(c.text, c.epsilon ?? "1")), []);
  assert.deepEqual(await notRefused(vectors.refused_rounds, ChannelError, ({ text }) => study.parseRound(text)), []);
  assert.deepEqual(await notRefused(vectors.refused_turns, ChannelError, ({ text }) => study.parseTurns(text)), []);
});

test("everybody finds their own turn", async () => {
  const study = await parseKMeansStudy(own, 1);
  for (const { text, places } of vectors.turns) {
    const turns = study.parseTurns(text);
    for (const { subject, nonce, round } of places) assert.equal(await turns.roundOf(subject, nonce), round);
    assert.deepEqual(new Set(places.map(({ round }) => round)), new Set([1, 2, 3, 4, null]));
  }
});

test("a subject that no token has has no turn", async () => {
  const turns = (await parseKMeansStudy(own, 1)).parseTurns(vectors.turns[0].text);
  for (const subject of ["", "x".repeat(257), "half \ud800", 7, null, undefined, ["u"]]) {
    await assert.rejects(turns.roundOf(subject, NONCE), { name: "ChannelError", message: /^subject must be a text of 1 to 256/ });
  }
});

test("a nonce that no device draws has no turn", async () => {
  const turns = (await parseKMeansStudy(own, 1)).parseTurns(vectors.turns[0].text);
  for (const nonce of ["", "0".repeat(31), "0".repeat(33), "F".repeat(32), `${NONCE}\n`, null, undefined]) {
    await assert.rejects(turns.roundOf("u", nonce), { name: "ChannelError", message: /^nonce must be 32 lower-case hexadecimal digits/ });
  }
});

test("only the turns of this study that go on from those seen count, and only for their own rounds", async () => {
  const study = await parseKMeansStudy(own, 1);
  const turns = (...fractions) => study.parseTurns(JSON.stringify({ type: "kmeans-turns", version: 2, study: study.digest, fractions }));
  assert.ok(turns("1/4", "1/2").follows(turns("1/4")));
  assert.ok(!turns("1/4").follows(turns("1/4", "1/2")));
  assert.ok(!turns("1/2", "1/4").follows(turns("1/4")));
  const round = await study.parseRound(vectors.bases[2]); // round 1, of all users
  assert.equal(round.userFraction, "1");
  await turns("1").requireTurn(round, "anybody", NONCE);
  await assert.rejects(turns("1/2", "1/2").requireTurn(round, "anybody", NONCE), { message: /another fraction of users/ });
  const second = await study.parseRound(vectors.bases[6]); // round 2, of three quarters
  assert.equal(second.userFraction, "3/4");
  const places = await Promise.all(Array.from({ length: 20 }, (_, i) => turns("1/4", "3/4").roundOf(`u${i}`, NONCE)));
  for (const [i, place] of places.entries()) {
    const asked = turns("1/4", "3/4").requireTurn(second, `u${i}`, NONCE);
    if (place === 2) await asked;
    else await assert.rejects(asked, { message: /another participants' turn/ });
  }
  assert.deepEqual(new Set(places), new Set([1, 2]));
});

test("a text that is far too long or nested is refused before it is read", async () => {
  const study = await parseKMeansStudy(own, 1);
  const round = vectors.bases[2];
  for (const text of [`${round.slice(0, -1)},"note":"${"x".repeat(60_000)}"}`, "x".repeat(2 ** 20)]) {
    await assert.rejects(study.parseRound(text), { message: /longer than the [\d]+ characters/ });
  }
  const deep = "[".repeat(12_000) + "]".repeat(12_000);
  await assert.rejects(study.parseRound(`{"asks":${deep}}`), ChannelError);
  await assert.rejects(parseKMeansStudy(`{"bounds":${deep}}`, 1), ChannelError);
  for (const text of [undefined, null, 5, {}, new String(round)]) {
    await assert.rejects(study.parseRound(text), ChannelError);
    await assert.rejects(parseKMeansStudy(text, 1), ChannelError);
    assert.throws(() => study.parseTurns(text), ChannelError);
  }
});

test("a study for another epsilon than the user was shown is refused", async () => {
  await assert.rejects(parseKMeansStudy(own, 0.5), { message: /it is for epsilon 1, but 0\.5 was promised/ });
  await assert.rejects(parseKMeansStudy(own, "1.0"), { message: /^epsilon must be a number from 0\.01 to 20/ });
});

test("a round of a study that was changed in any way is refused", async () => {
  const study = await parseKMeansStudy(own.replace('"½ points"', '"½ point"'), 1);
  await assert.rejects(study.parseRound(vectors.bases[2]), { message: /another study than the one agreed to/ });
});

for (const point of [[0.5], [0.5, 0.5, 0.5], [0.5, NaN], [0.5, Infinity], ["0.5", 0.5], [null, 0.5], 0.5, null, undefined, "ab", {}]) {
  test(`a point that is none gets no answer, and no message shows it: ${JSON.stringify(point)}`, async () => {
    const round = await (await parseKMeansStudy(own, 1)).parseRound(vectors.bases[2]);
    const message = "point must be a list of 2 finite numbers, one for each pair of bounds.";
    assert.throws(() => round.answer(point, untouched), { name: "ChannelError", message });
  });
}

test("what was checked cannot be changed", async () => {
  const study = await parseKMeansStudy(own, 1);
  assert.throws(() => study.bounds.push([0, 1]), TypeError);
  assert.throws(() => (study.bounds[0][1] = 2), TypeError);
  assert.throws(() => study.parseTurns(vectors.turns[0].text).fractions.push("1/2"), TypeError);
});

test("answers of the real source: asks by their fractions, codes by the channel", async () => {
  const study = await parseKMeansStudy(own, 1);
  const round = await study.parseRound(vectors.bases[6]); // a length with 1/4, second moments with 1/2
  const { low, extra } = JSON.parse(vectors.bases[6]).asks[0].channel;
  const draws = 60_000;
  const center = [0.5, -2.5]; // of length 0
  const answers = Array.from({ length: draws }, () => round.answer(center));
  const lengths = answers.filter(({ ask }) => ask === 0);
  // A false alarm has probability 1e-7 or so.
  assert.ok(Math.abs(lengths.length - draws / 3) < 5.4 * Math.sqrt((draws * 2) / 9));
  const zeros = lengths.filter(({ code }) => code === 0).length;
  const p = (low + extra) / 2 ** 32;
  assert.ok(Math.abs(zeros - lengths.length * p) < 5.4 * Math.sqrt(lengths.length * p * (1 - p)));
  assert.ok(Math.abs(zeros - 0.8 * lengths.length * p) > 5.4 * Math.sqrt(lengths.length * p * (1 - p)));
});
