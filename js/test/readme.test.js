/** What the pages about this package show: the examples run as they stand, and the sizes are true. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { Curator, token } from "./curator.js";
import { KMeansCurator, somebodyIn } from "./kmeans_curator.js";
import { distribution, frequency, kmeans, vectors } from "./vectors.js";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const readme = read("../README.md");
const bundles = {
  hybriddp: "../dist/hybriddp.js",
  "hybriddp/words": "../dist/words.js",
  "hybriddp/frequency": "../dist/frequency.js",
  "hybriddp/distribution": "../dist/distribution.js",
  "hybriddp/kmeans": "../dist/kmeans.js",
};
const LARGEST = 6; // kB, of what takes part in a study of a mean
const MORE = 8; // kB, of K-means
const texts = {
  parseChannel: vectors.window.find((c) => c.epsilon === "1").text,
  parseStudy: JSON.parse(read("../../vectors/study.json")).text,
  parseFrequencyStudy: frequency.accepted[0].text, // yes or no
  parseDiscoveryQuestion: frequency.discovery[0].text,
  parseDistributionStudy: distribution.accepted[0].text,
  parseKMeansStudy: kmeans.bases[0],
};
const { study: digest } = JSON.parse(kmeans.turns[0].text);
const others = {
  roundText: kmeans.bases[2], // the first round, of all users
  turnsText: JSON.stringify({ type: "kmeans-turns", version: 2, study: digest, fractions: ["1"] }),
};
const located = (code) => code.replace(/from "(.*?)"/g, (_, name) => `from "${new URL(bundles[name.replace("./hybriddp.js", "hybriddp")], import.meta.url)}"`);
const run = (code) => import(`data:text/javascript,${encodeURIComponent(code)}`);

/** Takes the place of the network while a page's code runs. */
async function withCurator(work, curator = new Curator()) {
  const before = globalThis.fetch;
  globalThis.fetch = async (url, options) => (url === "/token" ? new Response(token("alice")) : curator.fetch(url, options));
  try {
    await work(curator);
  } finally {
    globalThis.fetch = before;
  }
}

for (const [page, source] of [["README.md", readme], ["docs/reports.md", read("../../docs/reports.md")]]) {
  const examples = [...source.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1]);

  test(`${page} has an example of every parser`, () => {
    for (const parser of Object.keys(texts)) assert.equal(examples.filter((example) => example.includes(`${parser}(`)).length, 1);
  });

  examples.filter((example) => !/new \w*Client\(/.test(example)).forEach((example, i) => {
    test(`example ${i + 1} of ${page} runs`, async () => {
      const parser = Object.keys(texts).find((name) => example.includes(`${name}(`));
      const named = Object.entries({ text: texts[parser], ...others }).map(([name, text]) => `const ${name} = ${JSON.stringify(text)};\n`);
      const module = `${named.join("")}${located(example)}\nexport { ${parser === "parseChannel" ? "code" : "report"} as sent };`;
      const { sent } = await run(module);
      assert.ok(Number.isSafeInteger(sent.code ?? sent));
    });
  });
}

test("README.md's client takes part", async () => {
  const [, example] = /```js\n([^`]*new Client\(.*?)```/s.exec(readme);
  await withCurator(async (curator) => {
    const { receipt } = await run(`const token = ${JSON.stringify(token("alice"))};\nconst console = { log() {} };\n${located(example)}\nexport { receipt };`);
    assert.equal(receipt.commitment, curator.contributions.get("alice"));
  });
});

test("README.md's client of K-means enrolls, and answers by itself", async () => {
  const [, example] = /```js\n([^`]*new KMeansClient\(.*?)```/s.exec(readme);
  const who = somebodyIn(1);
  const curator = new KMeansCurator();
  const given = `const token = ${JSON.stringify(token(who))};\n${located(example)}`;
  await withCurator(async () => {
    const { client, receipt } = await run(`${given}\nexport { client, receipt };`);
    assert.deepEqual([receipt.commitment, (await client.kept()).point], [curator.contributions.get(who), [0.4, 2.5]]);
    curator.ask();
    assert.equal((await client.resume()).commitment, curator.answers.get(who));
  }, curator);
});

test("the snippet that apps copy has ten lines, reports what is typed, and says what went wrong", async () => {
  const [, script] = /<script type="module">\n(.*?)<\/script>/s.exec(read("../../docs/client.md"));
  assert.ok(script.trimEnd().split("\n").length <= 10);
  let submit;
  const said = [];
  const output = { set value(words) { said.push(words); } };
  const form = { minutes: { valueAsNumber: 37.5 }, said: output, send: { disabled: true }, set onsubmit(listener) { submit = listener; } };
  globalThis.document = { getElementById: () => form };
  try {
    await withCurator(async (curator) => {
      await run(located(script));
      assert.equal(form.send.disabled, false);
      await submit({ preventDefault() {} });
      assert.equal(curator.contributions.size, 1);
      curator.state = "closed";
      curator.contributions.clear();
      await submit({ preventDefault() {} });
    });
  } finally {
    delete globalThis.document;
  }
  assert.match(said[0], /^Thank you/);
  assert.match(said[1], /^The curator says: It is closed/);
});

test("the bundles are as small as README.md says", () => {
  const said = [...readme.matchAll(/([\d.]+) kB gzipped/g)].map((match) => Number(match[1]));
  const sizes = Object.values(bundles).map((path) => gzipSync(read(path), { level: 9 }).length / 1000);
  assert.equal(said.length, sizes.length);
  const bySize = (one, other) => one - other;
  assert.ok(sizes[0] <= LARGEST, `${sizes[0]} kB`);
  assert.ok(sizes.at(-1) <= sizes[0] + MORE, `${sizes.at(-1)} kB`);
  said.sort(bySize); // they stand in another order there
  sizes.sort(bySize).forEach((size, i) => assert.ok(Math.abs(size - said[i]) < 0.1, `${size} kB, not ${said[i]}`));
});
