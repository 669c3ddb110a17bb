/**
 * A study of the frequent items of an open domain, as a device needs it. It has two steps: those who trust hand over their items, and
 * those who do not are asked about the list that is released of them. See the Python package's items/study.py.
 */

import { type AskedStudy, type Kind, type TrustedValue } from "./client/offer.js";
import { isAlphabet } from "./coding.js";
import { ChannelError, RejectedError, ensure } from "./errors.js";
import { type FrequencyStudy, parseFrequencyStudy } from "./frequency_study.js";
import { integerOfItem, isShown, keptItem } from "./items.js";
import { canonicalEpsilon, isCanonicalDelta } from "./odds.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Report, digestOf, isReadable, parseFields } from "./text.js";
import { isInteger } from "./window.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
/** Alphabets that have a name, by which texts call them. They are for local discovery, which servers do not do. */
const NAMED: Record<string, string> = {
  bytes: "",
  digits: DIGITS,
  letters: LETTERS,
  "letters and digits": LETTERS + DIGITS,
  "capitals and digits": LETTERS.toUpperCase() + DIGITS,
  "host names": `${LETTERS}${DIGITS}-.`,
};

/** What a curator says of the question about the list. */
export interface ListQuestion {
  readonly text: string;
  readonly digest: string;
}

/** What is asked, under which promise; and the question about the list, once that has been released. */
export class HeavyHitterStudy implements AskedStudy {
  /** In which state of the study it takes what it asks for now. */
  readonly state: "open" | "asking";
  /** Whether the question is still to come. */
  readonly waits: boolean;

  constructor(
    readonly name: string,
    readonly epsilon: string,
    readonly delta: string,
    readonly digest: string,
    /** What those who do not trust are asked: a study of frequencies. */
    readonly question?: FrequencyStudy,
  ) {
    this.state = question ? "asking" : "open";
    this.waits = !question;
  }

  /** One report about the list. Send it once; never draw again for the same item. */
  report(item: string, bytes: Bytes = systemBytes): Report {
    checkText(item);
    if (this.question) return { ...this.question.report(item, bytes), delta: this.question.delta };
    throw new RejectedError("This study takes no reports yet: they are about its list, which has not been released. Nothing was drawn; come back later.", "list");
  }

  /** An item as somebody trusts the curator with it; other, if no study could show it or if it is too long. */
  trusted(item: string): TrustedValue {
    checkText(item);
    if (this.question) throw new RejectedError("This study's list has been released: it takes reports now, and no more trusted items. Nothing was drawn.", "list");
    const value = keptItem(item);
    return { integer: integerOfItem(value), value };
  }
}

/** No message shows an item. */
function checkText(item: unknown): asserts item is string {
  if (typeof item !== "string") throw new ChannelError("item must be a text. There is no report for what is missing.");
}

/**
 * The study that the curator's text describes, for the `epsilon` that the user was shown, and the `question` about its list, if there is
 * one, with its channel verified. Every other text than the study's own is refused, as in Python.
 */
export async function parseHeavyHitterStudy(text: string, epsilon: number | string, { question }: { readonly question?: ListQuestion | null } = {}): Promise<HeavyHitterStudy> {
  const promised = canonicalEpsilon(epsilon);
  const { type, version, name, delta, alphabet, min_group_size: least, ...fields } = parseFields(text);
  ensure(type === "heavy-hitters" && version === 1, "it is not one of heavy hitters", "study");
  ensure(isReadable(name), "it has no name, or one with control characters", "study");
  ensure(fields.epsilon === promised, "it is for another epsilon than was promised", "study");
  ensure(isCanonicalDelta(delta) && delta !== "0", "its delta is not a decimal above 0 and up to 0.001 in its shortest form", "study");
  ensure(isAlphabetName(alphabet), "its alphabet is not 2 to 1024 different readable characters, or a name", "study");
  ensure(isInteger(least, 1, Number.MAX_SAFE_INTEGER), "its smallest group is not a positive integer", "study");
  const promise = `"name":${JSON.stringify(name)},"epsilon":"${promised}","delta":"${delta}"`;
  const form = `"domain":null,"max_records":1,"records":"sample","levels":1`; // what servers ask for
  const own = `{"type":"heavy-hitters","version":1,${promise},${form},"alphabet":${JSON.stringify(alphabet)},"min_group_size":${least}}`;
  ensure(text === own, "it is not in the form that studies of one text for each person are written in", "study");
  const asked = question ? await parseQuestion(question, name, promised, least) : undefined;
  return new HeavyHitterStudy(name, promised, delta, await digestOf(text), asked);
}

/** The question about the list, if it is one of this study. What is on the list nobody can know beforehand; ε holds for any. */
async function parseQuestion({ text, digest }: ListQuestion, name: string, epsilon: string, least: number): Promise<FrequencyStudy> {
  const asked = await parseFrequencyStudy(text, epsilon);
  const { min_group_size, users } = parseFields(text);
  ensure(asked.digest === digest, "it was changed on the way", "question");
  const mine = asked.name === name && asked.other && min_group_size === least && users === null;
  ensure(mine, "it is not one of this study", "question");
  const shown = asked.categories.every((item) => typeof item === "string" && isShown(item));
  ensure(shown, "it is about items that no list shows", "question");
  return asked;
}

function isAlphabetName(value: unknown): value is string {
  return typeof value === "string" && (Object.hasOwn(NAMED, value) || (value !== "" && isAlphabet(value) && !Object.values(NAMED).includes(value)));
}

/** Studies of heavy hitters, for a client: `new Client(url, { kinds: [heavyHitters] })`. */
export const heavyHitters: Kind = { kind: "heavy-hitters", parse: parseHeavyHitterStudy };
