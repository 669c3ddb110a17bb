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

/** The text with other values, otherwise as Python writes it: whole bounds get their ".0". */
const fields = JSON.parse(text);
const written = (change) =>
  JSON.stringify({ ...fields, ...change }).replace(/"bounds":\[(-?\d+),(-?\d+)\]/, '"bounds":[$1.0,$2.0]');

test("a text with other values is a study if Python writes it like that", async () => {
  assert.equal(written({}), text);
  for (const change of [
    { name: 'עִברִית 🙂 "quoted" \\ \u2028' },
    { delta: "0.001" },
    { delta: `0.${"0".repeat(299)}1` },
    { min_group_size: 100 },
    { users: { by: "country", key: "DE" } },
    { users: { by: "region", key: -7 } },
  ]) {
    assert.ok((await parseStudy(written(change), 1)) instanceof Study, JSON.stringify(change));
  }
  const long = text.replace('"users":null', '"users":{"by":"cell","key":123456789012345678901234567890}');
  assert.ok((await parseStudy(long, 1)) instanceof Study);
});

for (const [name, change, words] of [
  ["another type", { type: "kmeans" }, "not one of a mean"],
  ["another version", { version: 1 }, "not one of a mean"],
  ["another epsilon than its channel", { epsilon: "2" }, "does not fit"],
  ["no name", { name: null }, "no name"],
  ["a blank name", { name: " " }, "no name"],
  ["an escape sequence in its name", { name: "minutes\x1b[2J" }, "control characters"],
  ["half a character in its name", { name: "minutes \ud800" }, "control characters"],
  ["a name that is shown backwards", { name: "\u202esetunim" }, "control characters"],
  ["no bounds", { bounds: null }, "no bounds"],
  ["texts as bounds", { bounds: ["0", "240"] }, "no bounds"],
  ["bounds in the wrong order", { bounds: [240, 0] }, "bounds must be"],
  ["three bounds", { bounds: [0.5, 240.5, 250.5] }, "no bounds"],
  ["bounds too far apart", { bounds: [0, 1e140] }, "bounds must be"],
  ["bounds too close", { bounds: [0, 1e-140] }, "bounds must be"],
  ["no channel", { channel: undefined }, "does not describe a channel"],
  ["a weaker channel", { channel: { ...fields.channel, extra: fields.channel.extra + 1 } }, "add up"],
  ["no delta", { delta: undefined }, "delta"],
  ["a delta that is a number", { delta: 0 }, "delta"],
  ["a delta with a zero too many", { delta: "0.00010" }, "delta"],
  ["a delta that protects nobody", { delta: "0.0011" }, "delta"],
  ["a delta next to nothing", { delta: `0.${"0".repeat(300)}1` }, "delta"],
  ["no smallest group", { min_group_size: 0 }, "smallest group"],
  ["half a smallest group", { min_group_size: 2.5 }, "smallest group"],
  ["users who are everybody in other words", { users: {} }, "no users"],
  ["no word on its users", { users: undefined }, "no users"],
  ["a key with spaces around it", { users: { by: "country", key: "DE " } }, "no users"],
  ["a key that is not whole", { users: { by: "country", key: 1.5 } }, "no users"],
  ["users with a third property", { users: { by: "country", key: "DE", of: "EU" } }, "form"],
  ["an unknown key", { more: 1 }, "form"],
  ["a spread that is not known", { sd_at_most: null }, "form"],
  ["a spread beyond half of the range", { sd_at_most: 120.5 }, "form"],
  ["a whole number for its spread", { sd_at_most: 60 }, "form"],
]) {
  test(`a study with ${name} is refused`, async () => {
    await assert.rejects(parseStudy(written(change), 1), { name: "ChannelError", message: new RegExp(words) });
  });
}

test("numbers are written as Python writes floats", async () => {
  const own = ["[0.0,240.0]", "[-0.5,1e-05]", "[0.0001,1e+16]", "[-1e+22,1234567890123456.0]", "[1.5e-07,1.2345678901234568e+17]"];
  const other = ["[0,240]", "[0.0,240]", "[-0.0,240.0]", "[0.0,2.4e2]", "[0.0,240.00]", "[0.0,0.00001]", "[0.0,1e-5]", "[0.0,1e16]"];
  for (const bounds of own) {
    const study = await parseStudy(text.replace("[0.0,240.0]", bounds), 1);
    assert.deepEqual(study.bounds, JSON.parse(bounds));
  }
  for (const bounds of other) {
    await assert.rejects(parseStudy(text.replace("[0.0,240.0]", bounds), 1), /form that studies are written in/, bounds);
  }
});

test("spaces, another order, other spellings and second values of a key are refused", async () => {
  const { type, ...rest } = fields;
  for (const wrong of [
    `${text} `,
    `\n${text}`,
    text.replace('"name":', '"name": '),
    text.replace('"type":"mean",', '"type":"mean","type":"mean",'),
    text.replace("½", "\\u00bd"),
    text.replace('"low":', '"low": '),
    written({}).replace("{", `{"name":"another",`),
    JSON.stringify({ ...rest, type }).replace("[0,240]", "[0.0,240.0]"),
    curator.replace("62.5", "62.50"),
    curator.replace("62.5", "6.25e1"),
  ]) {
    assert.notEqual(wrong, text);
    await assert.rejects(parseStudy(wrong, 1), /form that studies are written in/, wrong.slice(0, 100));
  }
});

test("texts that are nested deeply are refused", async () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  for (const wrong of [deep, `{"channel":${deep}}`, text.replace("[0.0,240.0]", deep), text.replace('"users":null', `"users":${deep}`)]) {
    await assert.rejects(parseStudy(wrong, 1), ChannelError);
  }
});

test("another epsilon than the user was shown, and texts that are no study, are refused", async () => {
  await assert.rejects(parseStudy(text, 0.5), ChannelError);
  for (const wrong of ["", "{", "null", "[]", "3"]) await assert.rejects(parseStudy(wrong, 1), ChannelError);
});
