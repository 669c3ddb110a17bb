/** A study of a mean as a device needs it. Its reports carry the study's digest, so that no other study takes them. */

import { type AskedStudy, type Kind, type TrustedValue } from "./client/offer.js";
import { ensure } from "./errors.js";
import { areBounds, trustedNumber } from "./numeric.js";
import { isCanonicalDelta } from "./odds.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Report, digestOf, isReadable, parseFields, pythonFloat, usersText } from "./text.js";
import { isInteger } from "./window.js";
import { type WindowChannel, parseChannel } from "./window_channel.js";

type Fields = Record<string, unknown>;

/** What is asked, between which bounds and under which promise. */
export class Study implements AskedStudy {
  constructor(
    readonly name: string,
    readonly bounds: readonly [number, number],
    readonly digest: string,
    readonly channel: WindowChannel,
    readonly delta: string,
  ) {}

  /** One report of a value. Send it once; never draw again for the same value. */
  report(value: number, bytes: Bytes = systemBytes): Report {
    return { study: this.digest, code: this.channel.report(value, this.bounds, bytes) };
  }

  /** A value as somebody trusts the curator with it. */
  trusted(value: number): TrustedValue {
    return trustedNumber(value, this.bounds);
  }
}

function ensureStudy(condition: boolean, sentence: string): asserts condition {
  ensure(condition, sentence, "study");
}

/**
 * The study that the curator's text describes, its channel verified for the `epsilon` that the user was shown. Every other
 * text than the study's own is refused, as in Python.
 */
export async function parseStudy(text: string, epsilon: number | string): Promise<Study> {
  const { channelText, ...fields } = parseFields(text);
  const channel = parseChannel(channelText, epsilon);
  ensureStudy(fields.type === "mean" && fields.version === 2, "it is not one of a mean");
  ensureStudy(fields.epsilon === channel.epsilon, "its channel does not fit it");
  ensureStudy(isReadable(fields.name), "it has no name, or one with control characters");
  ensureStudy(isCanonicalDelta(fields.delta), "its delta is not a decimal up to 0.001 in its shortest form");
  ensureStudy(isInteger(fields.min_group_size, 1, Number.MAX_SAFE_INTEGER), "its smallest group is not a positive integer");
  ensureStudy(areBounds(fields.bounds), "it has no bounds");
  const asked = deviceText(fields, channel, usersText(fields.users, text));
  ensureStudy(text === asked || text === withSpread(asked, fields), "it is not in the form that studies are written in");
  return new Study(fields.name, fields.bounds, await digestOf(asked), channel, fields.delta);
}

/** The one text of a study for devices, as the Python package writes it. */
function deviceText(fields: Fields, channel: WindowChannel, users: string): string {
  const name = JSON.stringify(fields.name);
  const bounds = (fields.bounds as number[]).map(pythonFloat);
  const promise = `"epsilon":"${channel.epsilon}","delta":"${fields.delta}","min_group_size":${fields.min_group_size}`;
  return `{"type":"mean","version":2,"name":${name},"bounds":[${bounds}],${promise},"channel":${channel.text},"users":${users}}`;
}

/** The curator's text, which also says how the answer is read: that is not asked of devices. */
function withSpread(asked: string, fields: Fields): string {
  const { sd_at_most: sd, bounds } = fields;
  const width = (bounds as number[])[1]! - (bounds as number[])[0]!;
  const possible = typeof sd === "number" && sd >= 1e-6 * width && sd <= width / 2;
  return possible ? `${asked.slice(0, -1)},"sd_at_most":${pythonFloat(sd)}}` : asked;
}

/** Studies of a mean, for a client, which knows them. */
export const mean: Kind = { kind: "mean", parse: parseStudy };
