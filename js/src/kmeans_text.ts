/** Texts of strangers: what a K-means study or round may hold, and how Python writes it. See kmeans/protocol/round.py. */

import { ChannelError } from "./errors.js";
import { pythonFloat } from "./text.js";

export type Fields = Record<string, unknown>;

/** Of a coordinate, and of a number in a question, that is not 0. */
export const SMALLEST = 1e-100;
const LARGEST = 1e100;

/** Throws a `ChannelError` unless the condition holds. */
export function requireThat(condition: boolean, sentence: string, what = "round"): asserts condition {
  if (!condition) throw new ChannelError(`The ${what} is refused: ${sentence}.`);
}

/** What a JSON object holds; nothing if the text is none. */
export function fieldsOf(text: string): Fields {
  try {
    return Object(typeof text === "string" && JSON.parse(text));
  } catch {
    return {};
  }
}

/** How many characters a text has, as Python counts them. */
export function characters(text: string): number {
  return [...text].length;
}

/** The rows of a table of numbers of a harmless size, all of this length, 1 to `most` of them. */
export function tableOf(value: unknown, width: number, most: number, name: string): number[][] {
  const good = Array.isArray(value) && value.length > 0 && value.length <= most;
  requireThat(good, `its ${name} are not 1 to ${most} rows`);
  return value.map((row) => listOf(row, width, name));
}

/** So many numbers of a harmless size. */
export function listOf(value: unknown, length: number, name: string): number[] {
  const good = Array.isArray(value) && value.length === length && value.every(isHarmless);
  requireThat(good, `its ${name} must be ${length} numbers, up to 1e100, and those that are not 0 at least 1e-100 in size`);
  return value;
}

/** Whether a value is a number by which and with which a device computes without overflow. */
function isHarmless(value: unknown): value is number {
  if (typeof value !== "number") return false;
  const size = Math.abs(value);
  return size === 0 || (size >= SMALLEST && size <= LARGEST);
}

/** A list of numbers as Python writes it. */
export function floats(values: readonly number[]): string {
  return `[${values.map((x) => (Object.is(x, -0) ? "-0.0" : pythonFloat(x)))}]`;
}

/** The rows of a table as Python writes them. */
export function rows(table: readonly (readonly number[])[], row: (values: readonly number[]) => string = floats): string {
  return `[${table.map((values) => row(values))}]`;
}

/** A fraction between 0 and 1 as a text has it, in lowest terms; what it is, is compared and added in integers. */
export class Fraction {
  constructor(
    readonly numerator: bigint,
    readonly denominator: bigint,
  ) {}

  static parse(value: unknown, what?: string): Fraction {
    const parts = typeof value === "string" && /^(\d{1,18})(?:\/(\d{1,18}))?$/.exec(value);
    requireThat(!!parts, "a fraction of users is not a short fraction", what);
    const found = new Fraction(BigInt(parts[1]!), BigInt(parts[2] ?? 1));
    const inside = found.numerator > 0n && found.numerator <= found.denominator;
    requireThat(inside && found.text === value, "a fraction of users is not between 0 and 1 in lowest terms", what);
    return found;
  }

  plus(other: Fraction): Fraction {
    const { numerator: a, denominator: b } = this;
    return new Fraction(a * other.denominator + other.numerator * b, b * other.denominator);
  }

  /** The whole part of `scale` times this one over the other. */
  times(scale: bigint, other = new Fraction(1n, 1n)): bigint {
    return (scale * this.numerator * other.denominator) / (this.denominator * other.numerator);
  }

  get text(): string {
    let [a, b] = [this.numerator, this.denominator];
    while (b) [a, b] = [b, a % b];
    const [over, under] = [this.numerator / (a || 1n), this.denominator / (a || 1n)];
    return under === 1n ? `${over}` : `${over}/${under}`;
  }
}
