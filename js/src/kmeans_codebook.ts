/**
 * Codebooks: sixteen public directions at a time, rows of a Hadamard matrix with public signs. Sums are added up in the same
 * order as in Python, so that they are the same to the last bit. See the Python package's kmeans/reports/codebook.py.
 */

import { type Draws } from "./kmeans_draws.js";
import { type Fields, requireThat, tableOf } from "./kmeans_text.js";
import { isInteger } from "./window.js";

/** The power of two from a number on. */
export function orderOf(d: number): number {
  let order = 1;
  while (order < d) order *= 2;
  return order;
}

/** How many directions a codebook holds. */
export function codebookSize(d: number): number {
  return d > 4 ? 16 : 2 ** (d - 1);
}

/** How many bases make so many codebooks: no question has more. */
export function mostBases(d: number, codebooks: number): number {
  return (codebooks * codebookSize(d)) / orderOf(d);
}

/** Whether an odd number of bits is 1: 1 or 0. */
function parity(bits: number): number {
  bits ^= bits >> 8;
  bits ^= bits >> 4;
  return (0x6996 >> (bits & 15)) & 1;
}

/** An entry of a Hadamard matrix, 1 or -1. */
export function hadamardSign(row: number, column: number): number {
  return 1 - 2 * parity(row & column);
}

/** The directions of a text, by the public signs of each basis. */
export class Directions {
  readonly order: number;
  readonly size: number;
  readonly codebooks: number;

  constructor(
    readonly signFlips: readonly (readonly number[])[],
    d: number,
  ) {
    this.order = orderOf(d);
    this.size = codebookSize(d);
    this.codebooks = (signFlips.length * this.order) / this.size;
  }

  static parse(fields: Fields, name: string, d: number, most: number): Directions {
    const found = new Directions(tableOf(fields[name], d, mostBases(d, most), name), d);
    const signs = found.signFlips.every((row) => row.every((sign) => sign * sign === 1));
    requireThat(signs && Number.isInteger(found.codebooks), "its directions are malformed");
    return found;
  }

  /** Which rows of each of its bases a codebook holds. */
  rows(codebook: number): number[] {
    const first = (codebook * this.size) % this.order;
    return Array.from({ length: Math.min(this.order, this.size) }, (_, i) => first + i);
  }

  /** The products of a vector with these rows of a codebook's bases. */
  products(vector: readonly number[], codebook: number, rows: readonly number[]): number[] {
    const first = Math.floor((codebook * this.size) / this.order);
    return Array.from({ length: Math.max(this.size / this.order, 1) }, (_, basis) => {
      const signs = this.signFlips[first + basis]!;
      const all = this.#transform(vector.map((x, j) => x * signs[j]!));
      return rows.map((row) => all[row]!);
    }).flat();
  }

  /** The fast Walsh-Hadamard transform: sums and differences of numbers that are 1, 2, 4, … apart, in this order. */
  #transform(vector: readonly number[]): number[] {
    const sums = Array.from({ length: this.order }, (_, i) => vector[i] ?? 0);
    for (let step = 1; step < this.order; step *= 2) {
      for (let i = 0; i < this.order; i++) {
        if (i & step) continue; // the same for every vector
        const [left, right] = [sums[i]!, sums[i + step]!];
        sums[i] = left + right;
        sums[i + step] = left - right;
      }
    }
    return sums;
  }
}

/** The products of a vector with pairs of directions: those of the left, and those of the right with their rows moved. */
export function pairProducts(left: Directions, right: Directions, vector: readonly number[], variant: number): number[] {
  const xor = Math.floor(variant / left.codebooks);
  const codebook = variant % left.codebooks;
  const rows = left.rows(codebook);
  const others = right.products(vector, codebook, rows.map((row) => pairedRow(row, left.order) ^ xor));
  return left.products(vector, codebook, rows).map((product, i) => product * others[i]!);
}

/** Twice a row, as polynomials over the field of two elements modulo x^k + x + 1. */
function pairedRow(row: number, order: number): number {
  if (order < 4) return row;
  return 2 * row >= order ? (2 * row) ^ order ^ 3 : 2 * row;
}

/** The length of a vector in radii, clipped to 1; squares are added up from the first to the last. */
export function relativeLength(vector: readonly number[], radius: number): number {
  return Math.min(Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0)) / radius, 1);
}

/**
 * The `chosen` largest of the products and their opposites, as the bits of an integer: exactly so many. Of equal ones a random
 * one is taken. A random sign with the mean `length`, times the public one, turns the set into that of the opposites.
 */
export function nearestSet(products: readonly number[], length: number, publicSign: number, chosen: number, draws: Draws): number {
  const sign = publicSign * (2 * Number(2 * draws.double() - 1 < length) - 1);
  const largest = products.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const scale = 1e-6 * (largest + Number(largest === 0));
  const moved = products.map((x) => x + scale * (draws.single() - 0.5));
  const both = [...moved, ...moved.map((x) => -x)];
  const turned = ((1 - sign) / 2) * products.length;
  let set = 0;
  // All pairs are compared, in whatever order they are: an entry is chosen if fewer than so many come before it.
  for (let i = 0; i < both.length; i++) {
    let before = 0;
    for (let j = 0; j < both.length; j++) before += Number(j < i ? both[j]! >= both[i]! : both[j]! > both[i]!);
    set |= Number(before < chosen) << (i + turned) % both.length;
  }
  return set >>> 0;
}

/** How many entries of a codebook a text chooses. */
export function chosenOf(fields: Fields, d: number): number {
  const { chosen } = fields;
  requireThat(isInteger(chosen, 1, codebookSize(d)), `it chooses other than 1 to ${codebookSize(d)} directions`);
  return chosen;
}
