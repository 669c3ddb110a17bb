/** From a number to a row of a window channel, in whole numbers. See the Python package's grid.py and numeric.py. */

import { ChannelError, ensure } from "./errors.js";
import { type Window, isInteger } from "./window.js";

export const UNITS = 2 ** 24;
const CELLS = 4096;
const SHARE_BITS = 20n;
const VALUE_BITS = 24n;
const MOST_CODES = 4096; // sums of values stay exact

/** The whole units, 0 to 2^24, of a value between the bounds; a value outside is moved to the nearer bound. */
export function toUnits(value: number, bounds: readonly [number, number]): number {
  const [lower, upper]: readonly [number, number] = Array.isArray(bounds) ? (bounds as unknown as [number, number]) : [NaN, NaN];
  const width = typeof lower === "number" && typeof upper === "number" ? upper - lower : NaN;
  if (!(width > 1e-140 && width < 1e140)) {
    const got = String(bounds);
    throw new ChannelError(`bounds must be a pair (lower, upper) of finite numbers with lower below upper, got bounds=${got}.`);
  }
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new ChannelError(`value must be a finite number, got value=${String(value)}.`);
  }
  return Math.floor((Math.min(Math.max(value, lower), upper) - lower) * (UNITS / width) + 0.5);
}

/** Whether a value is a pair of numbers; throws if it is one, but not of bounds. */
export function areBounds(value: unknown): value is readonly [number, number] {
  const pair = Array.isArray(value) && value.length === 2 && value.every((x) => typeof x === "number");
  if (pair) toUnits(0, value as unknown as [number, number]);
  return pair;
}

/** The rows' means, as numerators over 2^(bits + 24); throws unless they increase and cover the range. */
export function verifyRows(w: Window, half: unknown): bigint[] {
  const n = w.codes;
  ensure(n % 2 === 0 && n <= MOST_CODES, "its number of codes is not an even number of at most 4096");
  ensure(Array.isArray(half) && half.length === n / 2, "it has not one value for each upper code");
  ensure(half.every((v) => isInteger(v, 0, 2 ** 40)), "its values are not integers from 0 to 2^40");
  const values = [...half.map((v) => -v).reverse(), ...half] as number[];
  let sum = 0;
  for (let code = 0; code < w.window; code++) sum += values[code]!;
  const sums = [sum];
  for (let row = 1; row <= n - w.window; row++) {
    sum += values[row + w.window - 1]! - values[row - 1]!;
    sums.push(sum);
  }
  const means = sums.map((s) => BigInt(s) * BigInt(w.extra));
  const one = 1n << (BigInt(w.bits) + VALUE_BITS);
  ensure(means.every((mean, j) => j === 0 || means[j - 1]! < mean), "its rows' means do not increase");
  ensure(means[0]! <= -one && means[means.length - 1]! >= one, "its rows do not cover the range");
  return means;
}

/** For each edge of the 4,096 cells, the row below it (upper 12 bits) and the share of draws that go one higher. */
export function lookup(w: Window, means: readonly bigint[]): Uint32Array {
  const one = 1n << (BigInt(w.bits) + VALUE_BITS);
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
