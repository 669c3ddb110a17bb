/**
 * Where a participant stands among all of a study, by a number that nobody else can choose: a hash of the study, a nonce of their device,
 * and the `sub` of their token. See the Python package's places.py.
 */

import { ChannelError } from "./errors.js";
import { characters } from "./kmeans_text.js";
import { digestOf } from "./text.js";

const LONGEST_SUBJECT = 256; // characters

/** The place of a participant, from 0 to below 2^64: one, however a later token spells the `sub`. */
export async function placeOf(study: string, subject: string, nonce: string): Promise<bigint> {
  const right = typeof subject === "string" && subject !== "" && characters(subject) <= LONGEST_SUBJECT && !/[\ud800-\udfff]/u.test(subject);
  if (!right) throw new ChannelError(`subject must be a text of 1 to ${LONGEST_SUBJECT} characters.`);
  if (!/^[0-9a-f]{32}$/.test(nonce)) throw new ChannelError("nonce must be 32 lower-case hexadecimal digits.");
  const digest = await digestOf(`hybriddp place 1\n${study}\n${nonce}\n${subject.normalize()}`);
  return BigInt(`0x${digest.slice(0, 16)}`);
}
