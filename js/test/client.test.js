/** The client: drawn once, kept before it is sent, the same bytes again; and every way in which a curator can fail or cheat. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { distribution } from "../dist/distribution.js";
import { frequency } from "../dist/frequency.js";
import { Client, DeviceError, HybridDPError, ProtocolError, RejectedError, UnavailableError, verifyReceipt } from "../dist/hybriddp.js";
import { Curator, STUDIES, URL_OF, token } from "./curator.js";

const QUICK = { firstWait: 0 };

function client(curator, who = "alice", options = {}) {
  return new Client(URL_OF, { token: token(who), fetch: curator.fetch, ...QUICK, ...options });
}

test("a report is one code, and its receipt is checked", async () => {
  const curator = new Curator();
  const receipt = await client(curator).report(37.5);
  assert.deepEqual([receipt.group, receipt.epsilon, receipt.study, receipt.resent], ["local", "1", "minutes", false]);
  assert.equal(receipt.commitment, curator.contributions.get("alice"));
  const [body] = curator.received;
  assert.deepEqual(Object.keys(JSON.parse(body)), ["digest", "code", "nonce"]);
  assert.match(body, /^\{"digest":"[0-9a-f]{64}","code":\d{1,3},"nonce":"[0-9a-f]{32}"\}$/);
});

test("what is trusted is the value in the middle of its units", async () => {
  const curator = new Curator();
  const alice = client(curator);
  assert.equal((await alice.trust(37.5)).group, "trusted");
  assert.equal(JSON.parse(curator.received[0]).value, 37.5);
  assert.equal((await alice.kept()).integer, (37.5 / 240) * 2 ** 24);
  await client(curator, "bob").trust(1000);
  assert.equal(JSON.parse(curator.received[1]).value, 240);
  await client(curator, "carol").trust(1 / 3);
  const sent = JSON.parse(curator.received[2]).value;
  assert.notEqual(sent, 1 / 3);
  assert.ok(Math.abs(sent - 1 / 3) < 240 / 2 ** 24);
});

test("studies of frequencies and distributions are asked in the same way", async () => {
  const items = new Curator(STUDIES.frequency, (value) => ["yes", "no"].indexOf(value));
  assert.equal((await client(items, "alice", { kinds: [frequency] }).report("yes")).group, "local");
  assert.equal((await client(items, "bob", { kinds: [frequency] }).trust("no")).group, "trusted");
  assert.equal(JSON.parse(items.received[1]).value, "no");
  const { cuts } = JSON.parse(STUDIES.distribution.text);
  const quantiles = new Curator(STUDIES.distribution, (value) => cuts.filter((cut) => cut <= Math.floor(value * 2 ** 24 + 0.5)).length);
  assert.equal((await client(quantiles, "alice", { kinds: [distribution] }).report(0.25)).group, "local");
  assert.equal((await client(quantiles, "bob", { kinds: [distribution] }).trust(0.25)).group, "trusted");
  const sent = JSON.parse(quantiles.received[1]).value;
  assert.ok(sent !== 0.25 && quantiles.integerOf(sent) === quantiles.integerOf(0.25)); // the middle of the bin
});

test("the token is sent with contributions only, and nothing follows redirects", async () => {
  const curator = new Curator();
  await client(curator).report(1);
  for (const { method, options } of curator.asked) {
    assert.equal(options.headers?.Authorization, method === "POST" ? `Bearer ${token("alice")}` : undefined);
    assert.deepEqual([options.redirect, options.credentials], ["error", "omit"]);
  }
});

for (const [name, troubles, options] of [
  ["answers 500", [{ status: 500, reason: "unavailable" }, { status: 503, reason: "unavailable" }], {}],
  ["asks to wait", [{ status: 429, reason: "too-many", headers: { "Retry-After": "0.001" } }], {}],
  ["is gone", ["gone", "gone", "gone"], {}],
  ["hangs", ["hang"], { timeout: 20 }],
  ["is behind a network that wants a login", ["html"], {}],
  ["takes it and loses the answer", ["lose", "lose"], {}],
]) {
  test(`a curator that ${name} gets the same bytes again`, async () => {
    const curator = new Curator();
    const alice = client(curator, "alice", options);
    await alice.study();
    curator.troubles = troubles;
    await alice.report(37.5);
    assert.equal(new Set(curator.received).size, 1);
    assert.equal(curator.contributions.size, 1);
    assert.equal(curator.troubles.length, 0);
  });
}

for (const [name, trouble, reason, options] of [
  ["answers 500", { status: 500, reason: "unavailable" }, "unavailable", {}],
  ["asks to wait for an hour", { status: 429, reason: "too-many", headers: { "Retry-After": "3600" } }, "too-many", {}],
  ["is gone", "gone", "unreachable", {}],
  ["hangs", "hang", "unreachable", { timeout: 5, attempts: 2 }],
]) {
  test(`while a curator ${name} what was drawn is kept, and sent later as it is`, async () => {
    const curator = new Curator();
    const store = new Map();
    const alice = client(curator, "alice", { store, ...options });
    await alice.study();
    curator.troubles = [undefined, ...new Array(20).fill(trouble)]; // the keys come, and nothing after them
    await assert.rejects(alice.report(37.5), (error) => error instanceof UnavailableError && error.reason === reason);
    const { body } = await alice.kept();
    await assert.rejects(alice.report(99), UnavailableError); // another value does not draw either
    assert.equal((await alice.kept()).body, body);
    curator.troubles = [];
    const again = client(curator, "alice", { store }); // the app was started again
    const receipt = await again.resume();
    assert.ok(receipt.resent);
    assert.deepEqual(curator.received, [body]);
    assert.deepEqual((await again.kept()).receipt, receipt.document);
  });
}

test("nothing is drawn for a study that could not be fetched", async () => {
  const curator = new Curator();
  const alice = client(curator, "alice", { attempts: 1 });
  curator.troubles = ["gone"];
  await assert.rejects(alice.report(1), UnavailableError);
  assert.equal(await alice.kept(), undefined);
  assert.equal(await alice.resume(), undefined);
});

test("another call sends the same contribution, whatever value it is given, and the other group is refused", async () => {
  const curator = new Curator();
  const alice = client(curator);
  const first = await alice.report(37.5);
  const second = await alice.report(99);
  assert.deepEqual([first.resent, second.resent, second.commitment], [false, true, first.commitment]);
  assert.equal(new Set(curator.received).size, 1);
  await assert.rejects(alice.trust(37.5), { name: "ProtocolError", reason: "group", message: /local group/ });
  assert.equal(curator.received.length, 2);
});

/** A store of an app's own, which takes its time. */
class SlowStore {
  entries = new Map();
  async get(key) {
    await new Promise(setImmediate);
    return this.entries.get(key);
  }
  async set(key, entry) {
    await new Promise(setImmediate);
    this.entries.set(key, structuredClone(entry));
  }
  async delete(key) {
    this.entries.delete(key);
  }
}

