/** Studies: the digest is Python's, a report carries it, and every refusal once. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ChannelError, Study, parseStudy } from "../dist/hybriddp.js";
import { known, stream } from "./vectors.js";

const { text, digest, curator } = JSON.parse(readFileSync(new URL("../../vectors/study.json", import.meta.url), "utf8"));

test("the digest of a study is the one that Python has", async () => {
  const study = await parseStudy(text, 1);
  assert.ok(study instanceof Study);
  assert.equal(study.digest, digest);
  assert.deepEqual([study.name, ...study.bounds], ["session minutes, ½ hours too", 0, 240]);
});

test("what the curator knows of the spread is not asked of devices", async () => {
  assert.equal((await parseStudy(curator, 1)).digest, digest);
});

test("a report is the channel's code with the digest", async () => {
  const study = await parseStudy(text, "1");
  const bytes = stream("study", study.channel.bytesPerReport);
  const report = study.report(37.5, known(bytes));
  assert.deepEqual(report, { study: digest, code: study.channel.report(37.5, [0, 240], known(bytes)) });
  assert.deepEqual(Object.keys(study.report(12)), ["study", "code"]);
});

const fields = JSON.parse(text);
for (const [name, change] of [
  ["another type", { type: "kmeans" }],
  ["another version", { version: 1 }],
  ["another epsilon than its channel", { epsilon: "2" }],
  ["no name", { name: null }],
  ["no bounds", { bounds: null }],
  ["bounds in the wrong order", { bounds: [240, 0] }],
  ["no channel", { channel: undefined }],
  ["a weaker channel", { channel: { ...fields.channel, extra: fields.channel.extra + 1 } }],
]) {
  test(`a study with ${name} is refused`, async () => {
    await assert.rejects(parseStudy(JSON.stringify({ ...fields, ...change }), 1), ChannelError);
  });
}

test("another epsilon than the user was shown, and texts that are no study, are refused", async () => {
  await assert.rejects(parseStudy(text, 0.5), ChannelError);
  for (const wrong of ["", "{", "null", "[]", "3"]) await assert.rejects(parseStudy(wrong, 1), ChannelError);
});
