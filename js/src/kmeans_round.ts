/** A round of a K-means study as a device needs it: read, checked to the last character, answered once. */

import { RandomizedResponse, UnaryEncoding } from "./categorical.js";
import { ChoiceResponse } from "./choice.js";
import { Draws } from "./kmeans_draws.js";
import { type Question, mostCharacters, questionOf } from "./kmeans_questions.js";
import { type KMeansStudy } from "./kmeans_study.js";
import { type Fields, Fraction, characters, fieldsOf, requireThat } from "./kmeans_text.js";
import { type Bytes, systemBytes } from "./random.js";
import { digestOf, hex, isReadable } from "./text.js";
import { isInteger } from "./window.js";

const MOST_ASKS = 3;
export const MOST_ROUNDS = 64;
const PURPOSE_CHARACTERS = 200;

type SymbolChannel = RandomizedResponse | ChoiceResponse | UnaryEncoding;

/** What a device sends: which round, which of its asks, which variant of its question, and the code. */
export interface Answer {
  readonly round: string;
  readonly ask: number;
  readonly variant: number;
  /** An integer; a text of hexadecimal digits, two for each byte, where the channel sends bits. */
  readonly code: number | string;
}

/** An answer and what it was drawn from: the question and the channel, which are public, and the symbol, which stays on the device. */
export interface DrawnAnswer {
  readonly answer: Answer;
  readonly question: string;
  readonly channel: string;
  /** What the question made of the point: a number, or a set of numbers as the bits of one. */
  readonly symbol: number;
}

/** A question, its channel, and the fraction of local users who get it. */
interface Ask {
  readonly text: string;
  readonly question: Question;
  readonly channel: SymbolChannel;
  readonly fraction: Fraction;
}

/** What is asked now. It cannot be made but from a text that was checked. */
export class Round {
  readonly #asks: readonly Ask[];

  constructor(
    readonly study: KMeansStudy,
    readonly number: number,
    readonly purpose: string,
    readonly digest: string,
    asks: readonly Ask[],
  ) {
    this.#asks = asks;
  }

  /** The fraction of the local users who are asked, in lowest terms. */
  get userFraction(): string {
    return sumOf(this.#asks).text;
  }

  /** The answer of a user with this point. Send it once; never draw again, for this or for another round. */
  answer(point: readonly number[], bytes: Bytes = systemBytes): Answer {
    return this.draw(point, bytes).answer;
  }

  /** The answer, with what a device needs to show its user what it gives away. */
  draw(point: readonly number[], bytes: Bytes = systemBytes): DrawnAnswer {
    const placed = this.study.place(point);
    const draws = new Draws(bytes);
    const [ofAsk, ofVariant] = [draws.word(), draws.word()];
    const total = sumOf(this.#asks);
    const limits = this.#asks.map((_, i) => sumOf(this.#asks.slice(0, i + 1)).times(1n << 32n, total));
    const ask = limits.findIndex((limit) => BigInt(ofAsk) < limit);
    const { question, channel } = this.#asks[ask]!;
    const variant = Math.floor((ofVariant * question.variants) / 2 ** 32);
    const symbol = question.symbol(placed, variant, draws);
    const code = channel.report(symbol, bytes);
    const answer = { round: this.digest, ask, variant, code: typeof code === "number" ? code : hex(code) };
    return { answer, question: question.text, channel: channel.text, symbol };
  }
}

/** The round of a text; every other text than the round's own is refused, and so is one of another study. */
export async function roundOf(study: KMeansStudy, text: string): Promise<Round> {
  const [d, most] = [study.bounds.length, mostCharacters(study.clusters, study.bounds.length)];
  const short = typeof text === "string" && text.length <= 2 * most && characters(text) <= most;
  requireThat(short, `its text is longer than the ${most} characters that it can need`); // before anything else is read
  const { number, purpose, asks } = fieldsOf(text);
  requireThat(Array.isArray(asks) && asks.length > 0 && asks.length <= MOST_ASKS, `it asks other than 1 to ${MOST_ASKS} questions`);
  requireThat(isInteger(number, 1, MOST_ROUNDS), `its number is not from 1 to ${MOST_ROUNDS}`);
  const readable = isReadable(purpose) && characters(purpose) <= PURPOSE_CHARACTERS;
  requireThat(readable, `its purpose is not a readable text of at most ${PURPOSE_CHARACTERS} characters`);
  const read = asks.map((ask) => askOf(study, d, Object(ask) as Fields));
  const { numerator, denominator } = sumOf(read);
  requireThat(numerator <= denominator, "its fractions of users add up to more than all of them");
  const asked = `"number":${number},"purpose":${JSON.stringify(purpose)},"asks":[${read.map((ask) => ask.text)}]`;
  const own = `{"type":"kmeans-round","version":2,"study":${study.text},${asked}}`;
  requireThat(text === own, "it is of another study than the one agreed to, or not in the form that rounds are written in");
  return new Round(study, number, purpose, await digestOf(text), read);
}

function askOf(study: KMeansStudy, d: number, fields: Fields): Ask {
  const question = questionOf(d, fields.question, study.clusters);
  const channel = channelOf(Object(fields.channel) as Fields);
  const fraction = Fraction.parse(fields.user_fraction);
  requireThat(channel.epsilon === study.epsilon, "a channel does not have the study's epsilon");
  const choice = channel instanceof ChoiceResponse;
  const symbols = choice ? channel.codes : channel.categories;
  requireThat(symbols === Math.max(question.symbols, 2), "a channel has other symbols than its question");
  requireThat((choice ? channel.chosen : undefined) === question.chosen, "a channel is for sets of another size than its question's");
  return { text: `{"question":${question.text},"channel":${channel.text},"user_fraction":"${fraction.text}"}`, question, channel, fraction };
}

function channelOf(fields: Fields): SymbolChannel {
  if (fields.type === "response") return new RandomizedResponse(fields);
  if (fields.type === "choice") return new ChoiceResponse(fields);
  requireThat(fields.type === "unary", "a channel is not one of symbols");
  return new UnaryEncoding(fields);
}

function sumOf(asks: readonly Ask[]): Fraction {
  return asks.slice(1).reduce((sum, { fraction }) => sum.plus(fraction), asks[0]!.fraction);
}
