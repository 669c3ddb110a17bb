/**
 * Whose turn it is: which participants belong to which round follows from their places, so that nobody is asked twice, and nobody
 * can be picked. See the Python package's kmeans/protocol/turns.py.
 */

import { MOST_ROUNDS, type Round } from "./kmeans_round.js";
import { Fraction, fieldsOf, requireThat } from "./kmeans_text.js";
import { placeOf } from "./place.js";

const WHAT = "list of turns";

/** The fractions of users of a study's rounds so far. */
export class Turns {
  readonly #sums: readonly Fraction[];

  constructor(
    readonly study: string,
    readonly fractions: readonly string[],
    sums: readonly Fraction[],
  ) {
    this.#sums = sums;
  }

  /** The number of the round that asks a participant, by the `sub` of their token and the nonce that their device enrolled with; null if it is not published yet. */
  async roundOf(subject: string, nonce: string): Promise<number | null> {
    const place = await placeOf(this.study, subject, nonce);
    const found = this.#sums.findIndex((sum) => place < sum.times(1n << 64n));
    return found < 0 ? null : found + 1;
  }

  /** Throws unless a round is one of these and asks this participant. */
  async requireTurn(round: Round, subject: string, nonce: string): Promise<void> {
    const listed = round.study.digest === this.study && this.fractions[round.number - 1] === round.userFraction;
    requireThat(listed, "the list of turns is of another study, or has another fraction of users for it");
    requireThat((await this.roundOf(subject, nonce)) === round.number, "it is another participants' turn");
  }

  /** Whether these begin with the turns that were seen earlier. */
  follows(earlier: Turns): boolean {
    return this.study === earlier.study && earlier.fractions.every((fraction, i) => fraction === this.fractions[i]);
  }
}

/** The turns of a text, which must be of this study. */
export function turnsOf(study: string, text: string): Turns {
  const { fractions } = fieldsOf(text);
  const some = Array.isArray(fractions) && fractions.length > 0 && fractions.length <= MOST_ROUNDS;
  requireThat(some, `it has other than 1 to ${MOST_ROUNDS} rounds`, WHAT);
  const read = fractions.map((fraction) => Fraction.parse(fraction, WHAT));
  requireThat(read.every((fraction) => fraction.times(100n) > 0n), "a round has less than 1/100 of the users", WHAT);
  const sums = read.map((_, i) => read.slice(1, i + 1).reduce((sum, fraction) => sum.plus(fraction), read[0]!));
  const all = sums[sums.length - 1]!;
  requireThat(all.numerator <= all.denominator, "its fractions of users add up to more than all of them", WHAT);
  const own = `{"type":"kmeans-turns","version":2,"study":"${study}","fractions":${JSON.stringify(fractions)}}`;
  requireThat(text === own, "it is of another study, or not in the form that lists of turns are written in", WHAT);
  return new Turns(study, Object.freeze(fractions), sums);
}
