/** What the texts of all studies have in common, as the Python package writes them. */

import { ensure } from "./errors.js";

type Fields = Record<string, unknown>;

/** Controls, halves of characters, what turns the direction of writing around, and what no XML may hold. */
const ACTS = /[\0-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]/u;

/** What a device sends: a code, and the SHA-256 of the text of the study that it was made for. */
export interface Report {
  readonly study: string;
  readonly code: number;
  /** The δ of what it was made for, if that is another one than the study's. */
  readonly delta?: string;
}

/** Whether a value is a text that shows something, and nothing that acts on what shows it. */
export function isReadable(value: unknown): value is string {
  return typeof value === "string" && /\S|\ufeff/.test(value) && !ACTS.test(value); // no space, as Python sees it
}

/** Which users it is about; a key that is a number stays as it is written, however long it is. */
export function usersText(users: unknown, text: string): string {
  if (users === null) return "null";
  const { by, key } = Object(users) as Fields;
  const integer = typeof key === "number" ? /"key":(0|-?[1-9]\d{0,600})}/.exec(text)?.[1] : undefined;
  const named = isReadable(key) && !/^[^\S\ufeff]|[^\S\ufeff]$/.test(key);
  ensure(isReadable(by) && (integer !== undefined || named), "it has no users", "study");
  return `{"by":${JSON.stringify(by)},"key":${integer ?? JSON.stringify(key)}}`;
}

/** What the text of a study holds, with the text of its channel; nothing if it is none. */
export function parseFields(text: string): Fields & { channelText: string } {
  try {
    const fields = Object(JSON.parse(text));
    return { ...fields, channelText: JSON.stringify(fields.channel) ?? "" };
  } catch {
    return { channelText: "" };
  }
}

/** A number as Python writes a float: with a point, or with an exponent of at least two digits. */
export function pythonFloat(x: number): string {
  const [digits, power] = x.toExponential().split("e") as [string, string];
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 16) return Number.isInteger(x) ? `${x}.0` : String(x);
  return `${digits}e${power[0]}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** The SHA-256 of a text, by which reports know their study. */
export async function digestOf(text: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** Bytes as hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
