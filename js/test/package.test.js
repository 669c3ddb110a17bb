/** What another project gets from this folder, linked or packed: something that imports and reports. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { distribution, frequency, kmeans, vectors } from "./vectors.js";

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
  for (const part of ["package.json", "README.md", "LICENSE", "src"]) cpSync(join(source, part), join(copy, part), { recursive: true });
  symlinkSync(join(source, "node_modules"), join(copy, "node_modules"), "junction");
  return copy;
}

/** What a project that has installed `what` prints: whether reports of all entries are codes. */
function report(name, what) {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"private": true, "type": "module"}');
  writeFileSync(
    join(project, "use.js"),
    'import { Client, parseChannel } from "hybriddp";\n' +
      'import { promiseOf } from "hybriddp/words";\n' +
      'import { parseFrequencyStudy } from "hybriddp/frequency";\n' +
      'import { distribution, parseDistributionStudy } from "hybriddp/distribution";\n' +
      'import { parseKMeansStudy } from "hybriddp/kmeans";\n' +
      'import { heavyHitters } from "hybriddp/heavy";\n' +
      'const client = new Client("https://curator.example.org", { study: "minutes", kinds: [distribution, heavyHitters] });\n' +
      "const [text, epsilon, shares, quantiles, points, asked] = process.argv.slice(2);\n" +
      "const code = parseChannel(text, epsilon).report(37.5, [0, 240]);\n" +
      'const item = (await parseFrequencyStudy(shares, 1)).report("yes");\n' +
      "const value = (await parseDistributionStudy(quantiles, 1)).report(0.5);\n" +
      "const round = await (await parseKMeansStudy(points, 1)).parseRound(asked);\n" +
      "const made = typeof promiseOf === 'function' && (await client.kept()) === undefined;\n" +
      "console.log(made && [code, item.code, value.code, round.answer([0.5, 0.5]).code].every(Number.isInteger));\n",
  );
  npm(project, "install", what);
  const words = ["use.js", text, epsilon, frequency.accepted[0].text, distribution.accepted[0].text, kmeans.bases[0], kmeans.bases[2]];
  return execFileSync(process.execPath, words, { cwd: project, encoding: "utf8" }).trim();
}

test("a folder that is installed into a project builds itself and imports", () => {
  assert.equal(report("links", checkout("linked")), "true");
});

/** Packs a checkout, which builds itself for that. */
function packed(name) {
  const copy = checkout(name);
  npm(copy, "pack");
  const [tarball] = readdirSync(copy).filter((one) => one.endsWith(".tgz"));
  return join(copy, tarball);
}

test("a packed folder holds what it needs, the same bytes each time, and all entries import and have types", () => {
  const tarball = packed("packed");
  assert.ok(readFileSync(tarball).equals(readFileSync(packed("packed again"))));
  assert.equal(report("unpacks", tarball), "true");
  const found = join(folder, "unpacks", "node_modules", "hybriddp");
  assert.deepEqual(readdirSync(found).sort(), ["LICENSE", "README.md", "dist", "package.json", "src"]);
  assert.ok(readFileSync(join(found, "LICENSE")).equals(readFileSync(join(source, "..", "LICENSE"))));
  const { exports } = JSON.parse(readFileSync(join(found, "package.json"), "utf8"));
  const files = Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [entry] : Object.values(entry)));
  assert.deepEqual(files.filter((file) => !existsSync(join(found, file))), []);
  const links = [...readFileSync(join(found, "README.md"), "utf8").matchAll(/\]\(([^)]*)\)/g)].map(([, to]) => to);
  assert.deepEqual(links.filter((to) => !/^(https:|#)/.test(to) && !existsSync(join(found, to))), []);
  typecheck(join(folder, "unpacks"));
});

test("the build that an install runs is that of the development tools", () => {
  const { devDependencies, scripts } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  assert.match(scripts.prepare, new RegExp(`--package=esbuild@${devDependencies.esbuild.replaceAll(".", "\\.")} `));
});

/** Finds the types of all entries in a project that has installed the package. */
function typecheck(project) {
  writeFileSync(
    join(project, "use.ts"),
    'import { Client, type Entry, type Receipt, type Store, UnavailableError, parseStudy } from "hybriddp";\n' +
      'import { type Item, frequency, parseFrequencyStudy } from "hybriddp/frequency";\n' +
      'import { promiseOf } from "hybriddp/words";\n' +
      'import { type Report, parseDistributionStudy } from "hybriddp/distribution";\n' +
      'import { type Answer, KMeansClient, type Round, parseKMeansStudy } from "hybriddp/kmeans";\n' +
      'export const points = async (token: string): Promise<Receipt> => new KMeansClient("https://curator.example.org", { token, store }).enroll([17.5, 30]);\n' +
      'import { type HeavyHitterStudy, heavyHitters, parseHeavyHitterStudy } from "hybriddp/heavy";\n' +
      "export const items = async (text: string): Promise<HeavyHitterStudy> => parseHeavyHitterStudy(text, 1);\n" +
      "export const asked = async (study: string, text: string): Promise<Round> => (await parseKMeansStudy(study, 1)).parseRound(text);\n" +
      "export const point = (round: Round): Answer => round.answer([17.5, 30]);\n" +
      "export const mean = async (text: string): Promise<number> => (await parseStudy(text, 1)).report(37.5).code;\n" +
      "export const share = async (text: string, item: Item): Promise<number> => (await parseFrequencyStudy(text, 1)).report(item).code;\n" +
      "export const value = async (text: string): Promise<Report> => (await parseDistributionStudy(text, 1)).report(480);\n" +
      "export const store: Store = new Map<string, Entry>();\n" +
      'export const client = new Client("https://curator.example.org", { study: "minutes", store, kinds: [frequency, heavyHitters] });\n' +
      "export const sent = async (): Promise<Receipt> => client.report(37.5);\n" +
      "export const words = async (): Promise<string> => promiseOf(await client.study());\n" +
      "export const why = (error: unknown): string => (error instanceof UnavailableError ? error.reason : '');\n" +
      "// @ts-expect-error: an option that does not exist\n" +
      'export const none = new Client("https://curator.example.org", { journal: "x" });\n' +
      "// @ts-expect-error: a value is no text\n" +
      'export const no = async (text: string) => (await parseDistributionStudy(text, 1)).report("480");\n' +
      "// @ts-expect-error: an item is no list\n" +
      'export const wrong = async (text: string) => (await parseFrequencyStudy(text, 1)).report(["yes"]);\n',
  );
  const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "nodenext", "--types", "", "use.ts"];
  const tsc = join(source, "node_modules", "typescript", "bin", "tsc");
  assert.equal(execFileSync(process.execPath, [tsc, ...options], { cwd: project, encoding: "utf8" }), "");
}
