/**
 * Take part in a study. The order is what matters: the study is checked, a contribution is drawn once and kept, and only then is
 * it sent; what is kept is what is sent, however often and whatever happens in between.
 */

import { DeviceError, ProtocolError, RejectedError } from "../errors.js";
import { digestOf, hex } from "../text.js";
import { type Http, type Retries, ask } from "./exchange.js";
import { type Joined, type Kind, type Offer, type TrustedValue, readOffer, requireOffer } from "./offer.js";
import { type Receipt, bytesOf, importKey, readReceipt, verifyReceipt } from "./receipt.js";
import { type Change, type Entry, type Kept, type Store, defaultStore, update } from "./store.js";

/** What a client can be told. */
export interface ClientOptions extends Partial<Retries> {
  /** The study's id. A token names it (its `aud`), so it is needed only without one. */
  readonly study?: string;
  /** The participant's token, from the organization's backend. A pilot may take contributions without one. */
  readonly token?: string;
  /** The digest of the study that the app was made for: anything else is refused. */
  readonly digest?: string;
  /** Where what was drawn is kept: IndexedDB in browsers, memory elsewhere, if left out. */
  readonly store?: Store;
  /** Kinds of studies beside means: `frequency` of hybriddp/frequency, `distribution` of hybriddp/distribution, `heavyHitters` of hybriddp/heavy. */
  readonly kinds?: readonly Kind[];
  /** In place of the platform's own. */
  readonly fetch?: typeof fetch;
  /** Milliseconds for one request with its answer; 20,000 if left out. */
  readonly timeout?: number;
}

type Settings = Http & Omit<ClientOptions, keyof Http> & { readonly id: string; readonly subject: string; readonly who: string; readonly store: Store };

/** What a study gives for either group. */
type Drawn = Omit<Joined, "integer"> & Partial<TrustedValue>;

/** One person in one study. What begins with an underscore is for clients of other protocols, and has shorter names in the bundle. */
export class Client {
  protected readonly _settings: Settings;
  protected _offer: Offer | undefined;
  /** Where those go who join the local group. */
  protected _joins = "reports";
  /** In which states nothing can be sent or withdrawn any more. */
  protected _ended = /closed|released|withdrawn/;

  constructor(url: string, options: ClientOptions = {}) {
    this._settings = {
      ...{ fetch, timeout: 20_000, attempts: 5, firstWait: 500, longestWait: 30_000, store: defaultStore() },
      ...options,
      ...readClaims(options),
      url: checkAddress(url),
    };
  }

  /** The study as the curator offers it, checked; fetched once, or until all of it can be asked. */
  async study(): Promise<Offer> {
    const offer = this._offer;
    return offer && !offer.study.waits ? offer : this._fetchStudy();
  }

  /** Join the local group: the value or category is randomized here, and one code is sent. */
  report(value: number | string): Promise<Receipt> {
    return this._contribute("local", value);
  }

  /** Join the trusted group: the value or category itself is sent, and only answers with noise are published. */
  trust(value: TrustedValue["value"]): Promise<Receipt> {
    return this._contribute("trusted", value);
  }

  /**
   * Send what was drawn and has no receipt yet; call it when the app starts and when the device is online again. Its receipt, or
   * undefined if nothing is kept. Once the study has closed, what is kept is deleted.
   */
  async resume(): Promise<Receipt | undefined> {
    const entry = await this.kept();
    if (!entry || entry.gone) return;
    if (!entry.receipt) return this._send(entry, true);
    await this._fetchStudy();
    return readReceipt(entry.receipt, {}, true);
  }

  /** Withdraw, until the study closes: the contribution is subtracted and forgotten, there and here. */
  async withdraw(): Promise<Receipt> {
    const entry = await this.kept();
    if (!entry) throw new ProtocolError("This device has nothing to withdraw.", "nothing");
    if (entry.gone && entry.receipt) return readReceipt(entry.receipt, {}, true); // withdrawn before
    return this._send(present(entry), false, true);
  }

  /** What the device keeps for retries and withdrawal, to be shown to the person whose it is. */
  kept(): Promise<Entry | undefined> {
    return this._change((entry) => entry);
  }

  /**
   * Delete what the device keeps: nothing can be sent again or withdrawn afterwards. With a token the device remembers that there
   * was something, and nothing else, so that it does not draw again; without one nobody knows who comes next.
   */
  async forget(): Promise<void> {
    await this._change((entry) => (entry && this._settings.who ? { gone: entry.gone ?? "forgotten" } : undefined));
  }

  protected async _fetchStudy(): Promise<Offer> {
    const offer = await readOffer(await ask(this._settings, `/studies/${this._settings.id}`), this._settings);
    await importKey(`WG${"Zm".repeat(20)}Y`); // the curve's base point, as any key: what could not be checked later is not drawn
    if (this._ended.test(offer.state)) await this._replace((entry) => (entry.receipt ? { gone: "closed" } : entry));
    return (this._offer = offer);
  }

