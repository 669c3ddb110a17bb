/** The window channel, which reports a number. */

import { Channel, type Fields, channelOf } from "./channel.js";
import { ensure } from "./errors.js";
import { rowOf, rowTable, toUnits } from "./numeric.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Window, bytesOfADraw, codeOf, drawAt, verifyWindow } from "./window.js";

/** The best one-byte report of a number. */
export class WindowChannel extends Channel {
  declare readonly epsilon: string;
  declare readonly bytesPerReport: number;
  declare readonly text: string;
  readonly #window: Window;
  readonly #table: Uint32Array;

  constructor(fields: Fields) {
    super();
    const { epsilon, codes, window, bits, low, extra, half } = fields;
    this.#window = { codes, window, bits, low, extra };
    verifyWindow(epsilon, this.#window);
    this.#table = rowTable(this.#window, half);
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

/**
 * The channel that a text describes, verified. `epsilon` is what the user was shown: a channel for another one is refused,
 * and so is every text but the channel's own, byte for byte.
 */
export function parseChannel(text: string, epsilon: number | string): WindowChannel {
  return channelOf(text, epsilon, build);
}

function build(fields: Fields): WindowChannel {
  ensure(fields.type === "window", "its text does not describe a channel for numbers");
  return new WindowChannel(fields);
}
