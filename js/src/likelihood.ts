/** How likely a code is for a value: what a report gives away, to be shown to the person whose it is. */

import { setOf } from "./choice.js";
import { type AskedStudy, type Offer } from "./client/offer.js";
import { type KeptAnswer } from "./client/store.js";
import { hashOf } from "./hashing.js";
import { labelOf } from "./masked.js";

type Channel = Record<string, any>;

/** What has a channel: a study, or its question about a list. */
interface Asked {
  readonly channel: { readonly text: string };
  readonly question?: AskedStudy & Asked;
}

/**
 * How likely a code is for a value or category. Shown for the person's own one and for a very different one, it says what the code
 * gives away: the quotient of any two is at most e^ε. Where a report has a public part that is drawn without looking at the value (a
 * hash function, a pattern), it is how likely the rest is. (Of a mean it is right to 2^-20, to which devices round.)
 */
export function likelihoodOf(offer: Offer, value: number | string, code: number): number {
  const own = offer.study as AskedStudy & Asked;
  const study = own.question ?? own;
  const channel: Channel = JSON.parse(study.channel.text);
  return LIKELIHOODS[channel.type]!(channel, study.trusted(value).integer as number, code);
}

/**
 * How likely the code of an answer to a round of K-means is for a symbol: what the question made of somebody's point. Of a code that is
 * a row of bits, only those of the symbols that are compared are looked at: all others are equally likely for each of these.
 */
export function likelihoodOfAnswer(answer: KeptAnswer, symbol: number, compared: readonly number[]): number {
  const channel: Channel = JSON.parse(answer.channel);
  const { code } = JSON.parse(answer.body);
  if (channel.type === "choice") return hit(channel, ((symbol >>> code) & 1) === 1);
  if (channel.type === "response") return hit(channel, symbol === code);
  return [...new Set(compared)].reduce((chance, i) => chance * bit(channel, i === symbol, isSet(code, i)), 1);
}

/** Whether bit i of a text of bytes in hexadecimal digits is 1. */
function isSet(code: string, i: number): boolean {
  return ((parseInt(code.slice(2 * (i >> 3), 2 * (i >> 3) + 2), 16) >> (i & 7)) & 1) === 1;
}

/** By the channel's type, from the integer that the value or category stands for: units, a bin or the category's number. */
const LIKELIHOODS: Record<string, (channel: Channel, integer: number, code: number) => number> = {
  window: likelihoodOfNumber,
  response: (channel, category, code) => hit(channel, category === code),
  choice: (channel, category, code) => hit(channel, ((setOf(channel.codes, channel.chosen, category) >>> code) & 1) === 1),
  hashing: (channel, key, code) => hit(channel, hashOf(channel.seed, channel.values, key, Math.floor(code / channel.values)) === code % channel.values),
  masked: (channel, bin, code) => hit(channel, labelOf(Math.log2(channel.labels), Math.floor(code / channel.labels), bin) === code % channel.labels),
  unary: (channel, category, code) => {
    let chance = 1;
    for (let i = 0; i < channel.categories; i++) chance *= bit(channel, i === category, Math.floor(code / 2 ** i) % 2 === 1);
    return chance;
  },
};

/** How likely one bit of unary encoding is. */
function bit({ one, zero }: Channel, mine: boolean, is: boolean): number {
  const likely = (mine ? one : zero) / 2 ** 32;
  return is ? likely : 1 - likely;
}

function hit({ low, extra, bits }: Channel, inside: boolean): number {
  return (low + (inside ? extra : 0)) / 2 ** bits;
}

/** A number is rounded at random to an edge of 4,096 cells, that to a row, and the row to a code. */
function likelihoodOfNumber({ codes, window, bits, low, extra, half }: Channel, units: number, code: number): number {
  const values: number[] = [...half.map((v: number) => -v).reverse(), ...half];
  const meanOf = (row: number) => (extra * values.slice(row, row + window).reduce((sum, v) => sum + v, 0)) / 2 ** (bits + 24);
  const inside = (row: number) => Number(row <= code && code < row + window);
  const atEdge = (edge: number) => {
    const input = edge / 2048 - 1; // in half ranges
    let row = 0;
    while (row < codes - window - 1 && meanOf(row + 1) <= input) row++;
    const next = (input - meanOf(row)) / (meanOf(row + 1) - meanOf(row)); // how often the row above is taken
    return (low + extra * ((1 - next) * inside(row) + next * inside(row + 1))) / 2 ** bits;
  };
  const place = units / 4096;
  const [below, share] = [Math.floor(place), place % 1];
  return (1 - share) * atEdge(below) + (share && share * atEdge(below + 1));
}
