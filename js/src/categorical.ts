/** Reports of one of several numbered categories: randomized response for few, unary encoding for many. */

import { Channel, type Fields, checkCategory } from "./channel.js";
import { ensure } from "./errors.js";
import { isCanonicalEpsilon, withinOdds } from "./odds.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Window, bytesOfADraw, codeOf, drawAt, isInteger, verifyWindow } from "./window.js";

/** Randomized response over numbered categories. */
export class RandomizedResponse extends Channel {
  readonly epsilon: string;
  readonly bytesPerReport: number;
  readonly text: string;
  readonly categories: number;
  readonly #window: Window;

  constructor(fields: Fields) {
    super();
    const { epsilon, categories, bits, low, extra } = fields;
    this.#window = { codes: categories, window: 1, bits, low, extra };
    verifyWindow(epsilon, this.#window);
    this.epsilon = epsilon;
    this.categories = categories;
    this.bytesPerReport = bytesOfADraw(this.#window);
    this.text = JSON.stringify({ type: "response", version: 2, epsilon, categories, bits, low, extra });
  }

  /** One report of a category, as a code. */
  report(category: number, bytes: Bytes = systemBytes): number {
    checkCategory(category, this.categories);
    return codeOf(this.#window, category, drawAt(this.#window, this.random(bytes), 0));
  }
}

/** Unary encoding: one bit per category, packed into bytes. */
export class UnaryEncoding extends Channel {
  readonly epsilon: string;
  readonly bytesPerReport: number;
  readonly text: string;
  readonly categories: number;
  readonly #one: number;
  readonly #zero: number;

  constructor(fields: Fields) {
    super();
    const { epsilon, categories, one, zero } = fields;
    const total = 2 ** 32;
    ensure(isCanonicalEpsilon(epsilon), "its epsilon is not a decimal from 0.01 to 20 in its shortest form");
    ensure(isInteger(categories, 2, 4096), "its number of categories is not an integer from 2 to 4096");
    ensure(isInteger(one, 1, total - 1), "its weight of a true 1 is not an integer below 2^32");
    ensure(isInteger(zero, 1, one - 1), "its weight of a false 1 is not a smaller positive integer");
    const [likely, unlikely] = [BigInt(one) * BigInt(total - zero), BigInt(zero) * BigInt(total - one)];
    ensure(withinOdds(likely, unlikely, epsilon), `it is not ${epsilon}-private`);
    this.epsilon = epsilon;
    this.categories = categories;
    this.#one = one;
    this.#zero = zero;
    this.bytesPerReport = 4 * categories;
    this.text = JSON.stringify({ type: "unary", version: 2, epsilon, categories, one, zero });
  }

  /** One report of a category: category i is bit i mod 8 of byte i div 8. */
  report(category: number, bytes: Bytes = systemBytes): Uint8Array {
    checkCategory(category, this.categories);
    const random = this.random(bytes);
    const packed = new Uint8Array(Math.ceil(this.categories / 8));
    for (let i = 0; i < this.categories; i++) {
      const mine = Number(i === category);
      const weight = mine * this.#one + (1 - mine) * this.#zero;
      packed[i >> 3]! |= Number(random.getUint32(4 * i, true) < weight) << (i & 7);
    }
    return packed;
  }
}
