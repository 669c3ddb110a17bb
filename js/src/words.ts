/** A study's promise and a receipt in plain words, for pages that show them before and after somebody takes part. */

import { type Offer } from "./client/offer.js";
import { type Receipt } from "./client/receipt.js";
import { oneLine } from "./line.js";

export { likelihoodOf, likelihoodOfAnswer } from "./likelihood.js";
export { oneLine } from "./line.js";

const LISTED = 12; // categories that a promise names
const LONGEST_LISTED = 80; // characters
const NOUNS: Record<string, string> = { frequency: "answer", "heavy-hitters": "item", kmeans: "point" };
const ADDED: Record<string, string> = {
  mean: "adds it to a total",
  "heavy-hitters": "counts it with the others', shows an item only if enough people have it,",
  kmeans: "keeps it, encrypted, until the study ends, deletes it then,",
};
const REPORT = "If you report: your device draws one code at random and sends that;";
const ENROLL = "If you enroll: when it is your turn, your device gets a question, draws one code at random in answer to it and sends that;";
const ASSERTED: Record<string, string> = {
  participant: "You sent it yourself, with a token.",
  relay: "A relay sent it for you, and vouches for who you are.",
  nobody: "Nobody vouches for who sent it: this study takes contributions without tokens.",
};

/** What a study asks one person for. Only what its verified text says is read. */
interface Question {
  readonly name: string;
  readonly bounds?: readonly number[] | readonly (readonly number[])[];
  readonly categories?: readonly (string | number)[];
  readonly other?: boolean;
  /** Of heavy hitters, what is asked about the list. */
  readonly question?: { readonly categories: readonly (string | number)[]; readonly digest: string };
}

/**
 * What is asked, what is promised and what is stored: show it before you ask for a value. What ε means is computed here, from the
 * verified text. What the curator stores, only the curator can say.
 */
export function promiseOf(offer: Offer): string {
  const { consent, stored, epsilon, delta, dimensions } = offer;
  const asked = offer.study as unknown as Question;
  const items = offer.kind === "heavy-hitters";
  const noun = NOUNS[offer.kind] ?? "number";
  const added = ADDED[offer.kind] ?? "counts it with the others'";
  const binned = offer.kind === "distribution";
  const goes = binned ? `the bin of your ${noun}, one of 256,` : `your ${noun} itself`;
  const but = delta === "0" ? "" : `, but for a chance of ${delta}`;
  const meaning = (seen: string, except: string) =>
    `ε = ${epsilon}: someone who has narrowed your ${noun} down to two candidates and sees ${seen} guesses right at most ${chanceOf(epsilon)} of the time (50 % without it)${except}.`;
  return [
    `${consent?.organization || "An organization that the study's text does not name"} ${items ? itemQuestionOf(asked) : questionOf(asked)}`,
    ...labeled("Purpose", consent?.purpose),
    ...labeled("The numbers are", Array.isArray(dimensions) && dimensions.join("; ")),
    ...labeled("Contact", consent?.contact),
    ...labeled("The study closes", offer.closes_at),
    ...labeled("Warning", offer.warning),
    `${offer.kind === "kmeans" ? ENROLL : REPORT} your ${noun} stays here. ${meaning("the code", "")}`,
    ...listed("What the curator says it stores of you then:", stored?.local),
    `If you trust: ${goes} goes to the curator, who ${added} and publishes only answers with noise. ${meaning("what is published", but)} The curator could see ${binned ? "that bin" : `your ${noun}`}.`,
    ...listed("What the curator says it stores of you then:", stored?.trusted),
    `Digest of the study: ${offer.digest}`,
    ...labeled("Digest of the question about its list", asked.question?.digest),
  ].join("\n");
}

/** How often, at most, a guess between two values is right after seeing a report: never rounded to certainty. */
export function chanceOf(epsilon: string): string {
  const sure = 100 / (1 + Math.exp(-Number(epsilon)));
  return sure < 99 ? `${sure.toFixed()} %` : sure < 99.9 ? `${sure.toFixed(1)} %` : "more than 99.9 %";
}