for (const [name, makeStore] of [
  ["memory", () => new Map()],
  ["a slow store", () => new SlowStore()],
]) {
  test(`two tabs at the same time draw one report: ${name}`, async () => {
    const curator = new Curator();
    const store = makeStore();
    const tabs = Array.from({ length: 8 }, () => client(curator, "alice", { store }));
    const receipts = await Promise.all(tabs.map((tab, i) => tab.report(30 * i)));
    assert.equal(new Set(curator.received).size, 1);
    assert.equal(receipts.filter((receipt) => !receipt.resent).length, 1);
  });
}

test("a browser's locks guard an app's own store", async () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  const names = [];
  let turn = Promise.resolve();
  const locks = { request: (name, work) => (names.push(name), (turn = turn.then(work))) };
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  try {
    await client(new Curator(), "alice", { store: new SlowStore() }).report(1);
  } finally {
    if (before) Object.defineProperty(globalThis, "navigator", before);
    else delete globalThis.navigator;
  }
  assert.equal(new Set(names).size, 1);
});

test("people who share a device, and studies, are kept apart; the keys say nothing of either", async () => {
  const curator = new Curator();
  const store = new Map();
  await client(curator, "alice", { store }).report(1);
  await client(curator, "bob", { store }).report(2);
  await client(curator, "Ame\u0301lie", { store }).report(3);
  await client(curator, "Am\u00e9lie", { store }).report(4); // one person
  assert.equal(store.size, 3);
  assert.equal(new Set(curator.received).size, 3);
  for (const key of store.keys()) assert.match(key, /^[0-9a-f]{64}$/);
});

