/** The scripts and styles of the server's pages that are in the repository are those that their sources make. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { STATIC, buildPages } from "../build_pages.js";

test("the page scripts in the repository are those of their sources: make pages writes them", () => {
  const folder = mkdtempSync(join(tmpdir(), "hybriddp-"));
  try {
    buildPages(folder);
    const names = readdirSync(folder).sort();
    assert.deepEqual(readdirSync(STATIC).sort(), names);
    const differ = names.filter((name) => !readFileSync(join(folder, name)).equals(readFileSync(join(STATIC, name))));
    assert.deepEqual(differ, []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
