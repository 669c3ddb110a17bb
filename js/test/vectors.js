/** The shared vectors, and the streams that their inputs and random bytes come from. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const read = (name) => JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), "utf8"));

export const vectors = read("channels");
export const frequency = read("frequency");
export const distribution = written(read("distribution"));
export const kmeans = spelled(read("kmeans"));

/** Vectors whose texts have their long lists again. */
function written({ short, ...vectors }) {
  const lists = Object.entries(short);
  const full = (text) => lists.reduce((found, [name, list]) => found.replaceAll(name, list), text);
  return Object.fromEntries(
    Object.entries(vectors).map(([name, cases]) => [name, cases.map((c) => ({ ...c, text: full(c.text) }))]),
  );
}

/** Vectors of K-means whose rounds hold their study again, and whose refused texts are written out. */
function spelled({ bases, rounds, ...vectors }) {
  const full = ({ of, keep: [front, back], text, ...c }) => ({ ...c, text: bases[of].slice(0, front) + text + bases[of].slice(bases[of].length - back) });
  const all = Object.entries(vectors).map(([name, cases]) => [name, name.startsWith("refused") ? cases.map(full) : cases]);
  return { bases, rounds: rounds.map((c) => ({ ...c, text: c.text.replace("<study>", () => c.study) })), ...Object.fromEntries(all) };
}

/** The first bytes of a seed's SHAKE-256 stream. */
export function stream(seed, count) {
  return createHash("shake256", { outputLength: count }).update(seed).digest();
}

/** A source that hands out known bytes, piece by piece. */
export function known(bytes) {
  let next = 0;
  return (view) => {
    new Uint8Array(view.buffer).set(bytes.subarray(next, next + view.byteLength));
    next += view.byteLength;
  };
}

/** The reasons of those cases that must be refused and are not, or with another error than this class. */
export async function notRefused(cases, error, parse) {
  const reasons = [];
  for (const c of cases) {
    try {
      await parse(c);
    } catch (refusal) {
      if (refusal instanceof error) continue;
    }
    reasons.push(c.why);
  }
  return reasons;
}

/** The SHA-256 of codes as bytes, two each, little endian, where one is not enough. */
export function digest(codes, wide) {
  const bytes = wide ? new Uint8Array(Uint16Array.from(codes).buffer) : Uint8Array.from(codes);
  return createHash("sha256").update(bytes).digest("hex");
}

/** The SHA-256 of codes as eight bytes each, little endian. */
export function wideDigest(codes) {
  return createHash("sha256").update(new Uint8Array(BigUint64Array.from(codes, BigInt).buffer)).digest("hex");
}