test("a value that is none draws and keeps nothing", async () => {
  const curator = new Curator();
  const alice = client(curator);
  for (const value of [NaN, "37,5", undefined]) {
    for (const call of [() => alice.report(value), () => alice.trust(value)]) {
      await assert.rejects(call(), { name: "ChannelError", reason: "value", message: "value must be a finite number." });
    }
  }
  const items = client(new Curator(STUDIES.frequency), "alice", { kinds: [frequency] });
  await assert.rejects(items.report("kiwi"), (error) => error.reason === "value" && !error.message.includes("kiwi"));
  assert.equal(await alice.kept(), undefined);
  assert.equal(await items.kept(), undefined);
  assert.equal(curator.received.length, 0);
});

test("whoever withdraws is subtracted and forgotten, and cannot join again", async () => {
  const curator = new Curator();
  const alice = client(curator);
  await alice.trust(37.5);
  const receipt = await alice.withdraw();
  assert.deepEqual([receipt.withdrawn, receipt.opened, curator.contributions.size], [true, true, 0]);
  assert.deepEqual(Object.keys(await alice.kept()), ["gone", "receipt"]);
  assert.deepEqual((await alice.withdraw()).document, receipt.document);
  await assert.rejects(alice.report(1), { reason: "withdrawn" });
  assert.equal(await alice.resume(), undefined);
});

test("a withdrawal whose answer was lost may be repeated", async () => {
  const curator = new Curator();
  const alice = client(curator, "alice", { attempts: 1 });
  await alice.report(37.5);
  curator.troubles = ["lose"];
  await assert.rejects(alice.withdraw(), UnavailableError);
  const receipt = await alice.withdraw();
  assert.deepEqual([receipt.opened, receipt.commitment], [false, ""]);
  assert.equal((await alice.kept()).gone, "withdrawn");
});

test("what one tab withdraws, the late answer of another does not bring back", async () => {
  const curator = new Curator();
  const store = new Map();
  const [first, second] = [client(curator, "alice", { store }), client(curator, "alice", { store })];
  await first.report(1);
  let go;
  const late = new Promise((resolve) => (go = resolve));
  const { fetch } = curator;
  const third = client(curator, "alice", { store, fetch: async (...request) => (request[1].method === "POST" && (await late), fetch(...request)) });
  const answer = third.report(1);
  await new Promise(setImmediate);
  await second.withdraw();
  curator.contributions.set("alice", JSON.parse(JSON.stringify(curator.receipt("local", ""))).receipt.commitment);
  go();
  await assert.rejects(answer, HybridDPError);
  assert.equal((await first.kept()).gone, "withdrawn");
});

test("only the device that took part can withdraw", async () => {
  await assert.rejects(client(new Curator()).withdraw(), { name: "ProtocolError", reason: "nothing" });
});

test("what the device keeps can be forgotten, and is not drawn again", async () => {
  const curator = new Curator();
  const store = new Map();
  const alice = client(curator, "alice", { store });
  await alice.forget();
  assert.equal(store.size, 0);
  await alice.trust(37.5);
  await alice.forget();
  assert.deepEqual([...store.values()], [{ gone: "forgotten" }]);
  await assert.rejects(alice.trust(37.5), { reason: "forgotten", message: /no longer keeps/ });
  await assert.rejects(alice.withdraw(), { reason: "forgotten" });
  assert.equal(curator.received.length, 1);
});

test("a pilot without tokens needs a study's name, and forgets all", async () => {
  const curator = new Curator();
  curator.tokens = false;
  const store = new Map();
  const anybody = new Client(URL_OF, { study: "minutes", fetch: curator.fetch, store });
  assert.equal((await anybody.report(1)).group, "local");
  assert.equal(curator.asked.at(-1).options.headers.Authorization, undefined);
  await anybody.forget();
  assert.equal(store.size, 0);
});

