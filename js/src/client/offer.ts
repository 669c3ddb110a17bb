/** A study as its participants see it, checked before anything is drawn for it. */

import { ProtocolError } from "../errors.js";
import { mean } from "../study.js";
import { type Report, digestOf } from "../text.js";
import { type Json } from "./exchange.js";

/** What somebody trusts the curator with: the integer that is committed to, and what is sent. */
export interface TrustedValue {
  /** Of a point, which is larger than numbers can be, in decimal digits. */
  readonly integer: number | string;
  readonly value: number | string | readonly number[];
}

/** What somebody sends who joins the local group: a code; nothing yet in a study that asks in rounds, where the point is kept. */
export interface Joined extends Partial<Report> {
  readonly integer?: 0;
  readonly point?: readonly number[] | undefined;
}

/** What a study of any kind does for a client. */
export interface AskedStudy {
  readonly name: string;
  readonly digest: string;
  readonly delta: string;
  /** In which state it takes contributions; "open" if left out. */
  readonly state?: string;
  /** Whether more will be asked than can be known now; the study is fetched again then. */
  readonly waits?: boolean;
  report(value: any): Joined;
  trusted(value: any): TrustedValue;
}

/** A kind of study that a client can take part in. */
export interface Kind {
  readonly kind: string;
  /** The study in a text; `document` is all that the curator says of it. */
  parse(text: string, epsilon: string, document?: any): Promise<AskedStudy>;
}

/**
 * What people are asked for, under which promise, and by whom: the curator's public document, and the study in it. Words of the
 * curator cannot be checked; each is on one line, without characters that act.
 */
export interface Offer {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  readonly digest: string;
  readonly epsilon: string;
  readonly delta: string;
  /** The study itself, its channel verified. */
  readonly study: AskedStudy;
  readonly consent: { readonly organization?: string; readonly purpose?: string; readonly contact?: string };
  /** What the numbers of a point are called, as the curator says. */
  readonly dimensions?: readonly string[];
  /** For each group, what the curator says that it stores of a person. */
  readonly stored: { readonly local: readonly string[]; readonly trusted: readonly string[] };
  /** "created", "open", "asking" (about a list), "closed", "released" or "withdrawn". */
  readonly state: string;
  readonly closes_at: string;
  /** Whether participants need a token. */
  readonly tokens: boolean;
  /** What a pilot without tokens cannot promise. */
  readonly warning: string | null;
}

/** What the app was made for. */
export interface Wanted {
  readonly id: string;
  readonly kinds?: readonly Kind[];
  readonly digest?: string;
}

/** The offer in the curator's public document of a study; everything in it that can be checked is. */
export async function readOffer(document: Json, { id, kinds = [], digest: pinned }: Wanted): Promise<Offer> {
  const { text, digest } = document;
  const kind = [mean, ...kinds].find((one) => one.kind === document.kind);
  requireOffer(kind, "is of a kind that this app does not know", "kind");
  requireOffer(document.id === id && (pinned ?? digest) === digest, "is not the one that this app was made for", "study");
  requireOffer((await digestOf(text)) === digest, "was changed on the way", "digest");
  const study = await kind.parse(text, document.epsilon, document).catch((error) => requireOffer(0, `does not keep what it promises. ${error.message.slice(0, -1)}`, "channel") as never);
  requireOffer(study.digest === digest && study.delta === document.delta, "is not what the curator says", "promise");
  return { ...document, study } as unknown as Offer;
}

/** Throws unless the condition holds. */
export function requireOffer(condition: unknown, what: string, reason: string): asserts condition {
  if (!condition) throw new ProtocolError(`This study ${what}. Nothing was drawn or sent.`, reason);
}
