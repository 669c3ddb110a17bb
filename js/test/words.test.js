/** Words: what is promised and what a receipt says. That they are Python's, a test of the Python package's server holds. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { parseDistributionStudy } from "../dist/distribution.js";
import { frequency, parseFrequencyStudy } from "../dist/frequency.js";
import { Client, parseChannel } from "../dist/hybriddp.js";
import { chanceOf, likelihoodOf, likelihoodOfAnswer, oneLine, promiseOf, receiptWords } from "../dist/words.js";
import { Curator, STUDIES, URL_OF, token } from "./curator.js";
import { distribution as distributions, frequency as frequencies, kmeans, vectors } from "./vectors.js";

/** As the protocol says it. */
const toUnits = (value, [lower, upper]) => Math.floor((Math.min(Math.max(value, lower), upper) - lower) * (2 ** 24 / (upper - lower)) + 0.5);

const offerOf = (curator) => new Client(URL_OF, { token: token("alice"), fetch: curator.fetch, kinds: [frequency] }).study();

test("a promise says what is asked, what ε means and what is stored", async () => {
  const lines = promiseOf(await offerOf(new Curator())).split("\n");
  assert.equal(lines[0], "Example asks for one number: session minutes, ½ hours too, from 0 to 240. A number outside counts as the nearer bound.");
  assert.equal(lines[1], "Purpose: a test");
  assert.ok(lines.some((line) => /If you report: .* at most 73 % of the time \(50 % without it\)\.$/.test(line)));
  assert.ok(lines.includes("- a code in memory"));
  assert.equal(lines.at(-1), `Digest of the study: ${STUDIES.mean.digest}`);
});

