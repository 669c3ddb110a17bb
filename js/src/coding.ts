/**
 * Strings as codes of 48 bits, and the public bijection that spreads them evenly. Numbers below 2^53 are exact, so no big
 * integers are needed. See the Python package's items/coding.py.
 */

import { mix, wordOf } from "./hashing.js";
import { isReadable } from "./text.js";

/** The code of all strings that have none of their own, before the bijection. */
const NO_STRING = 2 ** 48 - 1;
const HALF = 2 ** 24;
const KEY_SEED = 0xc0de48;

/** Whether a text is the alphabet of a question: no character for all bytes, or 2 to 1,024 different ones. */
export function isAlphabet(value: unknown): value is string {
  if (value === "") return true;
  if (!isReadable(value) || value === "bytes") return false; // a name, which no text of a question has
  const characters = [...value];
  return characters.length >= 2 && characters.length <= 1024 && new Set(characters).size === characters.length;
}

/** The code of a string, after the bijection: shorter strings first, each length in the order of the alphabet. */
export function codeOfString(alphabet: string, string: string): number {
  const order = [...alphabet];
  const digits = alphabet === "" ? utf8(string).map((byte) => byte - 1) : Array.from(string, (c) => order.indexOf(c));
  const size = order.length || 255;
  let start = 0; // the first code of the strings of this length
  let count = 1; // how many there are
  let code = 0;
  for (const digit of digits) {
    [start, count, code] = [start + count, count * size, code * size + digit];
    if (digit < 0 || start + count > NO_STRING) return scramble(NO_STRING);
  }
  return scramble(start + code);
}

/** Four rounds of a Feistel network on two halves of 24 bits. */
function scramble(code: number): number {
  let [left, right] = [Math.floor(code / HALF), code % HALF];
  for (let round = 0; round < 4; round++) [left, right] = [right, left ^ (mix(right ^ wordOf(KEY_SEED, round)) >>> 8)];
  return left * HALF + right;
}

/** The bytes of a text, as Python has them: half a character, which TextEncoder would replace, has three. */
function utf8(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0)!).flatMap((c) => {
    if (c < 0x80) return [c];
    const rest = [c >> 18, (c >> 12) & 63, (c >> 6) & 63, c & 63];
    const more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    const first = ((0xff00 >> (more + 1)) & 0xff) | rest[3 - more]!;
    return [first, ...rest.slice(4 - more).map((bits) => 0x80 | bits)];
  });
}
