/** From a number to a row of a window channel, in whole numbers. See the Python package's grid.py and channels/window_channel.py. */

import { type TrustedValue } from "./client/offer.js";
import { ChannelError, ensure } from "./errors.js";
import { type Window, isInteger } from "./window.js";

export const UNITS = 2 ** 24;
const CELLS = 4096;
const SHARE_BITS = 20n;
const VALUE_BITS = 24n;
const CODES = 256; // they fill a byte

/** The whole units, 0 to 2^24, of a value between the bounds; a value outside is moved to the nearer bound. */
export function toUnits(value: number, bounds: readonly [number, number]): number {
  const [lower, upper] = Array.isArray(bounds) ? (bounds as unknown as [number, number]) : ([] as unknown as [number, number]);
  const width = [lower, upper].every(Number.isFinite) ? upper - lower : 0;
  if (!(width > 1e-140 && width < 1e140)) {
    throw new ChannelError("bounds must be two finite numbers, the lower one first.");
  }
  if (!Number.isFinite(value)) {
    throw new ChannelError("value must be a finite number."); // which does not show it
  }
  return Math.floor((Math.min(Math.max(value, lower), upper) - lower) * (UNITS / width) + 0.5);
}

/** A value as somebody trusts the curator with it: its units, and the number in their middle, which has the same units. */
export function trustedNumber(value: number, bounds: readonly [number, number]): TrustedValue {
  const integer = toUnits(value, bounds);
  const [lower, upper] = bounds;
  const middle = integer === UNITS ? upper : lower + integer * ((upper - lower) / UNITS);
  const same = toUnits(middle, bounds) === integer; // not where floats are as far apart as units
  return { integer, value: same ? middle : Math.min(Math.max(value, lower), upper) };
}

/** Whether a value is a pair of numbers; throws if it is one, but not of bounds. */
export function areBounds(value: unknown): value is readonly [number, number] {
  const pair = Array.isArray(value) && value.length === 2 && value.every((x) => typeof x === "number");
  if (pair) toUnits(0, value as unknown as [number, number]);
  return pair;
}

/**
 * For each edge of the 4,096 cells, the row below it (upper 12 bits) and the share of draws that go one higher. Throws unless the
 * rows' means, as numerators over 2^(bits + 24), increase and cover the range.
 */
export function rowTable(w: Window, half: unknown): Uint32Array {
  ensure(w.codes === CODES, `its number of codes is not ${CODES}`);
  const right = Array.isArray(half) && half.length === CODES / 2 && half.every((v) => isInteger(v, 0, 2 ** 40));
  ensure(right, "its values are not integers up to 2^40, one for each upper code");
  const values = [...(half as number[]).map((v) => -v).reverse(), ...(half as number[])];
  let sum = 0;
  const means: bigint[] = [];
  values.forEach((value, code) => {
    sum += value - (values[code - w.window] ?? 0);
    if (code >= w.window - 1) means.push(BigInt(sum) * BigInt(w.extra));
  });
  const one = 1n << (BigInt(w.bits) + VALUE_BITS);
  ensure(means.every((mean, j) => j === 0 || means[j - 1]! < mean), "its rows' means do not increase");
  ensure(means[0]! <= -one && means[means.length - 1]! >= one, "its rows do not cover the range");
  const table = new Uint32Array(CELLS + 1);
  let row = 0;
  for (let edge = 0; edge <= CELLS; edge++) {
    const position = (BigInt(2 * edge - CELLS) * one) / BigInt(CELLS); // exact
    while (row < means.length - 2 && means[row + 1]! <= position) row++;
    const gap = means[row + 1]! - means[row]!;
    const share = (((position - means[row]!) << (SHARE_BITS + 1n)) + gap) / (2n * gap);
    table[edge] = Number((BigInt(row) << SHARE_BITS) + share);
  }
  return table;
}

/** The row of an input: to a cell's edge by the upper 12 random bits, to a row by the lower 20. */
export function rowOf(table: Uint32Array, units: number, random: number): number {
  const entry = table[(units + (random >>> 20)) >>> 12]!;
  return (entry >>> 20) + Number((random & 0xfffff) < (entry & 0xfffff));
}