test("once the study has closed, what is kept is deleted", async () => {
  for (const state of ["closed", "released", "withdrawn"]) {
    const curator = new Curator();
    const store = new Map();
    const alice = client(curator, "alice", { store });
    const receipt = await alice.report(37.5);
    assert.deepEqual((await alice.resume()).document, receipt.document);
    curator.state = state;
    assert.deepEqual((await alice.resume()).document, receipt.document);
    assert.deepEqual([...store.values()], [{ gone: "closed" }]);
    await assert.rejects(alice.report(37.5), { reason: "closed" });
    await assert.rejects(alice.withdraw(), { reason: "closed" });
  }
});

test("what never arrived before the study closed is deleted when the curator refuses it", async () => {
  const curator = new Curator();
  const alice = client(curator, "alice", { attempts: 1 });
  await alice.study();
  curator.troubles = ["gone"];
  await assert.rejects(alice.report(1), UnavailableError);
  curator.state = "closed";
  await assert.rejects(alice.resume(), (error) => error instanceof RejectedError && error.reason === "closed");
  assert.deepEqual(await alice.kept(), { gone: "closed" });
});

test("whoever finds the trusted group full may choose again, but no report is drawn anew", async () => {
  const curator = new Curator();
  const store = new Map();
  const alice = client(curator, "alice", { store });
  await alice.study();
  const full = { status: 409, reason: "full" };
  curator.troubles = [undefined, full];
  await assert.rejects(alice.trust(37.5), { reason: "full" });
  assert.equal(store.size, 0);
  curator.troubles = [undefined, full];
  await assert.rejects(alice.report(37.5), { reason: "full" }); // which is no answer to a report
  const { body } = await alice.kept();
  assert.equal((await alice.report(1)).group, "local");
  assert.equal(curator.received.at(-1), body);
  const bob = client(curator, "bob");
  await bob.trust(1);
  curator.troubles = [undefined, full];
  await assert.rejects(bob.trust(1), { reason: "full" }); // though there is a receipt
  assert.equal((await bob.kept()).group, "trusted");
});

test("what arrived before the study closed, though the answer was lost, still gets its receipt", async () => {
  const curator = new Curator();
  const alice = client(curator, "alice", { attempts: 1 });
  curator.troubles = ["lose"];
  await assert.rejects(alice.report(1), UnavailableError);
  curator.state = "closed";
  assert.equal((await alice.resume()).commitment, curator.contributions.get("alice"));
});

test("nothing is drawn for a study that is not open, or without a token that it needs", async () => {
  const curator = new Curator();
  curator.state = "created";
  const alice = client(curator);
  await assert.rejects(alice.report(1), { name: "RejectedError", reason: "closed", message: /not open. Nothing was drawn/ });
  curator.state = "open";
  const nobody = new Client(URL_OF, { study: "minutes", fetch: curator.fetch });
  await assert.rejects(nobody.report(1), { name: "ProtocolError", reason: "token" });
  assert.equal(await nobody.kept(), undefined);
  assert.equal(curator.received.length, 0);
});

test("a person who has taken part elsewhere is told so", async () => {
  const curator = new Curator();
  await client(curator).report(1);
  await assert.rejects(client(curator).report(2), { name: "RejectedError", reason: "duplicate", message: "The curator says: It is duplicate." });
});

test("no sentence that quotes the value is passed on, and none has characters that act", async () => {
  const curator = new Curator();
  const alice = client(curator);
  await alice.study();
  curator.troubles = [undefined, { status: 409, reason: "refused", detail: "37.5 is not allowed" }];
  await assert.rejects(alice.trust(37.5), (error) => !error.message.includes("37.5") && error.reason === "refused");
  curator.troubles = [undefined, { status: 409, reason: "refused", detail: "no\n\u202eway\x1b[2J" }];
  await assert.rejects(alice.trust(37.5), { message: "The curator says: no way [2J" });
});

