/** A study of a mean as a device needs it. Its reports carry the study's digest, so that no other study takes them. */

import { WindowChannel, parseChannel } from "./channel.js";
import { ensure } from "./errors.js";
import { toUnits } from "./numeric.js";
import { type Bytes, systemBytes } from "./random.js";

/** What a device sends: a code, and the SHA-256 of the text of the study that it was made for. */
export interface Report {
  readonly study: string;
  readonly code: number;
}

/** What is asked, between which bounds and under which promise. */
export class Study {
  constructor(
    readonly name: string,
    readonly bounds: readonly [number, number],
    readonly digest: string,
    readonly channel: WindowChannel,
  ) {}

  /** One report of a value. Send it once; never draw again for the same value. */
  report(value: number, bytes: Bytes = systemBytes): Report {
    return { study: this.digest, code: this.channel.report(value, this.bounds, bytes) };
  }
}

/** The study that the curator's text describes, its channel verified for the `epsilon` that the user was shown. */
export async function parseStudy(text: string, epsilon: number | string): Promise<Study> {
  const fields = parse(text);
  const channel = parseChannel(JSON.stringify(fields.channel) ?? "", epsilon);
  ensure(fields.type === "mean" && fields.version === 2, "its study is not one of a mean");
  ensure(channel instanceof WindowChannel && fields.epsilon === channel.epsilon, "it does not fit its study");
  ensure(typeof fields.name === "string", "its study has no name");
  toUnits(0, fields.bounds); // throws unless they are bounds
  const asked = text.replace(/,"sd_at_most":[-+.\de]+}$/, "}"); // how the curator reads the answer is not asked of devices
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(asked)));
  const digest = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return new Study(fields.name, fields.bounds, digest, channel);
}

function parse(text: string): Record<string, any> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
