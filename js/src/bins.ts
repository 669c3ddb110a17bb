/**
 * The 256 ordered bins of a distribution. What decides is whole numbers: cut i is the first unit above edge i, and the bin of a
 * value is how many cuts are not above its units. See the Python package's distribution/bins.py.
 */

import { ensure } from "./errors.js";
import { UNITS, toUnits } from "./numeric.js";
import { pythonFloat } from "./text.js";

const EDGES = 255;
const INNER = 254; // bins between the bounds
const BITS = 256n; // after the point, of the arithmetic that log edges are computed in
const ONE = 1n << BITS;

/** What a study's text says of its bins: the scale, and the cuts that follow from it. */
export interface Bins {
  readonly scale: string;
  readonly cuts: readonly number[];
}

/** The bins of a scale as a study's text has it; throws if it is none. */
export function binsOf(scale: unknown, bounds: readonly [number, number]): Bins {
  const { log, edges } = Object(scale) as Record<string, unknown>;
  if (scale === "equal") return { scale: '"equal"', cuts: equalCuts() };
  if (isDensity(log)) return { scale: `{"log":${pythonFloat(log)}}`, cuts: cutsAt(logEdges(log, bounds), bounds) };
  ensure(areEdges(edges, bounds), "its scale is not equal, log or 255 edges from bound to bound", "study");
  return { scale: `{"edges":[${edges.map(pythonFloat)}]}`, cuts: cutsAt(edges, bounds) };
}

/** The bin of a number of units. All cuts are looked at, whichever it is. */
export function binOf(cuts: readonly number[], units: number): number {
  return cuts.reduce((bin, cut) => bin + Number(cut <= units), 0);
}

/** Exact: a quotient that is no whole number is not near one. */
function equalCuts(): number[] {
  return Array.from({ length: EDGES }, (_, i) => 1 + Math.ceil((i * (UNITS - 1)) / INNER));
}

function cutsAt(edges: readonly number[], bounds: readonly [number, number]): number[] {
  const inner = edges.slice(1, -1).map((edge) => toUnits(edge, bounds) + 1);
  const cuts = [1, ...inner, UNITS];
  const increase = cuts.every((cut, i) => i === 0 || cuts[i - 1]! < cut); // so edges do
  ensure(increase, "its edges do not increase by a unit, 2^-24 of the range, or more", "study");
  return cuts;
}

function areEdges(edges: unknown, bounds: readonly [number, number]): edges is number[] {
  if (!Array.isArray(edges) || edges.length !== EDGES || !edges.every(Number.isFinite)) return false;
  return edges[0] === bounds[0] && edges[INNER] === bounds[1];
}

/** Whether a value is a κ; from 2^24 on the first edges would be less than a unit apart. */
function isDensity(kappa: unknown): kappa is number {
  return typeof kappa === "number" && kappa >= 1e-6 && kappa < UNITS;
}

/**
 * The edges lower + width ((1 + κ)^(i/254) − 1)/κ. Powers are computed in integers, since what Math gives differs between
 * machines in its last bits; only the nearest number is taken, as in Python.
 */
function logEdges(kappa: number, [lower, upper]: readonly [number, number]): number[] {
  const density = BigInt(kappa * 2 ** 128) << (BITS - 128n); // exact
  let root = BigInt(Math.round((1 + kappa) ** (1 / INNER) * 2 ** 48)) << (BITS - 48n);
  // Newton's method: each step doubles the number of right bits.
  for (let step = 0; step < 3; step++) {
    const power = powers(root)[INNER]!;
    root -= ((power - ONE - density) * root) / (BigInt(INNER) * power);
  }
  const inner = powers(root).slice(1, -1).map((power) => Number(((power - ONE) << BITS) / density) / 2 ** Number(BITS));
  return [lower, ...inner.map((position) => lower + (upper - lower) * position), upper];
}

/** A number to the power of 0, …, 254. */
function powers(base: bigint): bigint[] {
  const found = [ONE];
  while (found.length <= INNER) found.push((found[found.length - 1]! * base) >> BITS);
  return found;
}
