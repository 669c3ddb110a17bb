/** What an answer to a round of K-means gives away, in words and as counts of people. */

import { type KeptAnswer } from "../../src/index.js";
import { type KMeansOffer } from "../../src/kmeans_client.js";
import { type KMeansStudy } from "../../src/kmeans_study.js";
import { likelihoodOfAnswer } from "../../src/words.js";

type Vector = readonly number[];
type Fields = Record<string, any>;

/** People who are compared, and how likely the code was for each of them. */
export interface Compared {
  readonly words: string;
  readonly chance: number;
  readonly mine: boolean;
}

/** A question in words. */
interface Told {
  /** What was asked. */
  readonly asked: string;
  /** How many symbols there are; nothing where a symbol is a set. */
  readonly symbols?: number;
  /** What a symbol says, in words, and where it is: the farther apart two are, the more different the people. */
  words?(symbol: number): string;
  at?(symbol: number): Vector;
}

/** What was asked, and how likely this code was for one's own symbol and for a very different one. */
export function explained({ study, dimensions }: KMeansOffer, answer: KeptAnswer, own?: number): { asked: string; compared: Compared[] } {
  const question: Fields = JSON.parse(answer.question);
  const name = (j: number) => (question.axes ? `direction ${j + 1}` : (dimensions?.[j] ?? `number ${j + 1}`));
  const told = KINDS[question.kind]!(question, study, (coordinates) => coordinates[JSON.parse(answer.body).variant]!.map(name));
  const pair = told.symbols === undefined ? setsOf(answer, own) : symbolsOf(told, answer, own);
  return { asked: told.asked, compared: pair };
}

/** The symbol that the code says most of, or one's own; and one for which it is very different, the farthest if there are several. */
function symbolsOf({ symbols, words, at }: Told, answer: KeptAnswer, own?: number): Compared[] {
  if (symbols === 1) return []; // everybody has the same one
  const all = Array.from({ length: symbols! }, (_, i) => i);
  const chance = (symbol: number, other: number) => likelihoodOfAnswer(answer, symbol, [symbol, other]);
  const first = own ?? all.reduce((best, symbol) => (chance(symbol, best) > chance(best, symbol) ? symbol : best));
  const unlike = (other: number) => Math.abs(Math.log(chance(first, other) / chance(other, first))) + 1e-6 * apart(at!(first), at!(other));
  const other = all.filter((symbol) => symbol !== first).reduce((best, symbol) => (unlike(symbol) > unlike(best) ? symbol : best));
  return [
    { words: own === undefined ? words!(first) : `yours: ${words!(first)}`, chance: chance(first, other), mine: own !== undefined },
    { words: words!(other), chance: chance(other, first), mine: false },
  ];
}

/** Of a set of directions, all that counts is whether the one that was sent is among them. */
function setsOf(answer: KeptAnswer, own?: number): Compared[] {
  const { code } = JSON.parse(answer.body);
  const inside = 2 ** code;
  const row = (has: boolean, mine: boolean) => ({
    words: `${mine ? "yours: " : ""}this direction ${has ? "is" : "is not"} among ${mine ? "them" : "theirs"}`,
    chance: likelihoodOfAnswer(answer, has ? inside : 0, []),
    mine,
  });
  const has = own === undefined || ((own >>> code) & 1) === 1;
  return [row(has, own !== undefined), row(!has, false)];
}

function apart(one: Vector, other: Vector): number {
  return one.reduce((sum, x, j) => sum + (x - other[j]!) ** 2, 0);
}

const KINDS: Record<string, (question: Fields, study: KMeansStudy, namesOf: (coordinates: number[][]) => string[]) => Told> = {
  grid({ sizes, low, step, axes }: Fields, study) {
    const at = (symbol: number): Vector => {
      const places: number[] = [];
      for (let j = sizes.length - 1, rest = symbol; j >= 0; rest = Math.floor(rest / sizes[j]), j--) places.unshift(rest % sizes[j]);
      return places;
    };
    const grid = `a grid of ${sizes.join(" × ")} points`;
    return {
      asked: `which point of ${grid} is near to your numbers${along(axes)}. If several are, your device took one of them at random, the nearer the likelier: that is your grid point.`,
      symbols: sizes.reduce((count: number, size: number) => count * size, 1),
      words: (symbol) => `grid point ${axes ? place(at(symbol).map((i) => i + 1)) : place(inData(study, at(symbol).map((i, j) => low[j] + i * step[j])))}`,
      at,
    };
  },
  label_signs({ centers, radii, coordinates, axes }: Fields, study, namesOf) {
    const signs: number = coordinates[0].length;
    const label = (symbol: number) => Math.floor(symbol / 2 ** signs);
    const bits = (symbol: number) => Array.from({ length: signs }, (_, i) => Math.floor(symbol / 2 ** i) % 2);
    const sides = (symbol: number) => bits(symbol).map((bit, i) => `, ${bit ? "above" : "below"} in ${namesOf(coordinates)[i]}`);
    const side = signs ? ", and on which side of it they are, which your device drew at random: the farther away, the surer" : "";
    const where = (k: number) => (axes ? "" : ` at ${place(inData(study, centers[k]))}`);
    return {
      asked: `which of ${centers.length} places your numbers are nearest to${along(axes)}${side}.`,
      symbols: centers.length * 2 ** signs,
      words: (symbol) => `place ${label(symbol) + 1}${where(label(symbol))}${sides(symbol).join("")}`,
      at: (symbol) => [...centers[label(symbol)], ...bits(symbol).map((bit) => bit * radii[label(symbol)])],
    };
  },
  length: () => ({
    asked: "whether your numbers are far from a public middle. Your device drew that at random: the farther away, the surer.",
    symbols: 2,
    words: (symbol) => (symbol ? "far from the middle" : "near the middle"),
    at: (symbol) => [symbol],
  }),
  direction: ({ centers, chosen, axes }) => ({
    asked: `in which directions your numbers lie, seen from the nearest of ${centers.length} public place${centers.length > 1 ? "s" : ""}${along(axes)}. Your device found ${chosen} of a public list that point there; the code is the number of one in that list.`,
  }),
  second_moment: ({ chosen }) => ({
    asked: `which pairs of directions your numbers are spread along, seen from a public middle. Your device found ${chosen} of a public list; the code is the number of one in that list.`,
  }),
};

function along(axes: Vector[] | undefined): string {
  return axes ? `, seen along ${axes.length} public direction${axes.length > 1 ? "s" : ""}` : "";
}

/** Where a place of the unit box is among the numbers that people typed. */
function inData(study: KMeansStudy, placed: Vector): number[] {
  const widths = study.place(study.bounds.map(([, upper]) => upper));
  return study.bounds.map(([lower, upper], j) => lower + ((upper - lower) * placed[j]!) / widths[j]!);
}

function place(numbers: Vector): string {
  return `(${numbers.map((x) => x.toLocaleString("en", { maximumSignificantDigits: 3 })).join(", ")})`;
}
