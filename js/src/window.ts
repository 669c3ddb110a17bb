/**
 * Windows of codes: row j gives weight a + b to the k codes from j on, and a to all others; n a + k b = 2^B.
 * The proof of privacy is one inequality between integers, (a + b)/a <= e^ε. See the Python package's channels/window.py.
 */

import { ensure } from "./errors.js";
import { isCanonicalEpsilon, withinOdds } from "./odds.js";

/** The integers of a window channel. */
export interface Window {
  readonly codes: number;
  readonly window: number;
  readonly bits: number;
  readonly low: number;
  readonly extra: number;
}

const MOST_CODES = 65536;

/** Whether a value is a whole number from `lower` to `upper`, and not a text or boolean that looks like one. */
export function isInteger(value: unknown, lower: number, upper: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= lower && (value as number) <= upper;
}

/** Proves form and privacy in exact integers, or throws. */
export function verifyWindow(epsilon: unknown, w: Window): asserts epsilon is string {
  ensure(isCanonicalEpsilon(epsilon), "its epsilon is not a decimal from 0.01 to 20 in its shortest form");
  ensure(isInteger(w.codes, 2, MOST_CODES), "it has other than 2 to 65536 codes");
  ensure(isInteger(w.window, 1, w.codes - 1), "its window is not an integer below its codes");
  ensure(w.bits === 32 || w.bits === 48, "its bits are not 32 or 48");
  const total = 2 ** w.bits;
  ensure(isInteger(w.low, 1, total) && isInteger(w.extra, 1, total), "its weights are not positive integers");
  const [n, k, a, b] = [w.codes, w.window, w.low, w.extra].map(BigInt) as [bigint, bigint, bigint, bigint];
  ensure(n * a + k * b === BigInt(total), "its weights do not add up to 2^bits");
  ensure(withinOdds(a + b, a, epsilon), `it is not ${epsilon}-private`);
}

/** How many random bytes the choice of a code takes. */
export function bytesOfADraw(w: Window): number {
  return w.bits === 32 ? 4 : 8;
}

/** The draw u in the bytes at `offset`: 32 bits, or the low 48 of 64. */
export function drawAt(w: Window, bytes: DataView, offset: number): number {
  const low = bytes.getUint32(offset, true);
  return w.bits === 32 ? low : low + (bytes.getUint32(offset + 4, true) & 0xffff) * 2 ** 32;
}

/** The code of draw u in a row. Both possibilities are computed, and one is selected by arithmetic. */
export function codeOf(w: Window, row: number, u: number): number {
  const below = w.codes * w.low;
  const inside = Number(u >= below);
  const outsideCode = Math.floor(u / w.low);
  const insideCode = row + Math.floor((u - below) / w.extra);
  return inside * insideCode + (1 - inside) * outsideCode;
}
