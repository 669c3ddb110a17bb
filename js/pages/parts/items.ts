/** Items that nobody has listed, on the page on which people take part: what is compared, and what has been checked. */

import { heavyHitters } from "../../src/heavy_study.js";
import { type Offer } from "../../src/index.js";

/** What a study asks for, as its verified text says it. */
export interface Question {
  readonly bounds?: readonly [number, number];
  readonly categories?: readonly (number | string)[];
  readonly other?: boolean;
  readonly channel: { readonly text: string };
  readonly digest: string;
  /** Of a study of items, the question about its list. */
  readonly question?: Question;
}

/** Whether a study asks for an item in a person's own words. */
export function asksForItem({ kind }: Offer): boolean {
  return kind === heavyHitters.kind;
}

/** What a report answers: the study, or the question about its list. */
export function answered({ study }: Offer): Question {
  const own = study as unknown as Question;
  return own.question ?? own;
}

/** What the device has found to be true of a study's channel. */
export function channelFacts(offer: Offer): string[] {
  const proved = `keeps ε = ${offer.epsilon}. This is proved in whole numbers, here.`;
  if (!asksForItem(offer)) return [`Its channel ${proved}`];
  if (!answered(offer).channel) return [`It promises ε = ${offer.epsilon} and δ = ${offer.delta}. How reports are drawn comes with the list, and is checked then.`];
  return ["The question about its list is this study's own, and has the digest that it claims.", `The question's channel ${proved}`];
}

/** Said to those whose items have become the list, or have been forgotten. */
export const IN_LIST = "The list has been made of it and of what others gave, and the curator has deleted all single items: there is nothing left to withdraw.";

/** Whether somebody's item can no longer be withdrawn, although the study goes on. */
export function isInList(offer: Offer | undefined, group: string): boolean {
  return offer !== undefined && asksForItem(offer) && offer.state === "asking" && group === "trusted";
}
