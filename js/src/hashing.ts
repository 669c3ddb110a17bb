/**
 * Local hashing: a category out of any number of them as one small integer. Its public hash functions need arithmetic
 * modulo 2^32 only. See the Python package's channels/hashing.py and channels/hash_family.py.
 */

import { Channel, type Fields } from "./channel.js";
import { ChannelError, ensure } from "./errors.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Window, bytesOfADraw, codeOf, drawAt, isInteger, verifyWindow } from "./window.js";

/** The bijection of 32 bits. */
export function mix(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Word i of the stream of a seed. */
export function wordOf(seed: number, i: number): number {
  return mix(seed + Math.imul(i + 1, 0x9e3779b9));
}

/** A report of a key below 2^53: one of the public functions, and the key's value under it by randomized response. */
export class LocalHashing extends Channel {
  readonly epsilon: string;
  readonly bytesPerReport: number;
  readonly text: string;
  /** How many different codes there are. */
  readonly codes: number;
  readonly #functions: number;
  readonly #seed: number;
  readonly #window: Window;

  constructor(fields: Fields) {
    super();
    const { epsilon, functions, values, seed, bits, low, extra } = fields;
    this.#window = { codes: values, window: 1, bits, low, extra };
    verifyWindow(epsilon, this.#window);
    const power = isInteger(functions, 2, 65536) && (functions & (functions - 1)) === 0;
    ensure(power, "its number of functions is not a power of two from 2 to 65536");
    ensure(values <= 1024, "its number of values is not an integer from 2 to 1024");
    ensure(isInteger(seed, 0, 2 ** 32 - 1), "its seed is not an integer below 2^32");
    this.epsilon = epsilon;
    this.codes = functions * values;
    this.#functions = functions;
    this.#seed = seed;
    this.bytesPerReport = 2 * bytesOfADraw(this.#window);
    this.text = JSON.stringify({ type: "hashing", version: 2, epsilon, functions, values, seed, bits, low, extra });
  }

  /** One report of a key, as a code. */
  report(key: number, bytes: Bytes = systemBytes): number {
    if (!isInteger(key, 0, Number.MAX_SAFE_INTEGER)) throw new ChannelError("key must be an integer from 0 and below 2^53.");
    const random = this.random(bytes);
    const drawn = random.getUint32(this.bytesPerReport / 2, true) & (this.#functions - 1);
    return drawn * this.#window.codes + codeOf(this.#window, hashOf(this.#seed, this.#window.codes, key, drawn), drawAt(this.#window, random, 0));
  }
}

/** The value of a key under function f. Two functions share a hash: one has its low half, the other its high one. */
export function hashOf(seed: number, values: number, key: number, f: number): number {
  const first = f & ~1;
  const inner = mix(key ^ wordOf(seed, first)) ^ Math.floor(key / 2 ** 32);
  const hash = mix(inner + wordOf(seed, first + 1));
  return (((hash >>> (16 * (f & 1))) & 0xffff) * values) >>> 16;
}