for (const [name, document, reason, options] of [
  ["a changed text", { text: STUDIES.mean.text.replace("session", "Session") }, "digest"],
  ["another digest", { digest: "0".repeat(64) }, "digest"],
  ["no text", { text: undefined }, "digest"],
  ["another id", { id: "hours" }, "study"],
  ["another digest than the app's", {}, "study", { digest: "0".repeat(64) }],
  ["a kind that the app does not know", { kind: "heavy-hitters" }, "kind"],
  ["a kind that its text does not have", STUDIES.frequency, "kind"],
  ["another epsilon than its text", { epsilon: "0.5" }, "channel"],
  ["another delta than its text", { delta: "0.0001" }, "promise"],
]) {
  test(`a study with ${name} is refused before anything is drawn`, async () => {
    const curator = new Curator();
    curator.document = document;
    const alice = client(curator, "alice", options);
    const refused = (error) => error instanceof ProtocolError && error.reason === reason && /^This study .* Nothing was drawn or sent\.$/.test(error.message);
    await assert.rejects(alice.study(), refused);
    await assert.rejects(alice.report(1), refused);
    assert.equal(await alice.kept(), undefined);
  });
}

test("a channel that does not keep its promise is refused, though its digest is right", async () => {
  const { createHash } = await import("node:crypto");
  const fields = JSON.parse(STUDIES.mean.text);
  const { low, extra, codes, window } = fields.channel;
  const weaker = { low: low - window, extra: extra + codes }; // the weights still add up
  const text = STUDIES.mean.text.replace(`"low":${low},"extra":${extra}`, `"low":${weaker.low},"extra":${weaker.extra}`);
  assert.notEqual(text, STUDIES.mean.text);
  const curator = new Curator({ ...STUDIES.mean, text, digest: createHash("sha256").update(text).digest("hex") });
  await assert.rejects(client(curator).report(1), { name: "ProtocolError", reason: "channel", message: /it is not 1-private/ });
  assert.equal(curator.received.length, 0);
});

test("a study's text with what is for the curator only is not one for devices", async () => {
  const { curator: text } = JSON.parse((await import("node:fs")).readFileSync(new URL("../../vectors/study.json", import.meta.url), "utf8"));
  const { createHash } = await import("node:crypto");
  const curator = new Curator();
  curator.document = { text, digest: createHash("sha256").update(text).digest("hex") };
  await assert.rejects(client(curator).study(), { reason: "promise" });
});

for (const [name, change, reason] of [
  ["another commitment", (c) => c.sign({ ...c.receipt("local", "0".repeat(64)).receipt }), "receipt"],
  ["the other group", (c, d) => c.sign({ ...d.receipt, group: "trusted" }), "receipt"],
  ["another epsilon", (c, d) => c.sign({ ...d.receipt, epsilon: "9" }), "receipt"],
  ["another delta", (c, d) => c.sign({ ...d.receipt, delta: "0.001" }), "receipt"],
  ["another study", (c, d) => c.sign({ ...d.receipt, study: "hours" }), "receipt"],
  ["another version", (c, d) => c.sign({ ...d.receipt, version: 2 }), "receipt"],
  ["a withdrawal in it", (c, d) => c.sign({ ...d.receipt, withdrawn: true, opened: true }), "receipt"],
  ["a changed word", (c, d) => ({ ...d, receipt: { ...d.receipt, day: "2026-11-18" } }), "signature"],
  ["an unsigned word", (c, d) => ({ ...d, receipt: { ...d.receipt, more: 1 } }), "signature"],
  ["an object in it", (c, d) => c.sign({ ...d.receipt, more: { nested: true } }), "signature"],
  ["another signature", (c, d) => ({ ...d, signature: `A${d.signature.slice(1)}B`.slice(0, 86) }), "signature"],
  ["half a signature", (c, d) => ({ ...d, signature: d.signature.slice(2) }), "signature"],
  ["no signature", (c, d) => ({ ...d, signature: undefined }), "signature"],
  ["another key's name", (c, d) => ({ ...d, kid: "__proto__" }), "key"],
  ["nothing in it", (c, d) => ({ ...d, receipt: undefined }), "signature"],
]) {
  test(`a receipt with ${name} is refused, and what was drawn is kept`, async () => {
    const curator = new Curator();
    let changing = true;
    curator.changeReceipt = (document) => {
      if (!changing) return document;
      changing = false;
      const changed = change(curator, document);
      changing = true;
      return changed;
    };
    const alice = client(curator);
    await assert.rejects(alice.report(1), (error) => error instanceof ProtocolError && error.reason === reason && /receipt is forged/.test(error.message));
    const kept = await alice.kept();
    assert.equal(kept.receipt, undefined);
    changing = false;
    assert.ok((await alice.resume()).resent);
    assert.equal(new Set(curator.received).size, 1);
  });
}

