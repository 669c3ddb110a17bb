/** A study of how frequent public categories are, as a device needs it. See the Python package's shares/study.py. */

import { RandomizedResponse, UnaryEncoding } from "./categorical.js";
import { type Fields, channelOf } from "./channel.js";
import { ChoiceResponse, setOf, setsOf } from "./choice.js";
import { type AskedStudy, type Kind, type TrustedValue } from "./client/offer.js";
import { ChannelError, ensure } from "./errors.js";
import { LocalHashing } from "./hashing.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Report, digestOf, isReadable, parseFields, usersText } from "./text.js";
import { isInteger } from "./window.js";

/** What a category is: in one study all are texts, or all are integers. */
export type Item = string | number;

export type FrequencyChannel = RandomizedResponse | ChoiceResponse | UnaryEncoding | LocalHashing;

const OTHER = "(other)"; // what results call the items that are none of the categories
const MOST_CATEGORIES = 2 ** 20;
const LONGEST_CATEGORY = 1000; // characters
const MOST_BITS = 53; // of a unary report, which is one integer

/** The channel that a text describes, verified for the `epsilon` that the user was shown. */
export function parseChannel(text: string, epsilon: number | string): FrequencyChannel {
  return channelOf(text, epsilon, build);
}

function build(fields: Fields): FrequencyChannel {
  if (fields.type === "response") return new RandomizedResponse(fields);
  if (fields.type === "choice") return new ChoiceResponse(fields);
  if (fields.type === "unary") return new UnaryEncoding(fields);
  ensure(fields.type === "hashing", "its text does not describe a channel");
  return new LocalHashing(fields);
}

/** What is asked, of which categories and under which promise. */
export class FrequencyStudy implements AskedStudy {
  readonly epsilon: string;
  readonly delta = "0";
  readonly #numbers: ReadonlyMap<Item, number>;

  constructor(
    readonly name: string,
    readonly categories: readonly Item[],
    /** Whether all other items together are one more category. */
    readonly other: boolean,
    readonly digest: string,
    readonly channel: FrequencyChannel,
  ) {
    this.epsilon = channel.epsilon;
    this.#numbers = new Map(categories.map((category, number) => [category, number]));
  }

  /** One report of an item. Send it once; never draw again for the same item. */
  report(item: Item, bytes: Bytes = systemBytes): Report {
    return { study: this.digest, code: codeOfCategory(this.channel, this.#place(item), bytes) };
  }

  /** An item as somebody trusts the curator with it: the number of its category, and its name. One that is none is sent as other. */
  trusted(item: Item): TrustedValue {
    const integer = this.#place(item);
    return { integer, value: this.categories[integer] ?? OTHER };
  }

  /** The number of an item's category. No message shows an item. */
  #place(item: Item): number {
    const texts = typeof this.categories[0] === "string";
    if (texts ? typeof item !== "string" : !Number.isInteger(item)) {
      throw new ChannelError(`item must be ${texts ? "a text" : "an integer"}. There is no report for what is missing.`);
    }
    const place = this.#numbers.get(item) ?? (this.other ? this.categories.length : undefined);
    if (place === undefined) throw new ChannelError("item must be one of the study's categories. There is no report for another one.");
    return place;
  }
}

/** One report of a numbered category, as one integer below 2^53. */
function codeOfCategory(channel: FrequencyChannel, category: number, bytes: Bytes): number {
  if (channel instanceof ChoiceResponse) return channel.report(setOf(channel.codes, channel.chosen, category), bytes);
  if (!(channel instanceof UnaryEncoding)) return channel.report(category, bytes);
  return channel.report(category, bytes).reduceRight((code, byte) => 256 * code + byte, 0);
}

/**
 * The study that the curator's text describes, its channel verified for the `epsilon` that the user was shown. Every other
 * text than the study's own is refused, as in Python.
 */
export async function parseFrequencyStudy(text: string, epsilon: number | string): Promise<FrequencyStudy> {
  const { channelText, ...fields } = parseFields(text);
  const channel = parseChannel(channelText, epsilon);
  const { name, categories, other } = fields;
  ensure(fields.type === "frequency" && fields.version === 1, "it is not one of frequencies", "study");
  ensure(isReadable(name), "it has no name, or one with control characters", "study");
  ensure(typeof other === "boolean", "it does not say whether other items count", "study");
  ensure(areCategories(categories, other), "its categories are not different texts, or different integers, 2 to 1048576", "study");
  ensure(suits(channel, categories.length + Number(other)), "its channel does not fit it", "study");
  ensure(isInteger(fields.min_group_size, 1, Number.MAX_SAFE_INTEGER), "its smallest group is not a positive integer", "study");
  const listed = `"name":${JSON.stringify(name)},"categories":${JSON.stringify(categories)},"other":${other}`;
  const promise = `"epsilon":"${channel.epsilon}","min_group_size":${fields.min_group_size},"channel":${channel.text}`;
  const own = `{"type":"frequency","version":1,${listed},${promise},"users":${usersText(fields.users, text)}}`;
  ensure(text === own, "it is not in the form that studies are written in", "study");
  return new FrequencyStudy(name, Object.freeze(categories), other, await digestOf(text), channel);
}

/** Whether a value is a list of different readable texts, or of different integers, that are enough to ask for. */
function areCategories(value: unknown, other: boolean): value is Item[] {
  if (!Array.isArray(value) || value.length + Number(other) < 2 || value.length > MOST_CATEGORIES) return false;
  const texts = value.every((item) => isReadable(item) && [...item].length <= LONGEST_CATEGORY);
  const different = new Set(value).size === value.length && !(other && value.includes(OTHER));
  return different && (texts || value.every(Number.isSafeInteger));
}

/** Whether a channel asks for one of so many categories. */
function suits(channel: FrequencyChannel, categories: number): boolean {
  if (channel instanceof LocalHashing) return true;
  if (channel instanceof ChoiceResponse) return categories <= setsOf(channel.codes, channel.chosen);
  return channel.categories === categories && (channel instanceof RandomizedResponse || categories <= MOST_BITS);
}

/** Studies of frequencies, for a client: `new Client(url, { kinds: [frequency] })`. */
export const frequency: Kind = { kind: "frequency", parse: parseFrequencyStudy };
