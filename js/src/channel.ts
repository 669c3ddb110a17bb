/** Channels as a device needs them: parse, verify, report. A channel that has not been verified cannot exist. */

import { ChannelError, ensure } from "./errors.js";
import { lookup, rowOf, toUnits, verifyRows } from "./numeric.js";
import { canonicalEpsilon, isCanonicalEpsilon, withinOdds } from "./odds.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Window, bytesOfADraw, codeOf, drawAt, isInteger, verifyWindow } from "./window.js";

type Fields = Record<string, any>;

const LONGEST = 2 ** 24;

/** What all channels have in common. */
abstract class Channel {
  abstract readonly epsilon: string;
  /** How many random bytes one report uses up. */
  abstract readonly bytesPerReport: number;
  /** The text of the channel; there is only one. */
  abstract readonly text: string;

  protected random(bytes: Bytes): DataView<ArrayBuffer> {
    const view = new DataView(new ArrayBuffer(this.bytesPerReport));
    bytes(view);
    return view;
  }
}

/** The best one-byte report of a number. */
export class WindowChannel extends Channel {
  readonly epsilon: string;
  readonly bytesPerReport: number;
  readonly text: string;
  readonly #window: Window;
  readonly #table: Uint32Array;

  constructor(fields: Fields) {
    super();
    const { epsilon, codes, window, bits, low, extra, half } = fields;
    this.#window = { codes, window, bits, low, extra };
    verifyWindow(epsilon, this.#window);
    this.#table = lookup(this.#window, verifyRows(this.#window, half));
    this.epsilon = epsilon;
    this.bytesPerReport = 2 * bytesOfADraw(this.#window);
    this.text = JSON.stringify({ type: "window", version: 2, epsilon, ...this.#window, half });
  }

  /** One report of a value between the bounds, as a code. Send it once; never draw again for the same value. */
  report(value: number, bounds: readonly [number, number], bytes: Bytes = systemBytes): number {
    const units = toUnits(value, bounds);
    const random = this.random(bytes);
    const row = rowOf(this.#table, units, random.getUint32(this.bytesPerReport / 2, true));
    return codeOf(this.#window, row, drawAt(this.#window, random, 0));
  }
}

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

export type AnyChannel = WindowChannel | RandomizedResponse | UnaryEncoding;

/**
 * The channel that a text describes, verified. `epsilon` is what the user was shown: a channel for another one is refused,
 * and so is every text but the channel's own, byte for byte.
 */
export function parseChannel(text: string, epsilon: number | string): AnyChannel {
  const promised = canonicalEpsilon(epsilon);
  ensure(typeof text === "string" && text.length <= LONGEST, "its text is not a string of at most 16777216 characters");
  const fields = parse(text);
  const channel = build(fields);
  ensure(channel.text === text, "its text is not in the form that channels are written in");
  ensure(channel.epsilon === promised, `it is for epsilon ${channel.epsilon}, but ${promised} was promised`);
  return channel;
}

function build(fields: Fields): AnyChannel {
  if (fields.type === "window") return new WindowChannel(fields);
  if (fields.type === "response") return new RandomizedResponse(fields);
  ensure(fields.type === "unary", "its text does not describe a channel");
  return new UnaryEncoding(fields);
}

function parse(text: string): Fields {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw new ChannelError("The channel is refused: its text does not describe a channel.");
  }
}

function checkCategory(category: number, categories: number): void {
  if (!isInteger(category, 0, categories - 1)) {
    throw new ChannelError(`category must be an integer from 0 to ${categories - 1}, got category=${String(category)}.`);
  }
}
