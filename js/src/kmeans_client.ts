/**
 * Take part in a study of K-means: enroll, and answer one round later. The round, its channels and the turns are checked, the answer
 * is drawn once and kept, and only then is it sent. See the Python package's client/rounds.py.
 */

import { Client, type ClientOptions, newNonce, present } from "./client/client.js";
import { ask } from "./client/exchange.js";
import { type Offer } from "./client/offer.js";
import { type Receipt, readReceipt } from "./client/receipt.js";
import { type Kept } from "./client/store.js";
import { HybridDPError, ProtocolError, RejectedError } from "./errors.js";
import { type Round } from "./kmeans_round.js";
import { type KMeansStudy, kmeans } from "./kmeans_study.js";
import { type Turns } from "./kmeans_turns.js";
import { digestOf } from "./text.js";

type Point = readonly number[];

const EARLY = "A later round asks you. Nothing was drawn; call again when the next round is published.";
const LATE = "The round that asked you has ended. Nothing was drawn, and nothing else will be asked.";
const QUOTED = "The curator refuses, in words that quote what was sent.";

/** What people are asked for, under which promise, and by whom. */
export interface KMeansOffer extends Offer {
  readonly study: KMeansStudy;
  /** What the numbers of a point are called, as the curator says it; empty if it does not. */
  readonly dimensions?: readonly string[];
  /** What is asked now, as the curator says it. */
  readonly round?: { readonly number: number } | null;
  readonly steps?: readonly { readonly state: string }[];
}

/** A round that was published, checked, and whose turn it is. */
interface Published {
  readonly study: KMeansStudy;
  readonly round: Round;
  readonly turns: Turns;
  readonly text: string;
  /** Which round asks this person; null if it is not published yet. */
  readonly turn: number | null;
}

/** One person in one study of K-means. */
export class KMeansClient extends Client {
  protected override _joins = "enrollments";
  protected override _ended = /released|withdrawn/; // between the rounds it is closed, too
  #symbol: number | undefined;

  constructor(url: string, options: Omit<ClientOptions, "kinds"> = {}) {
    super(url, { ...options, kinds: [kmeans] });
  }

  /**
   * What the question made of the point when this client drew the answer. It is in memory only, and for the person alone: with the
   * channel it says how likely the code was.
   */
  get symbol(): number | undefined {
    return this.#symbol;
  }

  override study(): Promise<KMeansOffer> {
    return super.study() as Promise<KMeansOffer>;
  }

  /** Join the local group, before the first round. The point, if it is given, is kept on this device alone until its round. */
  enroll(point?: Point): Promise<Receipt> {
    return this._contribute("local", point);
  }

  /** Join the trusted group: the point itself is sent, and kept there until the study's rounds end. */
  override trust(point: Point): Promise<Receipt> {
    return this._contribute("trusted", point);
  }

  /**
   * Answer the round whose turn it is, with this point or the one that is kept, unless the answer has been drawn before: then that
   * is sent again. Throws a `RejectedError` with the reason "early" or "late" if this round asks others.
   */
  async answer(point?: Point): Promise<Receipt> {
    let kept = enrolled(present((await this.kept()) ?? nothing()));
    if (!kept.receipt) {
      await this._send(kept, true);
      kept = enrolled(present((await this.kept()) ?? nothing()));
    }
    const resent = !!kept.answer;
    if (!resent) kept = await this.#draw(kept, point);
    const { body, number } = kept.answer!;
    const { nonce, enrollment_nonce: _, ...message } = JSON.parse(body);
    const committed = `hybriddp answer 1\n${JSON.stringify(message)}\n${nonce}`;
    const receipt = await this._post(kept, "answers", body, committed, resent);
    readReceipt(receipt.document, { round: receipt.document.receipt.round && number }, resent); // which it leaves out after the rounds
    await this._replace((entry) => ({ ...entry, answer: { ...entry.answer!, receipt: receipt.document } }), kept);
    return receipt;
  }

