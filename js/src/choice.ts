/**
 * Subset selection: one of n codes is reported, most likely one of the k that are true; and which codes are true for which
 * category. See the Python package's channels/response.py and shares/designs.py.
 */

import { Channel, type Fields } from "./channel.js";
import { ChannelError, ensure } from "./errors.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Window, bytesOfADraw, codeOf, drawAt, isInteger, verifyWindow } from "./window.js";

/** A report of one of n codes of which k are true: these with weight a + b, every other one with weight a. */
export class ChoiceResponse extends Channel {
  readonly epsilon: string;
  readonly bytesPerReport: number;
  readonly text: string;
  readonly codes: number;
  readonly chosen: number;
  readonly #window: Window;

  constructor(fields: Fields) {
    super();
    const { epsilon, codes, chosen, bits, low, extra } = fields;
    this.#window = { codes, window: chosen, bits, low, extra };
    verifyWindow(epsilon, this.#window);
    ensure(codes <= 32 && (codes & (codes - 1)) === 0, "its number of codes is not a power of two up to 32");
    this.epsilon = epsilon;
    this.codes = codes;
    this.chosen = chosen;
    this.bytesPerReport = bytesOfADraw(this.#window);
    this.text = JSON.stringify({ type: "choice", version: 2, epsilon, codes, chosen, bits, low, extra });
  }

  /** One report of a set of codes, given as the bits of an integer, as a code. */
  report(set: number, bytes: Bytes = systemBytes): number {
    let ones = 0;
    for (let code = 0; code < this.codes; code++) ones += (set >>> code) & 1;
    if (!isInteger(set, 0, 2 ** this.codes - 1) || ones !== this.chosen) {
      throw new ChannelError(`set must be an integer with ${this.chosen} of ${this.codes} bits that are 1.`);
    }
    const drawn = codeOf(this.#window, 0, drawAt(this.#window, this.random(bytes), 0));
    let found = 0;
    let before = 0; // true codes below this one
    // One code's place is the one drawn: a true code is at place `before`. All are looked at, whichever it is.
    for (let code = 0; code < this.codes; code++) {
      const mine = (set >>> code) & 1;
      const place = mine * before + (1 - mine) * (this.chosen + code - before);
      found += Number(place === drawn) * code;
      before += mine;
    }
    return found;
  }
}

/** For how many categories there is a set of so many codes, any two of which share equally many; 0 for other numbers. */
export function setsOf(codes: number, chosen: number): number {
  if (codes === 16 && chosen === 6) return 16;
  return 2 * chosen === codes ? codes - 1 : 0;
}

/** The set of a category: the rest of its row and column in a square of four by four, or a row of Sylvester's matrix. */
export function setOf(codes: number, chosen: number, category: number): number {
  let set = 0;
  for (let code = 0; code < codes; code++) {
    const [apart, common] = [category ^ code, (category + 1) & code];
    const crossing = Number(apart >> 2 === 0) ^ Number((apart & 3) === 0);
    const odd = (0x6996 >> ((common ^ (common >> 4)) & 15)) & 1; // bit x of 0x6996: whether x has an odd number of ones
    set += (chosen === 6 ? crossing : odd) * 2 ** code;
  }
  return set;
}
