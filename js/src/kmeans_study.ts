/** A K-means study as a device needs it. See the Python package's kmeans/study.py. */

import { type AskedStudy, type Joined, type Kind, type TrustedValue } from "./client/offer.js";
import { ChannelError } from "./errors.js";
import { type Round, roundOf } from "./kmeans_round.js";
import { SMALLEST, characters, fieldsOf, floats, requireThat, rows } from "./kmeans_text.js";
import { type Turns, turnsOf } from "./kmeans_turns.js";
import { areBounds, trustedNumber } from "./numeric.js";
import { canonicalEpsilon } from "./odds.js";
import { digestOf, isReadable, pythonFloat } from "./text.js";
import { isInteger } from "./window.js";

type Bounds = readonly [number, number];

const WHAT = "study";
const MOST_CLUSTERS = 1024;
const MOST_DIMENSIONS = 256;
const THINNEST = 1e-50;

/** What is asked of whom, under which promise. */
export class KMeansStudy implements AskedStudy {
  readonly delta = "0";
  readonly #widths: readonly number[]; // where distances are measured; the widest has 1
  readonly #factors: readonly number[]; // one over what a distance of 1 is in the units of the data

  constructor(
    readonly name: string,
    readonly clusters: number,
    readonly bounds: readonly Bounds[],
    readonly epsilon: string,
    readonly text: string,
    readonly digest: string,
    scale: string | readonly number[],
  ) {
    this.#widths = widthsOf(bounds, scale);
    const widest = Math.max(...bounds.map(widthOf));
    this.#factors = bounds.map((pair, j) => 1 / (scale === "none" ? widest : widthOf(pair) / this.#widths[j]!));
  }

  /** A round that asks the users of this study, from the server's text; throws if it promises less, or is none. */
  parseRound(text: string): Promise<Round> {
    return roundOf(this, text);
  }

  /** Whose turn it is in the rounds so far, from the server's text. */
  parseTurns(text: string): Turns {
    return turnsOf(this.digest, text);
  }

  /** What somebody sends who enrolls: nothing yet. The point, if there is one, stays on the device until its round. */
  report(point?: readonly number[]): Joined {
    if (point) this.place(point);
    return { integer: 0, point: point?.slice() };
  }

  /** A point as somebody trusts the curator with it, each coordinate on the grid of its bounds. */
  trusted(point: readonly number[]): TrustedValue {
    this.place(point);
    const rounded = point.map((x, j) => trustedNumber(x, this.bounds[j]!));
    const digits = rounded.map(({ integer }) => integer.toString(16).padStart(8, "0")).join("");
    return { integer: String(BigInt(`0x1${digits}`)), value: rounded.map(({ value }) => value as number) };
  }

  /** Where a point is in the unit box; one outside of the bounds is moved to the nearest point inside. */
  place(point: readonly number[]): number[] {
    const d = this.bounds.length;
    if (!Array.isArray(point) || point.length !== d || !point.every(Number.isFinite)) {
      throw new ChannelError(`point must be a list of ${d} finite numbers, one for each pair of bounds.`);
    }
    return this.bounds.map(([lower, upper], j) => {
      const inside = Math.min(Math.max(point[j]!, lower), upper) - lower;
      const placed = Math.min(inside * this.#factors[j]!, this.#widths[j]!);
      return placed * Number(placed >= SMALLEST);
    });
  }
}

/**
 * The study that the curator's text describes, for the `epsilon` that the user was shown. Every other text than the study's
 * own is refused, as in Python.
 */
export async function parseKMeansStudy(text: string, epsilon: number | string): Promise<KMeansStudy> {
  const promised = canonicalEpsilon(epsilon);
  const fields = fieldsOf(text);
  const { name, n_clusters: clusters, bounds, scale, neighbors } = fields;
  requireThat(fields.type === "kmeans" && fields.version === 2, "it is not one of K-means, version 2", WHAT);
  requireThat(isReadable(name) && characters(name) <= 1000, "it has no name, or one that is too long or has control characters", WHAT);
  requireThat(isInteger(clusters, 1, MOST_CLUSTERS), `its number of clusters is not from 1 to ${MOST_CLUSTERS}`, WHAT);
  const boxed = Array.isArray(bounds) && bounds.length > 0 && bounds.length <= MOST_DIMENSIONS && bounds.every(areBounds);
  requireThat(boxed, `its bounds are not 1 to ${MOST_DIMENSIONS} pairs`, WHAT);
  requireThat(isScale(scale, bounds), "its scale is not one of its bounds, none, or positive weights within 1e50 of each other", WHAT);
  requireThat(fields.epsilon === promised, `it is for epsilon ${String(fields.epsilon)}, but ${promised} was promised`, WHAT);
  requireThat(neighbors === "replace-one", "its neighbors are not replace-one", WHAT);
  const written = typeof scale === "string" ? `"${scale}"` : floats(scale);
  const box = `"bounds":${rows(bounds, (pair) => `[${pair.map(pythonFloat)}]`)},"scale":${written}`;
  const own = `{"type":"kmeans","version":2,"name":${JSON.stringify(name)},"n_clusters":${clusters},${box},"epsilon":"${promised}","neighbors":"replace-one"}`;
  requireThat(text === own, "it is not in the form that studies are written in", WHAT);
  return new KMeansStudy(name, clusters, Object.freeze(bounds.map((pair) => Object.freeze(pair))), promised, text, await digestOf(text), scale);
}

function isScale(scale: unknown, bounds: readonly Bounds[]): scale is string | readonly number[] {
  const weights = Array.isArray(scale) && scale.length === bounds.length && scale.every((x) => Number.isFinite(x) && x > 0);
  if (!weights && scale !== "bounds" && scale !== "none") return false;
  return widthsOf(bounds, scale).every((width) => width >= THINNEST);
}

function widthsOf(bounds: readonly Bounds[], scale: string | readonly number[]): number[] {
  const widths = typeof scale === "string" ? bounds.map((pair) => (scale === "none" ? widthOf(pair) : 1)) : scale;
  const widest = Math.max(...widths);
  return widths.map((width) => width / widest);
}

function widthOf([lower, upper]: Bounds): number {
  return upper - lower;
}

/** Studies of K-means, for a client. */
export const kmeans: Kind = { kind: "kmeans", parse: parseKMeansStudy };
