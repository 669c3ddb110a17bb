/** Local discovery as a device needs it: the first bits of a string's code, hashed. See items/discovery.py. */

import { channelOf } from "./channel.js";
import { codeOfString, isAlphabet } from "./coding.js";
import { ChannelError, ensure } from "./errors.js";
import { LocalHashing } from "./hashing.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Report, digestOf, isReadable, parseFields } from "./text.js";

const CODE_BITS = 48;
const LEVELS = [16, 24, 32, 40, 48]; // how many bits of a code the groups report

/** Which strings of an open domain are frequent: what is asked, and under which promise. */
export class DiscoveryQuestion {
  constructor(
    readonly name: string,
    /** The characters that strings may have; empty for all bytes of UTF-8. */
    readonly alphabet: string,
    readonly digest: string,
    readonly channel: LocalHashing,
  ) {}

  /** One report of a text, from a group that is drawn first. Send it once; never draw again for the same text. */
  report(item: string, bytes: Bytes = systemBytes): Report {
    if (typeof item !== "string") throw new ChannelError("item must be a text. There is no report for what is missing.");
    const drawn = new DataView(new ArrayBuffer(4));
    bytes(drawn);
    const group = drawn.getUint32(0, true) % LEVELS.length;
    const prefix = Math.floor(codeOfString(this.alphabet, item) / 2 ** (CODE_BITS - LEVELS[group]!));
    return { study: this.digest, code: group * this.channel.codes + this.channel.report(prefix, bytes) };
  }
}

/**
 * The question that the curator's text describes, its channel verified for the `epsilon` that the user was shown. Every
 * other text than the question's own is refused, as in Python.
 */
export async function parseDiscoveryQuestion(text: string, epsilon: number | string): Promise<DiscoveryQuestion> {
  const { channelText, name, alphabet } = parseFields(text);
  const channel = channelOf(channelText, epsilon, (fields) => new LocalHashing(fields));
  ensure(isReadable(name), "it has no name, or one with control characters", "question");
  ensure(isAlphabet(alphabet), "its alphabet is not 2 to 1024 different readable characters, or none", "question");
  const asked = `"name":${JSON.stringify(name)},"epsilon":"${channel.epsilon}","alphabet":${JSON.stringify(alphabet)}`;
  const own = `{"type":"discovery","version":1,${asked},"levels":[${LEVELS}],"channel":${channel.text}}`;
  ensure(text === own, "it is not in the form that questions of local discovery are written in", "question");
  return new DiscoveryQuestion(name, alphabet, await digestOf(text), channel);
}
