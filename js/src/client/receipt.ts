/** Receipts: what the curator signs about a contribution, and how a device checks it. */

import { DeviceError, ProtocolError } from "../errors.js";
import { type Json } from "./exchange.js";

/** What the curator says about your contribution, signed. */
export interface Receipt {
  readonly study: string;
  readonly digest: string;
  readonly group: "local" | "trusted";
  readonly epsilon: string;
  readonly delta: string;
  /** The hash by which the curator knows the contribution again. */
  readonly commitment: string;
  /** Who says that it is yours: "participant", "relay" or "nobody". */
  readonly asserted_by: string;
  /** What the curator stores of you, in sentences. */
  readonly stored: readonly string[];
  readonly day: string;
  /** In a study of parts of the users: the part that you are counted in, and what parts are by. */
  readonly part?: string;
  readonly part_by?: string;
  /** Whether it is the receipt of a withdrawal, and whether something was subtracted then. */
  readonly withdrawn?: boolean;
  readonly opened?: boolean;
  /** Of an answer to a round of K-means: the number of the round. */
  readonly round?: number;
  /** Whether it is about enrolling for rounds, which the signed text does not say: `KMeansClient` knows. */
  readonly enrolled?: boolean;
  /** Whether it is the contribution of an earlier call, sent again: the value given now was not used. */
  readonly resent: boolean;
  /** All of it with the signature, as the curator sent it: keep this to show it to others. */
  readonly document: Json;
}

/** The bytes in a base64url text without padding. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
}

/** An Ed25519 key. A device that has none could not tell a forged receipt, so it must not draw. */
export async function importKey(x: string): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey("raw", bytesOf(x), "Ed25519", false, ["verify"]);
  } catch {
    throw new DeviceError("This browser cannot check receipts (Ed25519), so nothing was sent. Try a newer one.", "crypto");
  }
}

/**
 * Throws unless a receipt, of a contribution, a withdrawal or a batch, was signed with one of the curator's public keys: those at
 * /.well-known/hybriddp-receipts.json, a JSON Web Key Set.
 */
export async function verifyReceipt({ receipt, signature, kid }: Json, { keys }: Json): Promise<void> {
  const key = [].concat(keys).find((one: any) => one?.crv === "Ed25519" && one.kid === kid) as Json | undefined;
  if (!key) throw refused("key");
  const signed = new TextEncoder().encode(JSON.stringify(receipt, Object.keys(Object(receipt)).sort())); // no object is in it
  const right = /^[\w-]{86}$/.test(signature) && (await crypto.subtle.verify("Ed25519", await importKey(key.x), bytesOf(signature), signed));
  if (!right) throw refused("signature");
}

/** The receipt in a signed document, if it says what is expected. A withdrawal that found nothing has no commitment. */
export function readReceipt(document: Json, expected: Json, resent: boolean): Receipt {
  const said = document.receipt;
  const nothing = said.withdrawn && said.opened === false && { commitment: "" };
  if (Object.entries({ version: 1, ...expected, ...nothing }).some(([name, value]) => said[name] !== value)) throw refused("receipt");
  return { ...said, resent, document };
}

function refused(reason: string): ProtocolError {
  return new ProtocolError("The receipt is forged, or about something else.", reason);
}
