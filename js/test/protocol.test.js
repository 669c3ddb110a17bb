/** Contributions and receipts of the shared vectors: made as Python makes them, and accepted or refused as there. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { parseDistributionStudy } from "../dist/distribution.js";
import { parseFrequencyStudy } from "../dist/frequency.js";
import { Client, ProtocolError, parseStudy, verifyReceipt } from "../dist/hybriddp.js";

const vectors = JSON.parse(readFileSync(new URL("../../vectors/protocol.json", import.meta.url), "utf8"));

for (const [name, { text, digest }] of Object.entries(vectors.studies)) {
  const cases = vectors.contributions.filter((one) => one.study === name && one.group === "trusted");

  test(`${cases.length} values are trusted as in Python: ${name}`, async () => {
    const { type, epsilon } = JSON.parse(text);
    const parse = { mean: parseStudy, frequency: parseFrequencyStudy, distribution: parseDistributionStudy }[type];
    const study = await parse(text, epsilon);
    assert.equal(study.digest, digest);
    for (const { value, integer, body } of cases) {
      const made = study.trusted(value);
      assert.equal(made.integer, integer);
      assert.deepEqual(made.value, JSON.parse(body).value);
    }
  });
}

test(`${vectors.answers.length} answers to rounds have their commitments`, () => {
  for (const { message, nonce, text, commitment } of vectors.answers) {
    const { round, ask, variant, code } = message;
    assert.equal(JSON.stringify({ round, ask, variant, code }), text);
    assert.equal(createHash("sha256").update(`hybriddp answer 1\n${text}\n${nonce}`).digest("hex"), commitment);
  }
});

test("tokens name the study", () => {
  for (const { token, study } of vectors.participants) {
    assert.ok(new Client("https://curator.example.org", { token, study }));
    assert.throws(() => new Client("https://curator.example.org", { token, study: "another" }), { reason: "token" });
  }
});

for (const { what, document } of vectors.receipts) {
  test(`accepted: ${what}`, async () => assert.equal(await verifyReceipt(document, vectors.jwks), undefined));
}

for (const { why, document } of vectors.refused_receipts) {
  test(`refused: ${why}`, () => assert.rejects(verifyReceipt(document, vectors.jwks), ProtocolError));
}
