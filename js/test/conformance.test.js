/** The same bytes give the same codes as in Python, and what Python refuses is refused. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { ChannelError as FrequencyError, parseChannel as parseCategorical } from "../dist/frequency.js";
import { ChannelError, parseChannel } from "../dist/hybriddp.js";
import { digest, known, notRefused, stream, vectors } from "./vectors.js";

let compared = 0;

for (const c of vectors.window) {
  test(`window channel, epsilon ${c.epsilon}: ${c.count} codes`, () => {
    const channel = parseChannel(c.text, c.epsilon);
    const inputs = stream(`${c.seed} inputs`, 4 * c.count);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    assert.equal(channel.bytesPerReport, c.bytes_per_report);
    const [lower, upper] = c.bounds;
    const codes = Array.from({ length: c.count }, (_, i) => {
      const value = lower + (upper - lower) * ((inputs.readUInt32LE(4 * i) / 2 ** 32) * 1.5 - 0.25);
      return channel.report(value, c.bounds, bytes);
    });
    assert.deepEqual(codes.slice(0, c.first.length), c.first);
    assert.equal(digest(codes, false), c.sha256);
    compared += codes.length;
  });
}

for (const c of vectors.response) {
  test(`randomized response, epsilon ${c.epsilon}, ${c.categories} categories: ${c.count} codes`, () => {
    const channel = parseCategorical(c.text, c.epsilon);
    const inputs = stream(`${c.seed} inputs`, 4 * c.count);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    const codes = Array.from({ length: c.count }, (_, i) => channel.report(inputs.readUInt32LE(4 * i) % c.categories, bytes));
    assert.deepEqual(codes.slice(0, c.first.length), c.first);
    assert.equal(digest(codes, c.categories > 256), c.sha256);
    compared += codes.length;
  });
}

for (const c of vectors.unary) {
  test(`unary encoding, epsilon ${c.epsilon}, ${c.categories} categories: ${c.count} reports`, () => {
    const channel = parseCategorical(c.text, c.epsilon);
    const inputs = stream(`${c.seed} inputs`, 4 * c.count);
    const bytes = known(stream(`${c.seed} bytes`, c.bytes_per_report * c.count));
    const reports = Array.from({ length: c.count }, (_, i) => channel.report(inputs.readUInt32LE(4 * i) % c.categories, bytes));
    assert.deepEqual(reports.slice(0, c.first.length).map((report) => [...report]), c.first);
    assert.equal(digest(reports.flatMap((report) => [...report]), false), c.sha256);
  });
}

test("at least half a million codes were compared, over at least seven epsilons", () => {
  assert.ok(compared >= 500_000);
  assert.ok(new Set(vectors.window.map((c) => c.epsilon)).size >= 7);
});

test("the text of a channel is its own digest's", () => {
  for (const c of vectors.window) {
    assert.equal(createHash("sha256").update(parseChannel(c.text, c.epsilon).text).digest("hex"), c.digest);
  }
});

test("tampered channels are refused by either entry", async () => {
  assert.ok(vectors.refused.length >= 200);
  assert.deepEqual(await notRefused(vectors.refused, ChannelError, ({ text }) => parseChannel(text, "1")), []);
  assert.deepEqual(await notRefused(vectors.refused, FrequencyError, ({ text }) => parseCategorical(text, "1")), []);
});
