/** hybriddp for devices: a report is randomized before it leaves. Zero dependencies; browsers and Node. */

export { RandomizedResponse, UnaryEncoding } from "./categorical.js";
export { ChannelError } from "./errors.js";
export { type Bytes, systemBytes } from "./random.js";
export { Study, parseStudy } from "./study.js";
export { type Report } from "./text.js";
export { type AnyChannel, WindowChannel, parseChannel } from "./window_channel.js";
