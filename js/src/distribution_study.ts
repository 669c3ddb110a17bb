/** A study of the distribution of a number, as a device needs it. See the Python package's distribution/study.py. */

import { binOf, binsOf } from "./bins.js";
import { type AskedStudy, type Kind, type TrustedValue } from "./client/offer.js";
import { ensure } from "./errors.js";
import { MaskedResponse, parseChannel } from "./masked.js";
import { UNITS, areBounds, toUnits } from "./numeric.js";
import { type Bytes, systemBytes } from "./random.js";
import { type Report, digestOf, isReadable, parseFields, pythonFloat, usersText } from "./text.js";
import { isInteger } from "./window.js";

/** What is asked, between which bounds, in which bins and under which promise. */
export class DistributionStudy implements AskedStudy {
  readonly epsilon: string;
  readonly delta = "0";
  readonly #cuts: readonly number[];

  constructor(
    readonly name: string,
    readonly bounds: readonly [number, number],
    cuts: readonly number[],
    readonly digest: string,
    readonly channel: MaskedResponse,
  ) {
    this.epsilon = channel.epsilon;
    this.#cuts = cuts;
  }

  /** One report of a value. Send it once; never draw again for the same value. */
  report(value: number, bytes: Bytes = systemBytes): Report {
    return { study: this.digest, code: this.channel.report(this.binOf(value), bytes) };
  }

  /** A value as somebody trusts the curator with it: its bin, and the number in the middle of that. No more leaves the device. */
  trusted(value: number): TrustedValue {
    const integer = this.binOf(value);
    const [first, next] = [this.#cuts[integer - 1] ?? 0, this.#cuts[integer] ?? UNITS + 1];
    const units = Math.floor((first + next - 1) / 2);
    const [lower, upper] = this.bounds;
    const middle = units === UNITS ? upper : lower + units * ((upper - lower) / UNITS);
    const same = this.binOf(middle) === integer; // not in a bin of two units where floats are as far apart
    return { integer, value: same ? middle : Math.min(Math.max(value, lower), upper) };
  }

  /** The bin that a value is in, from 0 to 255. */
  binOf(value: number): number {
    return binOf(this.#cuts, toUnits(value, this.bounds));
  }
}

/**
 * The study that the curator's text describes, its channel verified for the `epsilon` that the user was shown. Every other
 * text than the study's own is refused, as in Python.
 */
export async function parseDistributionStudy(text: string, epsilon: number | string): Promise<DistributionStudy> {
  const { channelText, name, bounds, scale, users, ...fields } = parseFields(text);
  const channel = parseChannel(channelText, epsilon);
  ensure(fields.type === "distribution" && fields.version === 2, "it is not one of a distribution", "study");
  ensure(isReadable(name), "it has no name, or one with control characters", "study");
  ensure(areBounds(bounds), "it has no bounds", "study");
  ensure(isInteger(fields.min_group_size, 1, Number.MAX_SAFE_INTEGER), "its smallest group is not a positive integer", "study");
  const bins = binsOf(scale, bounds);
  const asked = `"name":${JSON.stringify(name)},"bounds":[${bounds.map(pythonFloat)}]`;
  const promise = `"epsilon":"${channel.epsilon}","min_group_size":${fields.min_group_size}`;
  const how = `"scale":${bins.scale},"cuts":[${bins.cuts}],"channel":${channel.text},"users":${usersText(users, text)}`;
  const own = `{"type":"distribution","version":2,${asked},${promise},${how}}`;
  ensure(text === own, "it is not in the form that studies are written in", "study");
  return new DistributionStudy(name, Object.freeze(bounds), bins.cuts, await digestOf(text), channel);
}

/** Studies of a distribution, for a client: `new Client(url, { kinds: [distribution] })`. */
export const distribution: Kind = { kind: "distribution", parse: parseDistributionStudy };