  /** Draw for this group, unless something has been drawn before, keep it and send it. */
  protected async _contribute(group: Kept["group"], value: unknown): Promise<Receipt> {
    let nonce: string | undefined;
    let entry = await this.kept();
    if (!entry) {
      const offer = await this.study();
      if (offer.state !== (offer.study.state ?? "open")) throw new RejectedError("This study is not open. Nothing was drawn or sent.", "closed");
      requireOffer(!offer.tokens || this._settings.token, "needs a token", "token");
      entry = await this._change((found) => {
        if (found) return found; // by whichever tab is first
        const drawn: Drawn = offer.study[group === "local" ? "report" : "trusted"](value);
        // A report says which text it was made for: the study's, or that of a question in it.
        const { study: digest = offer.digest, delta = offer.delta, code, value: sent, integer = code!, point } = drawn;
        const body = JSON.stringify({ digest, code, value: sent, nonce: (nonce = newNonce()) }); // which leaves out what is undefined
        return { group, digest, epsilon: offer.epsilon, delta, integer, nonce, body, point };
      });
    }
    const kept = present(entry!);
    if (kept.group !== group) throw new ProtocolError(`You are in the ${kept.group} group, and nobody can be in both. Nothing was drawn or sent.`, "group");
    return this._send(kept, kept.nonce !== nonce);
  }

  /** Send a contribution, or withdraw it. */
  protected async _send(kept: Kept, resent: boolean, withdrawn?: true): Promise<Receipt> {
    const { group, digest, integer, nonce, body } = kept;
    const route = `${group === "local" ? this._joins : "values"}${withdrawn ? "/withdraw" : ""}`;
    const committed = `hybriddp contribution 1\n${digest}\n${group}\n${integer}\n${nonce}`;
    const receipt = await this._post(kept, route, body, committed, resent, withdrawn).catch(async (error) => {
      if (error.reason === "closed") await this._replace(() => ({ gone: "closed" }), kept);
      // Nothing was drawn for a value, so its person may choose again; a report stays, whatever the curator says.
      if (error.reason === "full" && group === "trusted") await this._replace((entry) => entry.receipt && entry, kept);
      throw error;
    });
    await this._replace((entry) => ({ ...(withdrawn ? { gone: "withdrawn" } : entry), receipt: receipt.document }), kept);
    return receipt;
  }

  /** The receipt of what is sent, if its signature is right and it is about what was committed to. */
  protected async _post({ group, digest, epsilon, delta }: Kept, route: string, body: string, committed: string, resent: boolean, withdrawn?: true): Promise<Receipt> {
    const study = this._settings.id;
    const keys = await ask(this._settings, "/.well-known/hybriddp-receipts.json"); // first: an answer that cannot be checked is not asked for
    const document = await ask(this._settings, `/studies/${study}/${route}`, body);
    await verifyReceipt(document, keys);
    return readReceipt(document, { study, digest, group, epsilon, delta, commitment: await digestOf(committed), withdrawn }, resent);
  }

  /** Changes what is kept, unless it is gone or (if one is named) another contribution than the one that was sent. */
  protected _replace(change: (kept: Kept) => Entry | undefined, sent?: Kept): Promise<Entry | undefined> {
    return this._change((entry) => (entry && !entry.gone && (sent ?? entry).nonce === entry.nonce ? change(entry) : entry));
  }

  /** The key shows neither who takes part nor in what. */
  protected async _change(change: Change): Promise<Entry | undefined> {
    const { store, url, id, who } = this._settings;
    return update(store, await digestOf(`hybriddp device 1\n${url}\n${id}\n${who}`), change);
  }
}

/** What is kept, if it is not gone. */
export function present(entry: Entry): Kept {
  if (entry.gone) throw new ProtocolError(`This device has taken part, and no longer keeps it (${entry.gone}). Nothing was drawn.`, entry.gone);
  return entry;
}

/** 128 random bits. */
export function newNonce(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

/** The study and the participant that a token names. It is only read: verifying it is for the curator, who has the key. */
function readClaims({ token, study }: ClientOptions): { id: string; subject: string; who: string } {
  if (!globalThis.crypto?.subtle) throw new DeviceError("This needs https.", "crypto");
  try {
    const { aud, sub } = token ? JSON.parse(new TextDecoder().decode(bytesOf(token.split(".")[1]!))) : { aud: study, sub: "" };
    const id = String(aud ?? ""); // or a list of one
    if (/^[a-z0-9-]{1,64}$/.test(id) && (study ?? id) === id && !sub === !token) return { id, subject: sub, who: sub.normalize() }; // é has two spellings
  } catch {}
  throw new ProtocolError("The token is missing, or is not for this study. Ask for a new one.", "token");
}

/** A curator's address without a slash at its end; https, unless it is on this machine. */
function checkAddress(url: string): string {
  if (/^(https:|http:..(localhost|127.0.0.1|\[::1])[:/])/.test(`${url}/`)) return url.replace(/\/+$/, "");
  throw new ProtocolError("url must be https.", "url");
}
