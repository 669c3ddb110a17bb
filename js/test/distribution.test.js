/** Studies of a distribution: the same bytes give Python's reports, what Python refuses is refused, and every error once. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ChannelError, DistributionStudy, MaskedResponse, parseChannel, parseDistributionStudy } from "../dist/distribution.js";
import { known, notRefused, stream, distribution as vectors, wideDigest } from "./vectors.js";

let compared = 0;

for (const c of vectors.studies) {
  test(`${c.seed}, epsilon ${c.epsilon}: ${c.count} reports`, async () => {
    const study = await parseDistributionStudy(c.text, c.epsilon);
    assert.ok(study instanceof DistributionStudy);
    assert.ok(study.channel instanceof MaskedResponse);
    assert.equal(study.digest, c.digest);
    assert.equal(study.channel.bytesPerReport, c.bytes_per_report);
    const [lower, upper] = study.bounds;
    const { cuts } = JSON.parse(c.text);
    const inputs = stream(`${c.seed} inputs`, 4 * c.count);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    const codes = Array.from({ length: c.count }, (_, i) => {
      const word = inputs.readUInt32LE(4 * i);
      const anywhere = lower + (upper - lower) * ((word / 2 ** 32) * 1.5 - 0.25);
      const near = lower + (cuts[word % 255] + (((word >>> 8) % 5) - 2) / 2) * ((upper - lower) / 2 ** 24);
      const report = study.report(i % 2 ? near : anywhere, bytes);
      assert.equal(report.study, c.digest);
      return report.code;
    });
    assert.deepEqual(codes.slice(0, c.first.length), c.first);
    assert.equal(wideDigest(codes), c.sha256);
    compared += codes.length;
  });
}

for (const c of vectors.channels) {
  test(`${c.seed}: ${c.count} codes`, () => {
    const channel = parseChannel(c.text, c.epsilon);
    assert.equal(channel.text, c.text);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    const codes = Array.from({ length: c.count }, (_, i) => channel.report(i % 256, bytes));
    assert.deepEqual(codes.slice(0, c.first.length), c.first);
    assert.equal(wideDigest(codes), c.sha256);
  });
}

test("at least half a million reports were compared, with 1 to 8 bits of label and every scale", () => {
  assert.ok(compared >= 500_000);
  const asked = vectors.studies.map((c) => JSON.parse(c.text));
  assert.deepEqual(new Set(asked.map(({ channel }) => channel.labels)), new Set([2, 4, 8, 16, 32, 64, 128, 256]));
  assert.deepEqual(new Set(asked.map(({ channel }) => channel.bits)), new Set([32, 48]));
  assert.deepEqual(new Set(asked.flatMap(({ scale }) => (scale === "equal" ? scale : Object.keys(scale)))), new Set(["equal", "log", "edges"]));
});

for (const { text, digest } of vectors.accepted) {
  test(`accepted: ${text.slice(31, 90)} ${digest.slice(0, 8)}`, async () => {
    const study = await parseDistributionStudy(text, 1);
    assert.equal(study.digest, digest);
    for (const value of study.bounds) assert.ok(study.report(value).code < 2 ** 16);
  });
}

test("tampered studies and channels are refused", async () => {
  assert.ok(vectors.refused.length >= 250);
  assert.ok(vectors.refused_channels.length >= 80);
  assert.deepEqual(await notRefused(vectors.refused, ChannelError, ({ text }) => parseDistributionStudy(text, "1")), []);
  assert.deepEqual(await notRefused(vectors.refused_channels, ChannelError, ({ text }) => parseChannel(text, "1")), []);
});

const [{ text: own }] = vectors.accepted;

test("a study for another epsilon than the user was shown is refused, and so is what is no text", async () => {
  await assert.rejects(parseDistributionStudy(own, 0.5), { message: /it is for epsilon 1, but 0\.5 was promised/ });
  await assert.rejects(parseDistributionStudy(own, "1.0"), { message: /^epsilon must be a number from 0\.01 to 20/ });
  for (const text of [undefined, null, 5, {}, new String(own)]) await assert.rejects(parseDistributionStudy(text, 1), ChannelError);
});

for (const [words, change] of [
  ["The study is refused: it is not one of a distribution", ['"type":"distribution"', '"type":"mean"']],
  ["it has no name", ['"page load ms"', '"\\u001b[2J"']],
  ["it has no bounds", ["[0.0,1.0]", "[0.0]"]],
  ["its smallest group", ['"min_group_size":2', '"min_group_size":0']],
  ["its scale is not equal, log or 255 edges", ['{"log":1000.0}', '"log"']],
  ["its edges do not increase by a unit", ['{"log":1000.0}', '{"log":1500000.0}']],
  ["it has no users", ['"users":null', '"users":{}']],
  ["it is not in the form", [",464,", ",465,"]],
]) {
  test(`the reason of a refusal is said: ${words}`, async () => {
    const changed = own.replace(...change);
    assert.notEqual(changed, own);
    await assert.rejects(parseDistributionStudy(changed, 1), { name: "ChannelError", message: new RegExp(words) });
  });
}

for (const value of [NaN, Infinity, -Infinity, undefined, null, "0.5", true, 1n, {}]) {
  test(`a value that is no finite number gets no report: ${String(value)}`, async () => {
    const study = await parseDistributionStudy(own, 1);
    const untouched = () => assert.fail("bytes were drawn");
    assert.throws(() => study.report(value, untouched), { name: "ChannelError", message: /^value must be a finite number/ });
  });
}

test("only bins are reported, and no message shows what was none", () => {
  const channel = parseChannel(vectors.channels[0].text, 1);
  for (const bin of [-1, 256, 17.5, NaN, "17", 17n, true, undefined]) {
    assert.throws(() => channel.report(bin), { name: "ChannelError", message: "bin must be an integer from 0 to 255." });
  }
});

test("the bounds of a study cannot be changed", async () => {
  const study = await parseDistributionStudy(own, 1);
  assert.throws(() => study.bounds.push(2), TypeError);
  assert.throws(() => (study.bounds[1] = 2), TypeError);
});

test("reports of the real source have the exact distribution: patterns by level, labels as often as they are true", async () => {
  const study = await parseDistributionStudy(own, 1);
  const { low, extra, labels } = JSON.parse(study.channel.text);
  const draws = 200_000;
  const bits = Math.log2(labels);
  const levels = new Array(9 - bits).fill(0);
  let hits = 0;
  for (let i = 0; i < draws; i++) {
    const { code } = study.report(1); // the upper bound is bin 255, all of whose bits are 1
    const pattern = Math.floor(code / labels);
    let level = bits;
    for (let first = 1; pattern >= first; level++) first += 2 ** (level + 1) - 1;
    levels[level - bits]++;
    hits += Number(pattern === 0 && code === labels - 1); // the only pattern of its level has its top bits as masks
  }
  // A false alarm has probability 1e-7 or so.
  for (const count of levels) {
    const p = 1 / levels.length;
    assert.ok(Math.abs(count - draws * p) < 5.7 * Math.sqrt(draws * p * (1 - p)));
  }
  const truth = (low + extra) / 2 ** 32 / levels.length;
  const sd = Math.sqrt(draws * truth * (1 - truth));
  assert.ok(Math.abs(hits - draws * truth) < 5.4 * sd);
  assert.ok(Math.abs(hits - draws * 0.8 * truth) > 5.4 * sd);
});
