/** What the pages about this package show: the examples run as they stand, and the sizes are true. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { distribution, frequency, kmeans, vectors } from "./vectors.js";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const readme = read("../README.md");
const bundles = { hybriddp: "../dist/hybriddp.js", "hybriddp/frequency": "../dist/frequency.js", "hybriddp/distribution": "../dist/distribution.js", "hybriddp/kmeans": "../dist/kmeans.js" };
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

for (const [page, source] of [["README.md", readme], ["docs/reports.md", read("../../docs/reports.md")]]) {
  const examples = [...source.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1]);

  test(`${page} has an example of every parser`, () => {
    for (const parser of Object.keys(texts)) assert.equal(examples.filter((example) => example.includes(`${parser}(`)).length, 1);
  });

  examples.forEach((example, i) => {
    test(`example ${i + 1} of ${page} runs`, async () => {
      const parser = Object.keys(texts).find((name) => example.includes(`${name}(`));
      const code = example.replace(/from "(.*?)"/, (_, name) => `from "${new URL(bundles[name], import.meta.url)}"`);
      const named = Object.entries({ text: texts[parser], ...others }).map(([name, text]) => `const ${name} = ${JSON.stringify(text)};\n`);
      const module = `${named.join("")}${code}\nexport { ${parser === "parseChannel" ? "code" : "report"} as sent };`;
      const { sent } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
      assert.ok(Number.isSafeInteger(sent.code ?? sent));
    });
  });
}

test("the bundles are as small as README.md says", () => {
  const said = [...readme.matchAll(/([\d.]+) kB gzipped/g)].map((match) => Number(match[1]));
  const sizes = Object.values(bundles).map((path) => gzipSync(read(path), { level: 9 }).length / 1000);
  assert.equal(said.length, sizes.length);
  sizes.forEach((size, i) => assert.ok(Math.abs(size - said[i]) < 0.1, `${size} kB, not ${said[i]}`));
});
