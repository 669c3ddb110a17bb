/**
 * Devices that take part with the JavaScript package, as a test tells them to: a list of people on a line of standard
 * input, what became of them on a line of standard output, until the input ends. What a device keeps goes in and out with it, so that it
 * can be started again.
 */

import { createInterface } from "node:readline";

const [dist, url] = process.argv.slice(2);
const { Client } = await import(`${dist}/hybriddp.js`);
const { frequency } = await import(`${dist}/frequency.js`);
const { distribution } = await import(`${dist}/distribution.js`);
const { heavyHitters } = await import(`${dist}/heavy.js`);
const { KMeansClient } = await import(`${dist}/kmeans.js`);
const { promiseOf, receiptWords } = await import(`${dist}/words.js`);

/** A store of one entry. */
class Pocket {
  constructor(entry) {
    this.entry = entry;
  }
  get() {
    return this.entry;
  }
  set(_, entry) {
    this.entry = entry;
  }
  delete() {
    this.entry = undefined;
  }
}

async function device({ token, study, kept, points, acts }) {
  const options = { ...(token ? { token } : { study }), store: new Pocket(kept) };
  const client = points ? new KMeansClient(url, options) : new Client(url, { ...options, kinds: [frequency, distribution, heavyHitters] });
  const seen = [];
  for (const [act, value] of acts) {
    try {
      if (act === "promise") seen.push(promiseOf(await client.study()));
      else {
        const receipt = await client[act](value);
        seen.push(receipt ? { ...receipt, words: receiptWords(receipt) } : null);
      }
    } catch (error) {
      seen.push({ error: error.name, reason: error.reason, message: error.message });
    }
  }
  return { seen, kept: await client.kept() };
}

for await (const line of createInterface({ input: process.stdin })) {
  const results = [];
  const waiting = JSON.parse(line).map((person, i) => [i, person]);
  const next = async () => {
    for (let one = waiting.shift(); one; one = waiting.shift()) results[one[0]] = await device(one[1]);
  };
  await Promise.all(Array.from({ length: 8 }, next));
  console.log(JSON.stringify(results));
}
