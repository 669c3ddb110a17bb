/**
 * Masked response: one of 256 ordered bins as a few parities of its bits, through randomized response. Which parities, the
 * pattern, is drawn without looking at the bin, and public. See the Python package's channels/masked.py.
 */

import { Channel, type Fields, channelOf } from "./channel.js";
import { ChannelError, ensure } from "./errors.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Window, bytesOfADraw, codeOf, drawAt, isInteger, verifyWindow } from "./window.js";

const BIN_BITS = 8;
const PRIMITIVE = [0, 3, 7, 11, 19, 37, 67, 131, 285]; // a primitive polynomial over GF(2) of each degree, as bits

/** A report of a bin from 0 to 255: a public pattern, and one code of randomized response. */
export class MaskedResponse extends Channel {
  readonly epsilon: string;
  readonly bytesPerReport: number;
  readonly text: string;
  readonly #window: Window;
  readonly #labelBits: number;

  constructor(fields: Fields) {
    super();
    const { type, epsilon, labels, bits, low, extra } = fields;
    ensure(type === "masked", "its text does not describe a channel that a distribution is asked with");
    this.#window = { codes: labels, window: 1, bits, low, extra };
    verifyWindow(epsilon, this.#window);
    ensure(labels <= 256 && (labels & (labels - 1)) === 0, "its number of labels is not a power of two from 2 to 256");
    this.#labelBits = Math.log2(labels);
    this.epsilon = epsilon;
    this.bytesPerReport = 2 * bytesOfADraw(this.#window);
    this.text = JSON.stringify({ type, version: 2, epsilon, labels, bits, low, extra });
  }

  /** One report of a bin, as one integer: the number of the pattern, then the code. */
  report(bin: number, bytes: Bytes = systemBytes): number {
    if (!isInteger(bin, 0, 255)) throw new ChannelError("bin must be an integer from 0 to 255.");
    const random = this.random(bytes);
    const number = this.#pattern(random.getUint32(this.bytesPerReport / 2, true));
    const label = labelOf(this.#labelBits, number, bin);
    return number * this.#window.codes + codeOf(this.#window, label, drawAt(this.#window, random, 0));
  }

  /** The number of the pattern that 32 random bits choose: its level by one product, its place there by the next. */
  #pattern(word: number): number {
    const r = this.#labelBits;
    const product = word * (BIN_BITS + 1 - r); // all numbers here stay below 2^53
    const level = r + Math.floor(product / 2 ** 32);
    let number = Math.floor(((product % 2 ** 32) * patternsOf(level, r)) / 2 ** 32);
    for (let coarser = r; coarser < level; coarser++) number += patternsOf(coarser, r);
    return number;
  }
}

/** The label of a bin under a pattern: the parities of its bits under some masks. */
export function labelOf(labelBits: number, number: number, bin: number): number {
  let [level, place] = [labelBits, number];
  while (place >= patternsOf(level, labelBits)) place -= patternsOf(level++, labelBits);
  let label = 0;
  // A linear feedback shift register: the masks are its states from `place` on.
  for (let i = 0, state = 1; i < place + labelBits; i++) {
    if (i >= place) label |= parity((state << (BIN_BITS - level)) & bin) << (i - place);
    state <<= 1;
    state ^= (state >> level) * PRIMITIVE[level]!;
  }
  return label;
}

/** The channel that a text describes, verified for the `epsilon` that the user was shown. */
export function parseChannel(text: string, epsilon: number | string): MaskedResponse {
  return channelOf(text, epsilon, (fields) => new MaskedResponse(fields));
}

/** How many patterns look at so many of a bin's top bits. */
function patternsOf(level: number, labelBits: number): number {
  return level === labelBits ? 1 : 2 ** level - 1;
}

/** Whether a byte has an odd number of ones: bit x of 0x6996 says it of four bits. */
function parity(byte: number): number {
  return (0x6996 >> ((byte ^ (byte >> 4)) & 15)) & 1;
}
