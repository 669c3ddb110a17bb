/**
 * The kinds of questions of a round: from a point of the unit box to a symbol, or a set of symbols, that a channel then hides.
 * What is computed takes the same steps whatever the point is. See the Python package's kmeans/reports.
 */

import {
  Directions,
  chosenOf,
  codebookSize,
  hadamardSign,
  mostBases,
  nearestSet,
  orderOf,
  pairProducts,
  relativeLength,
} from "./kmeans_codebook.js";
import { type Draws } from "./kmeans_draws.js";
import { type Fields, SMALLEST, floats, listOf, requireThat, rows, tableOf } from "./kmeans_text.js";
import { isInteger } from "./window.js";

type Vector = readonly number[];

const MOST_SIGNS = 8;
const MOST_VERTICES = 4096; // of a grid in one direction
const CODEBOOKS_OF_PAIRS = 16;
const CODEBOOKS_OF_SHIFTS = 64;
const CENTERS_PER_CLUSTER = 3;

/** From points to symbols. */
export interface Question {
  /** The question as Python writes it. */
  readonly text: string;
  readonly variants: number;
  readonly symbols: number;
  /** How many symbols an answer is a set of, as the bits of an integer; nothing if it is one symbol. */
  readonly chosen?: number;
  symbol(point: Vector, variant: number, draws: Draws): number;
}

/** The question of a text, for points of `d` dimensions; throws if it is none, or too large. */
export function questionOf(d: number, value: unknown, clusters: number): Question {
  const fields = Object(value) as Fields;
  const kind = Object.hasOwn(KINDS, String(fields.kind)) && KINDS[fields.kind as string];
  requireThat(!!kind, "the kind of a question is unknown");
  return kind(d, fields, CENTERS_PER_CLUSTER * clusters);
}

/** How many characters the text of a round may have: every question with as many numbers as it may have, each in full. */
export function mostCharacters(clusters: number, d: number): number {
  const bases = Math.max(2 * mostBases(d, CODEBOOKS_OF_PAIRS), mostBases(d, CODEBOOKS_OF_SHIFTS));
  const question = CENTERS_PER_CLUSTER * clusters * (d + 1) + d * (d + 1) + d * MOST_SIGNS + d * bases + 3 * d;
  return 4096 + 12 * 1000 + 26 * (2 * d + 3 * question);
}

const KINDS: Record<string, (d: number, fields: Fields, most: number) => Question> = { grid, label_signs, direction, second_moment, length };

/** Near which vertex of a grid? Each coordinate is rounded up or down at random, so that its mean stays. */
function grid(d: number, fields: Fields): Question {
  const seen = seenOf(d, fields);
  const [low, step] = [listOf(fields.low, seen.q, "low"), listOf(fields.step, seen.q, "step")];
  const { sizes } = fields;
  const whole = Array.isArray(sizes) && sizes.length === seen.q && sizes.every((size) => isInteger(size, 2, MOST_VERTICES));
  requireThat(whole && step.every((x) => x >= SMALLEST), "its grid is malformed");
  return {
    text: `{"kind":"grid",${seen.text}"low":${floats(low)},"step":${floats(step)},"sizes":[${sizes}]}`,
    variants: 1,
    symbols: (sizes as number[]).reduce((number, size) => number * size, 1),
    symbol: (point, _, draws) =>
      seen.of(point).reduce((number, x, j) => {
        const position = Math.min(Math.max((x - low[j]!) * (1 / step[j]!), 0), sizes[j]! - 1);
        const vertex = Math.floor(position);
        return number * sizes[j]! + vertex + Number(draws.single() < position - vertex);
      }, 0),
  };
}

/** Which center, and to which side of it? One symbol for a label and the signs of some coordinates. */
function label_signs(d: number, fields: Fields, most: number): Question {
  const residuals = residualsOf(d, fields, most);
  const { q } = residuals;
  const { coordinates } = fields;
  requireThat(Array.isArray(coordinates) && coordinates.length > 0 && coordinates.length <= q, `it comes in other than 1 to ${q} variants`);
  const signs = Object(coordinates[0]).length;
  const good = coordinates.every(
    (row) => Array.isArray(row) && row.length === signs && new Set(row).size === signs && row.every((j) => isInteger(j, 0, q - 1)),
  );
  requireThat(good && signs <= Math.min(q, MOST_SIGNS), "its coordinates are malformed");
  return {
    text: `{"kind":"label_signs",${residuals.text},"coordinates":${rows(coordinates, integers)}}`,
    variants: coordinates.length,
    symbols: residuals.centers * 2 ** signs,
    symbol(point, variant, draws) {
      const { label, rest, radius } = residuals.of(point);
      const asked: number[] = coordinates[variant];
      // A sign is +1 with probability (1 + z)/2; beyond ±1 it is sure.
      const bits = asked.map((j, bit) => Number(2 * draws.single() - 1 < rest[j]! / radius) * 2 ** bit);
      return bits.reduce((symbol, bit) => symbol + bit, label * 2 ** signs);
    },
  };
}

