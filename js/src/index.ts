/** hybriddp for devices: a report is randomized before it leaves. Zero dependencies; browsers and Node. */

export { type AnyChannel, RandomizedResponse, UnaryEncoding, WindowChannel, parseChannel } from "./channel.js";
export { ChannelError } from "./errors.js";
export { type Bytes, systemBytes } from "./random.js";
export { type Report, Study, parseStudy } from "./study.js";
