/** ε as a decimal, and e^ε from below, in integers: the same steps as the Python package's privacy.py. */

import { ChannelError } from "./errors.js";

const SHIFT = 96n;
const LONGEST_DELTA = 4096; // characters
const CANONICAL = /^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/;

/** Numerator and denominator. */
type Ratio = readonly [bigint, bigint];

/** A decimal as a fraction. */
function ratio(text: string): Ratio {
  const [whole, fraction = ""] = text.split(".");
  return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
}

/** Whether a value is a decimal in its shortest form, and as the condition says. */
function isDecimal(text: unknown, longest: number, condition: (ratio: Ratio) => boolean): text is string {
  return typeof text === "string" && text.length <= longest && CANONICAL.test(text) && condition(ratio(text));
}

/** Whether a text is an ε from 0.01 to 20 in its shortest decimal form. */
export function isCanonicalEpsilon(text: unknown): text is string {
  return isDecimal(text, 24, ([n, d]) => 100n * n >= d && n <= 20n * d);
}

/** Whether a text is 0 or a δ from 1e-300 to 0.001 in its shortest decimal form. */
export function isCanonicalDelta(text: unknown): text is string {
  return isDecimal(text, LONGEST_DELTA, ([n, d]) => !n || (1000n * n <= d && 10n ** 300n * n >= d));
}

/** The decimal of a number or text, or an error that says what is allowed. */
export function canonicalEpsilon(epsilon: number | string): string {
  const text = String(epsilon);
  if (!["number", "string"].includes(typeof epsilon) || !isCanonicalEpsilon(text)) {
    throw new ChannelError(`epsilon must be a number from 0.01 to 20, got epsilon=${text}.`);
  }
  return text;
}

/** A lower bound of 2^96 e^ε: the exponential series, each term rounded down. */
export function odds(epsilon: string): bigint {
  const [numerator, denominator] = ratio(epsilon);
  let total = 0n;
  let k = 0n;
  for (let term = 1n << SHIFT; term > 0n; term = (term * numerator) / (denominator * k)) {
    total += term;
    k += 1n;
  }
  return total;
}

/** Whether `likely` is at most e^ε times `unlikely`. */
export function withinOdds(likely: bigint, unlikely: bigint, epsilon: string): boolean {
  return likely << SHIFT <= unlikely * odds(epsilon);
}
