/** The real random source, and every error once. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { RandomizedResponse, UnaryEncoding, ChannelError as FrequencyError, parseChannel as parseCategorical } from "../dist/frequency.js";
import { ChannelError, WindowChannel, parseChannel, systemBytes } from "../dist/hybriddp.js";
import { vectors } from "./vectors.js";

const windowCase = vectors.window.find((c) => c.epsilon === "1");
const numeric = parseChannel(windowCase.text, 1);
const response = parseCategorical(vectors.response[1].text, "1");
const unary = parseCategorical(vectors.unary[1].text, "1");

/** Pearson's statistic; the codes that are expected less than ten times under the true probabilities are one bin. */
function pearson(counts, expected, draws, truth) {
  const rare = { count: 0, mean: 0, truth: 0 };
  let sum = 0;
  counts.forEach((count, code) => {
    const mean = expected[code] * draws;
    if (truth[code] * draws >= 10) {
      sum += (count - mean) ** 2 / mean;
    } else {
      rare.count += count;
      rare.mean += mean;
      rare.truth += truth[code] * draws;
    }
  });
  return rare.truth >= 10 ? sum + (rare.count - rare.mean) ** 2 / rare.mean : sum;
}

// Below 0.5 so few draws cannot tell a weight that is 20 % off.
for (const c of vectors.window.filter((c) => Number(c.epsilon) >= 0.5)) {
  test(`reports of the real source have the exact distribution, epsilon ${c.epsilon}; a wrong one is told apart`, () => {
    const channel = parseChannel(c.text, c.epsilon);
    const { input, probabilities, wrong, critical } = c.distribution;
    const draws = 400_000;
    const counts = new Array(probabilities.length).fill(0);
    for (let i = 0; i < draws; i++) counts[channel.report(input, c.bounds)]++;
    assert.ok(pearson(counts, probabilities, draws, probabilities) < critical);
    assert.ok(pearson(counts, wrong, draws, probabilities) > critical);
  });
}

test("randomized response tells the truth as often as it says", () => {
  const draws = 200_000;
  const { low, extra } = JSON.parse(response.text);
  const p = (low + extra) / 2 ** 32;
  let truths = 0;
  for (let i = 0; i < draws; i++) truths += Number(response.report(3) === 3);
  const sd = Math.sqrt(draws * p * (1 - p));
  assert.ok(Math.abs(truths - draws * p) < 5.4 * sd); // a false alarm has probability 1e-7
  assert.ok(Math.abs(truths - draws * 0.8 * p) > 5.4 * sd);
});

test("unary encoding sets bits as often as it says", () => {
  const draws = 100_000;
  const { one, zero, categories } = JSON.parse(unary.text);
  const ones = new Array(categories).fill(0);
  for (let i = 0; i < draws; i++) {
    const report = unary.report(3);
    for (let j = 0; j < categories; j++) ones[j] += (report[j >> 3] >> (j & 7)) & 1;
  }
  ones.forEach((count, j) => {
    const p = (j === 3 ? one : zero) / 2 ** 32;
    const sd = Math.sqrt(draws * p * (1 - p));
    assert.ok(Math.abs(count - draws * p) < 5.7 * sd);
    assert.ok(Math.abs(count - draws * 0.8 * p) > 5.7 * sd);
  });
});

test("parsing tells the kinds apart", () => {
  assert.ok(numeric instanceof WindowChannel);
  assert.ok(response instanceof RandomizedResponse);
  assert.ok(unary instanceof UnaryEncoding);
  assert.equal(typeof systemBytes, "function");
});

test("channels of categories are for another entry", () => {
  for (const { text } of [response, unary]) assert.throws(() => parseChannel(text, 1), { name: "ChannelError", reason: "channel", message: /channel for numbers/ });
});

for (const value of [NaN, Infinity, -Infinity, undefined, null, "0.5", true, 1n, {}]) {
  test(`a value that is no finite number gets no report: ${String(value)}`, () => {
    assert.throws(() => numeric.report(value, [0, 1]), { name: "ChannelError", message: /^value must be a finite number/ });
  });
}

for (const bounds of [[1, 0], [1, 1], [0, Infinity], [NaN, 1], [-1e308, 1e308], [0, 5e-324], [], ["0", 1], null]) {
  test(`bad bounds are refused: ${JSON.stringify(bounds)}`, () => {
    assert.throws(() => numeric.report(0.5, bounds), { name: "ChannelError", message: /^bounds must be/ });
  });
}

for (const epsilon of [0, -1, 0.001, 21, NaN, Infinity, "x", "1.0", null, undefined, true, 1n, [1], Symbol("1")]) {
  test(`a bad promised epsilon is refused: ${String(epsilon)}`, () => {
    assert.throws(() => parseChannel(numeric.text, epsilon), { name: "ChannelError", message: /^epsilon must be a number from 0\.01 to 20/ });
  });
}

test("too large an epsilon comes with a remedy", () => {
  assert.throws(() => parseChannel(numeric.text, 30), /from 0.01 to 20, got epsilon=30/);
});

test("a channel for another epsilon is refused", () => {
  assert.throws(() => parseChannel(numeric.text, 0.5), { message: /it is for epsilon 1, but 0\.5 was promised/ });
});

for (const category of [-1, 10, 1.5, NaN, "3", true, undefined]) {
  test(`a category that does not exist gets no report: ${String(category)}`, () => {
    assert.throws(() => response.report(category), { name: "ChannelError", message: /^category must be an integer from 0 to 9/ });
    assert.throws(() => unary.report(category), FrequencyError);
  });
}

test("only a text is parsed", () => {
  for (const text of [undefined, null, 5, {}, new String(numeric.text)]) assert.throws(() => parseChannel(text, 1), ChannelError);
});
