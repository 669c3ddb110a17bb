/** Channels as a device needs them: parse, verify, report. A channel that has not been verified cannot exist. */

import { ChannelError, ensure } from "./errors.js";
import { canonicalEpsilon } from "./odds.js";
import { type Bytes } from "./random.js";
import { parseFields } from "./text.js";
import { isInteger } from "./window.js";

export type Fields = Record<string, any>;

const LONGEST = 2 ** 24;

/** What all channels have in common. */
export abstract class Channel {
  abstract readonly epsilon: string;
  /** How many random bytes one report uses up. */
  abstract readonly bytesPerReport: number;
  /** The text of the channel; there is only one. */
  abstract readonly text: string;

  protected random(bytes: Bytes): DataView<ArrayBuffer> {
    const view = new DataView(new ArrayBuffer(this.bytesPerReport));
    bytes(view);
    return view;
  }
}

/** The channel that `build` makes of a text's fields, verified; every text but the channel's own is refused. */
export function channelOf<C extends Channel>(text: string, epsilon: number | string, build: (fields: Fields) => C): C {
  const promised = canonicalEpsilon(epsilon);
  ensure(typeof text === "string" && text.length <= LONGEST, "its text is missing, or longer than 2^24 characters");
  const channel = build(parseFields(text));
  ensure(channel.text === text, "its text is not in the form that channels are written in");
  ensure(channel.epsilon === promised, `it is for epsilon ${channel.epsilon}, but ${promised} was promised`);
  return channel;
}

/** Throws unless a category is one of so many. */
export function checkCategory(category: number, categories: number): void {
  if (!isInteger(category, 0, categories - 1)) {
    throw new ChannelError(`category must be an integer from 0 to ${categories - 1}, got category=${String(category)}.`);
  }
}