test("a key that the curator has not published signs nothing; a new one that it has does", async () => {
  const curator = new Curator();
  const alice = client(curator);
  await alice.study();
  curator.rotate(false);
  await assert.rejects(alice.report(1), { reason: "key" });
  curator.rotate();
  const { document } = await alice.report(1);
  const keys = await (await curator.fetch(`${URL_OF}/.well-known/hybriddp-receipts.json`, {})).json();
  assert.equal(await verifyReceipt(document, keys), undefined);
  await assert.rejects(verifyReceipt({ ...document, kid: "another" }, keys), { reason: "key" });
  await assert.rejects(verifyReceipt(document, {}), { reason: "key" });
  for (const odd of ["x", 1, {}, [null], [[]]]) await assert.rejects(verifyReceipt(document, { keys: odd }), { reason: "key" });
  for (const x of [null, 1, "ü", ""]) {
    await assert.rejects(verifyReceipt(document, { keys: [{ ...keys.keys.at(-1), x }] }), (error) => error instanceof HybridDPError);
  }
});

test("a platform without Ed25519 is told what to do, and draws nothing", async () => {
  const { importKey } = crypto.subtle;
  crypto.subtle.importKey = () => Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError"));
  try {
    const curator = new Curator();
    const alice = client(curator);
    await assert.rejects(alice.report(1), (error) => error instanceof DeviceError && error.reason === "crypto" && /Ed25519/.test(error.message));
    assert.equal(await alice.kept(), undefined);
    assert.equal(curator.received.length, 0);
  } finally {
    crypto.subtle.importKey = importKey;
  }
});

test("a page without WebCrypto is told why", () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
  try {
    assert.throws(() => client(new Curator()), { name: "DeviceError", reason: "crypto", message: /https/ });
  } finally {
    Object.defineProperty(globalThis, "crypto", before);
  }
});

for (const url of ["http://curator.example.org", "http://localhost.example.org", "http://127.0.0.1.example.org", "ftp://curator.example.org", "curator.example.org", ""]) {
  test(`an address that others can read along is refused: ${url}`, () => {
    assert.throws(() => new Client(url, { study: "minutes" }), { name: "ProtocolError", reason: "url" });
  });
}

test("addresses on this machine, and those that end with a slash, are fine", async () => {
  for (const url of ["http://localhost:8421", "http://127.0.0.1:8421/", "http://[::1]:8421", "http://localhost"]) {
    assert.ok(new Client(url, { study: "minutes" }));
  }
  const curator = new Curator();
  assert.equal((await new Client(`${URL_OF}//`, { token: token("alice"), fetch: curator.fetch }).study()).id, "minutes");
});

for (const [name, options] of [
  ["no study", {}],
  ["a study that is no id", { study: "../minutes" }],
  ["a token that is none", { token: "secret" }],
  ["a token that is no text", { token: `a.${btoa("[]")}.c` }],
  ["a token for another study", { token: token("alice"), study: "hours" }],
  ["a token for nobody", { token: token("") }],
  ["a token for two studies", { token: token("alice", ["minutes", "hours"]) }],
  ["a token for a number", { token: token(7) }],
]) {
  test(`a client with ${name} is refused, and the token is not shown`, () => {
    const refused = (error) => error instanceof ProtocolError && error.reason === "token" && !/secret|alice/.test(error.message);
    assert.throws(() => new Client(URL_OF, options), refused);
  });
}

test("words of the curator are on one line each", async () => {
  const curator = new Curator();
  curator.document = { consent: { organization: "Evil\nIf you report: nothing", purpose: "\u202ereversed", contact: 7 } };
  const offer = await client(curator).study();
  assert.equal(offer.consent.organization, "Evil If you report: nothing");
  assert.equal(offer.consent.purpose, "reversed");
  assert.deepEqual(offer.stored.local, ["a code in memory"]);
  assert.deepEqual(offer.study.bounds, [0, 240]);
});