/** What a receipt says. */
export function receiptWords(receipt: Receipt): string {
  const { group, withdrawn, delta, round, enrolled } = receipt;
  const given = group === "local" ? "randomized report" : withdrawn ? "value" : "value, in trust";
  const joined = round ? `answered round ${round}` : enrolled ? "enrolled, and will be asked once" : `gave a ${given}`;
  const did = withdrawn ? `withdrew your ${enrolled ? "enrollment" : given}` : joined;
  return [
    `Study ${receipt.study} (digest ${receipt.digest.slice(0, 12)}…), ${oneLine(receipt.day)}: you ${did}.`,
    `You were promised ε = ${receipt.epsilon}${delta === "0" ? "" : `, δ = ${delta}`}.`,
    ...(withdrawn && !receipt.opened ? ["The curator had nothing of yours to subtract: it never arrived, or was withdrawn before."] : []),
    ...(withdrawn ? [] : [ASSERTED[receipt.asserted_by] ?? `It is asserted by ${oneLine(receipt.asserted_by)}.`]),
    ...(receipt.part ? [`You are counted in ${oneLine(receipt.part_by)}: ${oneLine(receipt.part)}.`] : []),
    ...(receipt.resent && !withdrawn ? ["It is the contribution of an earlier call, sent again as it was. The value given now was not used."] : []),
    ...listed("What the curator stores of you:", receipt.stored),
  ].join("\n");
}

/** What is asked, behind the name of who asks. */
function questionOf({ name, bounds, categories, other }: Question): string {
  if (Array.isArray(bounds?.[0])) {
    const pairs = bounds as readonly (readonly number[])[];
    const numbers = `${shown(pairs.length)} number${pairs.length > 1 ? "s" : ""}`;
    return `asks for a point of ${numbers}: ${oneLine(name)}, ${someOf(pairs, range)}. Numbers outside count as the nearer bound. Those who do not trust are asked once, in a round that a hash of their name chooses.`;
  }
  if (bounds) return `asks for one number: ${oneLine(name)}, ${range(bounds as readonly number[])}. A number outside counts as the nearer bound.`;
  const items = categories ?? [];
  const rest = other ? "Anything else counts as other." : "Whoever has none of these does not take part.";
  return `asks for one of ${items.length.toLocaleString("en")} categories: ${oneLine(name)}. They are ${someOf(items, named)}. ${rest}`;
}

/** What is asked of items that nobody has listed, and about the list, once there is one. */
function itemQuestionOf({ name, question }: Question): string {
  const asked = `asks for one item, a text: ${oneLine(name)}.`;
  if (!question) return `${asked} Items that enough of those who trust have become a public list. Those who do not are asked about this list, later; anything else counts as other then.`;
  return `${asked} A list of ${question.categories.length.toLocaleString("en")} has been released: ${someOf(question.categories, named)}. Anything else counts as other.`;
}

/** The first of a list, and how many more there are. */
function someOf<T>(items: readonly T[], words: (item: T) => string): string {
  const more = items.length > LISTED ? `; and ${(items.length - LISTED).toLocaleString("en")} more` : "";
  return items.slice(0, LISTED).map(words).join("; ") + more;
}

function named(item: string | number): string {
  return shortened(oneLine(String(item)) ?? "");
}

function range([lower, upper]: readonly number[]): string {
  return `from ${shown(lower!)} to ${shown(upper!)}`;
}

function shown(number: number): string {
  return number.toLocaleString("en", { maximumSignificantDigits: 6 });
}

function labeled(label: string, text: unknown): string[] {
  return text ? [`${label}: ${oneLine(text)}`] : [];
}

function listed(label: string, sentences: unknown): string[] {
  const lines = Array.isArray(sentences) ? sentences.map(oneLine).filter(Boolean) : [];
  return [label, ...(lines.length ? lines : ["It has not said."]).map((line) => `- ${line}`)];
}

function shortened(text: string): string {
  return text.length > LONGEST_LISTED ? `${text.slice(0, LONGEST_LISTED - 1)}…` : text;
}
