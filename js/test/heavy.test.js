/** Frequent items that nobody has listed: studies, questions and items as in Python, and a client in both steps. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ChannelError, heavyHitters, parseHeavyHitterStudy } from "../dist/heavy.js";
import { Client } from "../dist/hybriddp.js";
import { likelihoodOf, promiseOf } from "../dist/words.js";
import { Curator, URL_OF, token } from "./curator.js";
import { notRefused } from "./vectors.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors/heavy.json", import.meta.url), "utf8"));
const [{ text, digest }] = vectors.accepted;
const [question] = vectors.questions;
const OFFERED = { kind: "heavy-hitters", text, digest, epsilon: "1", delta: "0.000001", question: null };

for (const study of vectors.accepted) {
  test(`accepted: ${JSON.parse(study.text).name}, ${JSON.parse(study.text).alphabet.slice(0, 12)}`, async () => {
    const found = await parseHeavyHitterStudy(study.text, 1);
    assert.equal(found.digest, study.digest);
    assert.equal(found.waits, true);
  });
}

test("tampered studies are refused", async () => {
  assert.ok(vectors.refused.length >= 90);
  assert.deepEqual(await notRefused(vectors.refused, ChannelError, (c) => parseHeavyHitterStudy(c.text, 1)), []);
});

for (const { why, ...asked } of vectors.questions) {
  test(`a question ${why ? `is refused: ${why}` : "is taken"}`, async () => {
    const parsed = parseHeavyHitterStudy(text, 1, { question: asked });
    if (why) return assert.rejects(parsed, ChannelError);
    const study = await parsed;
    assert.equal(study.report("news").study, asked.digest);
    assert.equal(study.report("something else").delta, "0");
    assert.equal(study.waits, false);
  });
}

test("items are sent, and committed to, as in Python", async () => {
  const study = await parseHeavyHitterStudy(text, 1);
  assert.ok(vectors.items.length > 60);
  for (const { item, sent, integer, nonce, commitment } of vectors.items) {
    assert.deepEqual(study.trusted(item), { integer, value: sent });
    const lines = ["hybriddp contribution 1", digest, "trusted", integer, nonce];
    assert.equal(createHash("sha256").update(lines.join("\n")).digest("hex"), commitment);
  }
});

test("what is no text is refused, and nothing shows it", async () => {
  const study = await parseHeavyHitterStudy(text, 1, { question });
  for (const wrong of [7, null, undefined, ["news"], { toString: () => "news" }]) {
    assert.throws(() => study.report(wrong), { name: "ChannelError", reason: "value", message: /^item must be a text\. There/ });
    assert.throws(() => study.trusted(wrong), ChannelError);
  }
});

test("another ε than was promised is refused", () => assert.rejects(parseHeavyHitterStudy(text, 2), ChannelError));

/** A curator of a study of items, whose trusted integers are decimals. */
function curatorOfItems() {
  const integers = new Map(vectors.items.map(({ sent, integer }) => [sent, integer]));
  return new Curator({ ...OFFERED }, (item) => integers.get(item));
}

/** The list is released: reports are about the question now. */
function release(curator) {
  curator.document = { state: "asking", question };
  curator.local = { digest: question.digest, delta: "0" };
}

const device = (curator, who) => new Client(URL_OF, { token: token(who), fetch: curator.fetch, kinds: [heavyHitters], store: new Map() });

test("those who trust hand over an item, and withdraw it", async () => {
  const curator = curatorOfItems();
  const alice = device(curator, "alice");
  const receipt = await alice.trust("weather");
  assert.equal(receipt.commitment, curator.contributions.get("alice"));
  assert.equal(JSON.parse(curator.received[0]).value, "weather");
  assert.equal((await alice.withdraw()).opened, true);
  const bob = device(curator, "bob");
  await bob.trust("zero\u200bwidth");
  assert.equal(JSON.parse(curator.received.at(-1)).value, "(other)");
});

test("before the list nothing is drawn for a report; afterwards the same client reports about it", async () => {
  const curator = curatorOfItems();
  const alice = device(curator, "alice");
  await assert.rejects(alice.report("weather"), { name: "RejectedError", reason: "list", message: /Nothing was drawn; come back later/ });
  assert.equal(await alice.kept(), undefined);
  release(curator);
  await assert.rejects(alice.trust("weather"), { name: "RejectedError", reason: "list", message: /no more trusted items/ });
  assert.equal(await alice.kept(), undefined);
  const receipt = await alice.report("weather");
  assert.deepEqual([receipt.digest, receipt.delta, receipt.group], [question.digest, "0", "local"]);
  const kept = await alice.kept();
  assert.equal(JSON.parse(kept.body).digest, question.digest);
  assert.equal(kept.receipt.receipt.commitment, curator.contributions.get("alice"));
  assert.equal((await alice.report("news")).resent, true);
  assert.equal((await alice.withdraw()).opened, true);
});

test("a question of another study is refused, and nothing is drawn", async () => {
  const curator = curatorOfItems();
  release(curator);
  for (const { why, ...wrong } of vectors.questions.filter((one) => one.why)) {
    curator.document = { state: "asking", question: wrong };
    const alice = device(curator, "alice");
    await assert.rejects(alice.report("news"), { name: "ProtocolError", reason: "channel" }, why);
    assert.equal(await alice.kept(), undefined);
  }
});

test("a study that asks without a question, or is open with one, is not answered", async () => {
  const curator = curatorOfItems();
  for (const document of [{ state: "asking", question: null }, { state: "open", question }, { state: "created" }]) {
    curator.document = document;
    await assert.rejects(device(curator, "alice").report("news"), { name: "RejectedError" });
  }
  assert.deepEqual(curator.received, []);
});

test("how likely a code is, for an item of the list and for any other one", async () => {
  const study = await parseHeavyHitterStudy(text, 1, { question });
  const { code } = study.report("news");
  const [own, other, same] = ["news", "something else", "nothing of the kind"].map((item) => likelihoodOf({ study }, item, code));
  assert.ok(own > 0 && own <= other * Math.E * (1 + 1e-9) && other <= own * Math.E * (1 + 1e-9));
  assert.equal(other, same);
});

test("the promise says what becomes of an item, and what is on the list", async () => {
  const curator = curatorOfItems();
  const [before] = promiseOf(await device(curator, "alice").study()).split("\n");
  assert.match(before, /^Example asks for one item, a text: search word ½\. Items that enough of those who trust have become a public list\./);
  release(curator);
  const lines = promiseOf(await device(curator, "alice").study()).split("\n");
  assert.match(lines[0], /A list of 3 has been released: weather; news; ünïcode ☂\ufe0f\. Anything else counts as other\.$/);
  assert.equal(lines.at(-1), `Digest of the question about its list: ${question.digest}`);
});
