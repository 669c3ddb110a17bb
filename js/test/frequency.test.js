/** Studies of frequencies: the same bytes give Python's reports, what Python refuses is refused, and every error once. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ChannelError,
  ChoiceResponse,
  DiscoveryQuestion,
  FrequencyStudy,
  LocalHashing,
  RandomizedResponse,
  UnaryEncoding,
  parseChannel,
  parseDiscoveryQuestion,
  parseFrequencyStudy,
} from "../dist/frequency.js";
import { frequency as vectors, known, notRefused, stream, wideDigest } from "./vectors.js";

const classes = { response: RandomizedResponse, choice: ChoiceResponse, unary: UnaryEncoding, hashing: LocalHashing };
let compared = 0;

for (const c of vectors.studies) {
  test(`${c.seed}, ${c.kind}, epsilon ${c.epsilon}: ${c.count} reports`, async () => {
    const study = await parseFrequencyStudy(c.text, c.epsilon);
    assert.ok(study instanceof FrequencyStudy);
    assert.ok(study.channel instanceof classes[c.kind]);
    assert.equal(study.digest, c.digest);
    assert.equal(study.channel.bytesPerReport, c.bytes_per_report);
    const { categories, other } = study;
    const texts = typeof categories[0] === "string";
    const inputs = stream(`${c.seed} inputs`, 4 * c.count);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    const codes = Array.from({ length: c.count }, (_, i) => {
      const word = inputs.readUInt32LE(4 * i);
      const number = word % (categories.length + Number(other));
      const item = number < categories.length ? categories[number] : texts ? `none of them, ${word}` : word + 2 ** 40;
      const report = study.report(item, bytes);
      assert.equal(report.study, c.digest);
      return report.code;
    });
    assert.deepEqual(codes.slice(0, c.first.length), c.first);
    assert.ok(codes.every(Number.isSafeInteger));
    assert.equal(wideDigest(codes), c.sha256);
    compared += codes.length;
  });
}

for (const c of vectors.channels) {
  test(`${c.seed}, ${c.kind}, epsilon ${c.epsilon}: ${c.count} codes`, () => {
    const channel = parseChannel(c.text, c.epsilon);
    assert.ok(channel instanceof classes[c.kind]);
    assert.equal(channel.text, c.text);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    const codes = Array.from({ length: c.count }, (_, i) => channel.report(c.inputs[i % c.inputs.length], bytes));
    assert.deepEqual(codes.slice(0, c.first.length), c.first);
    assert.equal(wideDigest(codes), c.sha256);
  });
}

for (const c of vectors.discovery) {
  test(`${c.seed}, epsilon ${c.epsilon}: ${c.count} reports`, async () => {
    const question = await parseDiscoveryQuestion(c.text, c.epsilon);
    assert.ok(question instanceof DiscoveryQuestion);
    assert.equal(question.digest, c.digest);
    assert.equal(question.channel.bytesPerReport + 4, c.bytes_per_report);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    const reports = Array.from({ length: c.count }, (_, i) => question.report(c.inputs[i % c.inputs.length], bytes));
    assert.ok(reports.every(({ study }) => study === c.digest));
    const codes = reports.map(({ code }) => code);
    assert.deepEqual(codes.slice(0, c.first.length), c.first);
    assert.equal(wideDigest(codes), c.sha256);
  });
}

test("at least half a million reports were compared, of every kind of channel", () => {
  assert.ok(compared >= 500_000);
  assert.deepEqual(new Set(vectors.studies.map((c) => c.kind)), new Set(Object.keys(classes)));
});

for (const { text, digest } of vectors.accepted) {
  test(`accepted: ${text.slice(28, 80)}`, async () => {
    const study = await parseFrequencyStudy(text, 1);
    assert.equal(study.digest, digest);
    for (const category of study.categories) assert.ok(Number.isSafeInteger(study.report(category).code));
  });
}

test("tampered studies, channels and questions are refused", async () => {
  assert.ok(vectors.refused.length >= 300);
  assert.ok(vectors.refused_channels.length >= 100);
  assert.ok(vectors.refused_discovery.length >= 100);
  assert.deepEqual(await notRefused(vectors.refused, ChannelError, ({ text }) => parseFrequencyStudy(text, "1")), []);
  assert.deepEqual(await notRefused(vectors.refused_channels, ChannelError, ({ text }) => parseChannel(text, "1")), []);
  assert.deepEqual(await notRefused(vectors.refused_discovery, ChannelError, ({ text }) => parseDiscoveryQuestion(text, "1")), []);
});

test("only a text is reported for local discovery, and only under the epsilon that the user was shown", async () => {
  const { text } = vectors.discovery[0];
  await assert.rejects(parseDiscoveryQuestion(text, 2), { message: /it is for epsilon 1, but 2 was promised/ });
  const question = await parseDiscoveryQuestion(text, 1);
  for (const item of [undefined, null, 7, ["a"], new String("a")]) {
    assert.throws(() => question.report(item), { name: "ChannelError", message: /^item must be a text/ });
  }
});

const yesNo = vectors.accepted[0].text;
const integers = vectors.accepted.find(({ text }) => text.includes('"integers"')).text;

test("a study for another epsilon than the user was shown is refused, and so is what is no text", async () => {
  await assert.rejects(parseFrequencyStudy(yesNo, 0.5), { message: /it is for epsilon 1, but 0\.5 was promised/ });
  await assert.rejects(parseFrequencyStudy(yesNo, "1.0"), { message: /^epsilon must be a number from 0\.01 to 20/ });
  for (const text of [undefined, null, 5, {}, new String(yesNo)]) await assert.rejects(parseFrequencyStudy(text, 1), ChannelError);
});

test("an item that is no category gets no report, unless other items count", async () => {
  const study = await parseFrequencyStudy(yesNo, 1);
  for (const item of ["maybe", "Yes", "yes ", "", "(other)"]) {
    assert.throws(() => study.report(item), { name: "ChannelError", message: /^item must be one of the study's categories/ });
  }
  const open = await parseFrequencyStudy(integers, 1);
  const bytes = stream("other", open.channel.bytesPerReport);
  const other = open.report(7, known(bytes));
  for (const item of [8, -1, 1e300]) assert.deepEqual(open.report(item, known(bytes)), other);
  assert.deepEqual(open.report(-0, known(bytes)), open.report(0, known(bytes)));
});

test("an item that is missing or of another type gets no report, and no message shows it", async () => {
  const texts = await parseFrequencyStudy(yesNo, 1);
  const numbers = await parseFrequencyStudy(integers, 1);
  for (const item of [undefined, null, NaN, 0, true, ["yes"], new String("yes"), {}]) {
    assert.throws(() => texts.report(item), { name: "ChannelError", message: "item must be a text. There is no report for what is missing." });
  }
  for (const item of [undefined, null, NaN, Infinity, 0.5, "0", "(other)", true, 0n, [0]]) {
    assert.throws(() => numbers.report(item), { message: "item must be an integer. There is no report for what is missing." });
  }
  assert.throws(() => texts.report("secret"), (error) => !error.message.includes("secret"));
});

test("the categories of a study cannot be changed", async () => {
  const study = await parseFrequencyStudy(yesNo, 1);
  assert.throws(() => study.categories.push("maybe"), TypeError);
});

test("sets and keys that a channel cannot report are refused", () => {
  const choice = parseChannel(vectors.channels.find((c) => c.kind === "choice").text, 1); // 3 of 8 codes
  for (const set of [0, 0b11, 0b1111, 2 ** 32 + 0b11, -1, 0.5, NaN, "7", undefined]) {
    assert.throws(() => choice.report(set), { name: "ChannelError", message: /^set must be an integer with 3 of 8 bits/ });
  }
  const hashing = parseChannel(vectors.channels.find((c) => c.kind === "hashing").text, 1);
  for (const key of [-1, 0.5, 2 ** 53, NaN, "7", 7n, undefined]) {
    assert.throws(() => hashing.report(key), { name: "ChannelError", message: /^key must be an integer/ });
  }
});

/** How often each code of a study of few codes is drawn for an item, from the real source. */
async function frequencies(study, item, draws) {
  const counts = new Map();
  for (let i = 0; i < draws; i++) {
    const { code } = study.report(item);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return counts;
}

for (const kind of ["response", "choice"]) {
  test(`reports of the real source have the exact distribution: ${kind}`, async () => {
    const c = vectors.studies.find((v) => v.kind === kind && v.epsilon === "1");
    const study = await parseFrequencyStudy(c.text, 1);
    const { low, extra, bits, codes, categories } = JSON.parse(study.channel.text);
    const draws = 200_000;
    const counts = await frequencies(study, study.categories[0], draws);
    // Weights are a or a + b. A false alarm has probability 1e-7 or so over all codes.
    const likely = [...counts.values()].map((count) => {
      const near = [low, low + extra].map((weight) => {
        const p = weight / 2 ** bits;
        return Math.abs(count - draws * p) / Math.sqrt(draws * p * (1 - p));
      });
      assert.ok(Math.min(...near) < 5.7);
      assert.ok(Math.max(...near) > 5.7); // the two are told apart
      return Number(near[1] < near[0]);
    });
    assert.equal(counts.size, codes ?? categories);
    assert.equal(likely.reduce((a, b) => a + b), kind === "choice" ? study.channel.chosen : 1);
  });
}

test("reports of the real source have the exact distribution: hashing", async () => {
  const c = vectors.studies.find((v) => v.kind === "hashing" && v.text.includes('"functions":2,"values":2'));
  const study = await parseFrequencyStudy(c.text, 1);
  const { low, extra } = JSON.parse(study.channel.text);
  const draws = 200_000;
  const counts = await frequencies(study, study.categories[0], draws);
  for (const f of [0, 1]) {
    const pair = [counts.get(2 * f), counts.get(2 * f + 1)].sort((a, b) => a - b);
    [low, low + extra].forEach((weight, i) => {
      const p = weight / 2 ** 33;
      const sd = Math.sqrt(draws * p * (1 - p));
      assert.ok(Math.abs(pair[i] - draws * p) < 5.7 * sd);
      assert.ok(Math.abs(pair[i] - draws * 0.8 * p) > 5.7 * sd);
    });
  }
});