/** Which directions is the residual nearest to, times a public sign of its center? A set of them. */
function direction(d: number, fields: Fields, most: number): Question {
  const residuals = residualsOf(d, fields, most);
  const { q } = residuals;
  const directions = Directions.parse(fields, "sign_flips", q, CODEBOOKS_OF_SHIFTS);
  const chosen = chosenOf(fields, q);
  return {
    text: `{"kind":"direction",${residuals.text},"sign_flips":${rows(directions.signFlips, integers)},"chosen":${chosen}}`,
    variants: orderOf(residuals.centers) * directions.codebooks,
    symbols: 2 * directions.size,
    chosen,
    symbol(point, variant, draws) {
      const { label, rest, radius } = residuals.of(point);
      const codebook = variant % directions.codebooks;
      const products = directions.products(rest, codebook, directions.rows(codebook));
      const sign = hadamardSign(Math.floor(variant / directions.codebooks), label);
      return nearestSet(products, relativeLength(rest, radius), sign, chosen, draws);
    },
  };
}

/** Which matrices is the square of the residual nearest to? A set of them. */
function second_moment(d: number, fields: Fields): Question {
  const ball = ballOf(d, fields);
  const [left, right] = ["left_sign_flips", "right_sign_flips"].map((name) =>
    Directions.parse(fields, name, d, CODEBOOKS_OF_PAIRS),
  ) as [Directions, Directions];
  requireThat(left.codebooks === right.codebooks, "its pairs of directions do not match");
  const chosen = chosenOf(fields, d);
  const signs = `"left_sign_flips":${rows(left.signFlips, integers)},"right_sign_flips":${rows(right.signFlips, integers)}`;
  return {
    text: `{"kind":"second_moment",${ball.text},${signs},"chosen":${chosen}}`,
    variants: left.order * left.codebooks,
    symbols: 2 * codebookSize(d),
    chosen,
    symbol(point, variant, draws) {
      const rest = ball.of(point);
      const length = relativeLength(rest, ball.radius);
      return nearestSet(pairProducts(left, right, rest, variant), length * length, 1, chosen, draws);
    },
  };
}

/** How long is the residual? One bit. */
function length(d: number, fields: Fields): Question {
  const ball = ballOf(d, fields);
  return {
    text: `{"kind":"length",${ball.text}}`,
    variants: 1,
    symbols: 2,
    symbol(point, _, draws) {
      const long = relativeLength(ball.of(point), ball.radius);
      return Number(draws.double() < long * long);
    },
  };
}

/** Points as a question sees them: as they are, or along a few directions. */
function seenOf(d: number, fields: Fields): { q: number; text: string; of: (point: Vector) => Vector } {
  if (fields.axes === undefined) return { q: d, text: "", of: (point) => point };
  const axes = tableOf(fields.axes, d, d, "axes");
  const origin = listOf(fields.origin, d, "origin");
  return {
    q: axes.length,
    text: `"origin":${floats(origin)},"axes":${rows(axes)},`,
    of: (point) => axes.map((axis) => product(point.map((x, j) => x - origin[j]!), axis)),
  };
}

/** The residual of a point from the nearest of some centers, and the radius that it is clipped to. */
function residualsOf(d: number, fields: Fields, most: number) {
  const seen = seenOf(d, fields);
  const centers = tableOf(fields.centers, seen.q, most, "centers");
  const radii = listOf(fields.radii, centers.length, "radii");
  requireThat(radii.every((radius) => radius >= SMALLEST), "it has radii that are not positive");
  const halves = centers.map((center) => 0.5 * product(center, center));
  const projection = seen.text && `,${seen.text.slice(0, -1)}`;
  return {
    q: seen.q,
    centers: centers.length,
    text: `"centers":${rows(centers)},"radii":${floats(radii)}${projection}`,
    of(point: Vector): { label: number; rest: Vector; radius: number } {
      const at = seen.of(point);
      const scores = centers.map((center, k) => product(at, center) - halves[k]!);
      const best = scores.reduce((most, score) => Math.max(most, score), -Infinity);
      const label = scores.reduceRight((found, score, k) => found + Number(score === best) * (k - found), 0);
      // All rows are added up, of which one counts.
      const mine = scores.map((_, k) => Number(k === label));
      const rest = at.map((x, j) => x - mine.reduce((sum, own, k) => sum + own * centers[k]![j]!, 0));
      return { label, rest, radius: product(mine, radii) };
    },
  };
}

/** The center and the radius of a text. */
function ballOf(d: number, fields: Fields): { text: string; radius: number; of: (point: Vector) => Vector } {
  const center = listOf(fields.center, d, "center");
  const [radius] = listOf([fields.radius], 1, "radius") as [number];
  requireThat(radius > 0, "its radius is not a positive number");
  const text = `"center":${floats(center)},"radius":${floats([radius]).slice(1, -1)}`;
  return { text, radius, of: (point) => point.map((x, j) => x - center[j]!) };
}

/** The scalar product, added up from the first term to the last. */
function product(one: Vector, other: Vector): number {
  return one.reduce((sum, x, j) => sum + x * other[j]!, 0);
}

function integers(values: Vector): string {
  return `[${values}]`;
}
