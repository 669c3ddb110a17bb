/** What another project gets from this folder, linked or packed: something that imports and reports. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { vectors } from "./vectors.js";

const source = fileURLToPath(new URL("..", import.meta.url));
const { epsilon, text } = vectors.window[0];

let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "hybriddp-"));
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** npm with an empty cache and no network: all that it needs has to be in the folder and its node_modules. */
function npm(where, ...words) {
  const env = { ...process.env, npm_config_cache: join(folder, "cache"), npm_config_update_notifier: "false" };
  return execFileSync("npm", [...words, "--offline", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: where,
    encoding: "utf8",
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A checkout of the package in which nothing was built, with the tools that build it. */
function checkout(name) {
  const copy = join(folder, name);
  mkdirSync(copy);
  for (const part of ["package.json", "README.md", "src"]) cpSync(join(source, part), join(copy, part), { recursive: true });
  symlinkSync(join(source, "node_modules"), join(copy, "node_modules"), "junction");
  return copy;
}

/** What a project that has installed `what` prints: whether a report is a code. */
function report(name, what) {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"private": true, "type": "module"}');
  writeFileSync(
    join(project, "use.js"),
    'import { parseChannel } from "hybriddp";\n' +
      "const channel = parseChannel(...process.argv.slice(2));\n" +
      "console.log(Number.isInteger(channel.report(37.5, [0, 240])));\n",
  );
  npm(project, "install", what);
  return execFileSync(process.execPath, ["use.js", text, epsilon], { cwd: project, encoding: "utf8" }).trim();
}

test("a folder that is installed into a project builds itself and imports", () => {
  assert.equal(report("links", checkout("linked")), "true");
});

test("a packed folder builds itself, holds the bundle and imports", () => {
  const copy = checkout("packed");
  npm(copy, "pack");
  const [tarball] = readdirSync(copy).filter((name) => name.endsWith(".tgz"));
  assert.equal(report("unpacks", join(copy, tarball)), "true");
});

test("the build that an install runs is that of the development tools", () => {
  const { devDependencies, scripts } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  assert.match(scripts.prepare, new RegExp(`--package=esbuild@${devDependencies.esbuild.replaceAll(".", "\\.")} `));
});