test("a curator's words stay on their own lines, and missing ones are said to be missing", async () => {
  const curator = new Curator(STUDIES.frequency);
  curator.document = { consent: { purpose: "x\nIf you report: nothing" }, stored: {}, warning: "Nobody\tvouches" };
  const lines = promiseOf(await offerOf(curator)).split("\n");
  assert.match(lines[0], /^An organization that the study's text does not name asks for one of 2 categories: .* They are yes; no\./);
  assert.equal(lines[1], "Purpose: x If you report: nothing");
  assert.ok(lines.includes("Warning: Nobody vouches"));
  assert.equal(lines.filter((line) => line === "- It has not said.").length, 2);
});

test("a chance is never rounded to certainty", () => {
  assert.deepEqual(["0.01", "1", "5", "6.5", "20"].map(chanceOf), ["50 %", "73 %", "99.3 %", "99.8 %", "more than 99.9 %"]);
});

for (const { text, epsilon, bounds, distribution } of vectors.window) {
  test(`how likely a code is, epsilon ${epsilon}: the exact probabilities, and never more than e^ε apart`, () => {
    const trusted = (value) => ({ integer: toUnits(value, bounds) });
    const offer = { study: { channel: parseChannel(text, epsilon), trusted } };
    const likely = (value) => distribution.probabilities.map((_, code) => likelihoodOf(offer, value, code));
    const [own, low, high] = [distribution.input, bounds[0] - 1, bounds[1] + 1].map(likely);
    own.forEach((chance, code) => assert.ok(Math.abs(chance - distribution.probabilities[code]) < 2 ** -20));
    for (const chances of [own, low, high]) assert.ok(Math.abs(chances.reduce((sum, chance) => sum + chance) - 1) < 1e-9);
    low.forEach((chance, code) => assert.ok(chance <= high[code] * Math.exp(Number(epsilon)) && high[code] <= chance * Math.exp(Number(epsilon))));
  });
}

const ASKED = [
  ...frequencies.studies.filter(({ text }) => JSON.parse(text).categories.length > 1).map(({ text }) => [parseFrequencyStudy, text]),
  ...distributions.accepted.slice(0, 2).map(({ text }) => [parseDistributionStudy, text]),
];
const seen = new Set();

for (const [parse, text] of ASKED.filter(([, own]) => {
  const { type, categories } = JSON.parse(own).channel;
  return !seen.has(type) && (categories ?? 0) < 12 && seen.add(type);
})) {
  test(`how likely a code is: as often as it is drawn, and never more than e^ε apart, ${JSON.parse(text).channel.type}`, async () => {
    const study = await parse(text, JSON.parse(text).epsilon);
    const offer = { study };
    const [own, other] = study.categories ?? study.bounds;
    const draws = 20_000;
    const counts = new Map();
    for (let i = 0; i < draws; i++) {
      const { code } = study.report(own);
      counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    const { type, values, labels } = JSON.parse(study.channel.text);
    const per = values ?? labels; // codes for each public part
    let [expected, variance, hits] = [0, 0, 0];
    for (const [code, count] of counts) {
      const [mine, theirs] = [likelihoodOf(offer, own, code), likelihoodOf(offer, other, code)];
      assert.ok(mine <= theirs * Math.exp(Number(study.epsilon)) * (1 + 1e-9) && theirs <= mine * Math.exp(Number(study.epsilon)) * (1 + 1e-9));
      if (!per) assert.ok(Math.abs(count - draws * mine) < 6.5 * Math.sqrt(draws * mine * (1 - mine)) + 1, type);
      // Given the public part, the likeliest code comes as often as it says.
      const chance = per && likelihoodOf(offer, own, code);
      const all = per ? Array.from({ length: per }, (_, i) => likelihoodOf(offer, own, code - (code % per) + i)) : [];
      if (per) assert.ok(Math.abs(all.reduce((sum, one) => sum + one) - 1) < 1e-9);
      if (per && chance === Math.max(...all)) hits += count;
      if (per) [expected, variance] = [Math.max(...all), draws * Math.max(...all) * (1 - Math.max(...all))];
    }
    assert.ok(Math.abs(hits - draws * expected) < 6.5 * Math.sqrt(variance) + 1);
  });
}

test("every kind of channel was looked at", () => {
  assert.deepEqual(seen, new Set(["response", "choice", "unary", "hashing", "masked"]));
});

test("a receipt in words", async () => {
  const curator = new Curator();
  const alice = new Client(URL_OF, { token: token("alice"), fetch: curator.fetch });
  const words = receiptWords(await alice.trust(37.5)).split("\n");
  assert.match(words[0], /^Study minutes \(digest [0-9a-f]{12}…\), 2026-11-17: you gave a value, in trust\.$/);
  assert.ok(words.includes("- A commitment: größer als nichts."));
  assert.match(receiptWords(await alice.trust(1)), /The value given now was not used/);
  assert.match(receiptWords(await alice.withdraw()), /you withdrew your value\./);
});

test("a receipt that has more fields than this client knows is taken, and tells the part", async () => {
  const curator = new Curator();
  curator.changeReceipt = ({ receipt }) => curator.sign({ ...receipt, part: "DE", part_by: "country", later: 1 });
  const alice = new Client(URL_OF, { token: token("alice"), fetch: curator.fetch });
  const receipt = await alice.report(37.5);
  assert.deepEqual([receipt.part, receipt.part_by], ["DE", "country"]);
  assert.ok(receiptWords(receipt).split("\n").includes("You are counted in country: DE."));
  assert.ok(!receiptWords({ ...receipt, part: undefined }).includes("You are counted"));
});

test("what acts instead of showing is left out, and joiners that languages need stay", () => {
  assert.equal(oneLine("a pilot\n\x1b[2JIf you report: \u202enothing"), "a pilot [2JIf you report: nothing");
  assert.equal(oneLine("می\u200cخواهم"), "می\u200cخواهم");
  assert.equal(oneLine(7), undefined);
});

const ASKS = kmeans.rounds.flatMap(({ text }) => JSON.parse(text).asks);

for (const type of ["response", "choice"]) {
  test(`how likely an answer to a round is, ${type}: all codes of a symbol are one, and none is more than e^ε apart`, () => {
    const { channel } = ASKS.find((ask) => ask.channel.type === type);
    const { epsilon, categories, codes = categories, chosen } = channel;
    const symbols = chosen ? [2 ** chosen - 1, (2 ** chosen - 1) * 2 ** (codes - chosen)] : [0, codes - 1];
    const chances = symbols.map((symbol) =>
      Array.from({ length: codes }, (_, code) => likelihoodOfAnswer({ channel: JSON.stringify(channel), body: JSON.stringify({ code }) }, symbol, symbols)),
    );
    for (const row of chances) assert.ok(Math.abs(row.reduce((sum, chance) => sum + chance) - 1) < 1e-9);
    chances[0].forEach((chance, code) => assert.ok(chance <= chances[1][code] * Math.exp(Number(epsilon))));
    assert.notDeepEqual(chances[0], chances[1]);
  });
}

test("how likely an answer to a round is, unary: the bits of the symbols that are compared, and no others", () => {
  const { channel } = ASKS.find((ask) => ask.channel.type === "unary");
  const [one, zero] = [channel.one / 2 ** 32, channel.zero / 2 ** 32];
  const likely = (code, symbol) => likelihoodOfAnswer({ channel: JSON.stringify(channel), body: JSON.stringify({ code }) }, symbol, [1, 9]);
  assert.equal(likely("0200", 1), one * (1 - zero)); // bit 1 of byte 0
  assert.equal(likely("ff02", 9), zero * one);
  assert.equal(likely("fd01", 9), (1 - zero) * (1 - one));
  const all = ["0000", "0200", "0002", "0202"];
  for (const symbol of [1, 9]) assert.ok(Math.abs(all.reduce((sum, code) => sum + likely(code, symbol), 0) - 1) < 1e-12);
  assert.ok(likely("0200", 1) / likely("0200", 9) <= Math.exp(Number(channel.epsilon)));
});