  /**
   * Send what has no receipt yet, and answer if a point is kept and it is its turn; call it when the app starts and every few
   * minutes. The latest receipt, or undefined if nothing is kept. Once the study has been released, what is kept is deleted.
   */
  override async resume(): Promise<Receipt | undefined> {
    const told = await super.resume();
    const entry = await this.kept();
    if (!told || !entry || entry.gone || entry.group === "trusted") return told;
    const receipt = { ...told, enrolled: true };
    if (entry.answer?.receipt) return readReceipt(entry.answer.receipt, {}, true);
    if (!entry.answer && (!entry.point || this.#isSame(entry))) return receipt;
    return this.answer().catch((error) => {
      if (error.reason === "early") return receipt;
      throw error;
    });
  }

  /** Whether nothing has been asked since the device looked last: then it need not fetch a round, which may be long. */
  #isSame({ turns }: Kept): boolean {
    const { state, round } = (this._offer ?? {}) as Partial<KMeansOffer>;
    return state === "open" || (!!turns && JSON.parse(turns).fractions.length === round?.number);
  }

  /** Withdraw, until enrollment closes: afterwards the rounds count on everybody. */
  override async withdraw(): Promise<Receipt> {
    const entry = await this.kept();
    const open = !entry || entry.gone || (await this._fetchStudy()).state === "open";
    if (!open) throw new RejectedError("Withdrawing ended before the first round. Nothing was changed.", "closed");
    return super.withdraw();
  }

  protected override async _fetchStudy(): Promise<Offer> {
    const offer = await super._fetchStudy();
    const over = offer.state !== "open"; // a value that cannot be withdrawn need not be kept
    await this._replace((entry) => (over && entry.group === "trusted" && entry.receipt ? { gone: "closed" } : entry));
    return offer;
  }

  /** The receipt, and whether it is about enrolling. No sentence that quotes a coordinate is passed on. */
  protected override async _post(...sent: Parameters<Client["_post"]>): Promise<Receipt> {
    try {
      const [kept, route, body, committed, ...rest] = sent;
      const joins = route === this._joins && kept.group === "local"; // the nonce stays here until the answer, or until they withdraw
      const receipt = await super._post(kept, route, joins ? await enrollment(kept) : body, committed, ...rest);
      return sent[1].startsWith(this._joins) ? { ...receipt, enrolled: true } : receipt;
    } catch (error) {
      const { value = [] } = JSON.parse(sent[2]);
      if (value.some((x: number) => (error as Error).message.includes(String(x)))) (error as Error).message = QUOTED;
      throw error;
    }
  }

  /** What is kept, with an answer in it; by whichever tab is first. */
  async #draw(kept: Kept, given?: Point): Promise<Kept> {
    const { study, round, turns, text, turn } = await this.#published(kept);
    const late = turn !== null && turn < round.number;
    const after = await this._replace((entry) => {
      if (entry.answer) return entry;
      const { point, ...rest } = entry;
      if (entry.turns && !turns.follows(study.parseTurns(entry.turns))) throw refused("The curator has changed whose turn it is", "turns");
      if (turn !== round.number) return { ...(late ? rest : entry), turns: text };
      const { answer, symbol, question, channel } = round.draw((given ?? point)!);
      this.#symbol = symbol;
      const { number, purpose } = round;
      return { ...rest, turns: text, answer: { number, purpose, question, channel, body: JSON.stringify({ ...answer, nonce: newNonce(), enrollment_nonce: kept.nonce }) } };
    }, kept);
    const found = present(after ?? nothing());
    if (!found.answer) throw new RejectedError(late ? LATE : EARLY, late ? "late" : "early");
    return found;
  }

  /** The round that is asked now: of the study that this person enrolled in, every channel verified, and with its turns. */
  async #published(kept: Kept): Promise<Published> {
    const offer = await this.study();
    if (offer.digest !== kept.digest) throw refused("The curator offers another study than the one that you enrolled in", "study");
    const { id, subject } = this._settings;
    const { text, turns: said } = await ask(this._settings, `/studies/${id}/round`).catch((error) => this.#unasked(kept, error));
    const { study } = offer;
    try {
      const round = await study.parseRound(text);
      const turns = study.parseTurns(said);
      const turn = await turns.roundOf(subject, kept.nonce);
      if (turn === round.number) await turns.requireTurn(round, subject, kept.nonce);
      return { study, round, turns, text: said, turn };
    } catch (error) {
      const { message } = error as Error;
      throw refused(`This is no round of the study. ${message.slice(0, -1)}`, /turn/.test(message) ? "turns" : "round");
    }
  }

  /** Why no round is asked now: one will be, or all have been. */
  async #unasked(kept: Kept, error: HybridDPError): Promise<never> {
    if (error.reason !== "not-found") throw error;
    const { steps } = (await this._fetchStudy()) as KMeansOffer;
    present((await this.kept()) ?? nothing());
    if (steps?.[0]?.state !== "released") throw new RejectedError("No round is asked now. Nothing was drawn; call again later.", "early");
    await this._replace(({ point, ...rest }) => rest, kept);
    throw new RejectedError(LATE, "late");
  }
}

/** What is sent by whoever enrolls: the commitment to the nonce that decides whose turn it is. */
async function enrollment({ digest, integer, nonce }: Kept): Promise<string> {
  return JSON.stringify({ digest, commitment: await digestOf(`hybriddp contribution 1\n${digest}\nlocal\n${integer}\n${nonce}`) });
}

function enrolled(kept: Kept): Kept {
  if (kept.group === "local") return kept;
  throw refused("You are in the trusted group, which no round asks", "group");
}

function nothing(): never {
  throw refused("Only those who have enrolled answer a round. Call enroll() first", "nothing");
}

function refused(words: string, reason: string): ProtocolError {
  return new ProtocolError(`${words}. Nothing was drawn or sent.`, reason);
}
