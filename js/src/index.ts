/** hybriddp for devices: a report is randomized before it leaves. Zero dependencies; browsers and Node. */

export { Client, type ClientOptions } from "./client/client.js";
export { type Retries } from "./client/exchange.js";
export { type AskedStudy, type Kind, type Offer, type TrustedValue } from "./client/offer.js";
export { type Receipt, verifyReceipt } from "./client/receipt.js";
export { type AtomicStore, type Change, type Entry, type Gone, type Kept, type KeptAnswer, type SimpleStore, type Store } from "./client/store.js";
export { ChannelError, DeviceError, HybridDPError, ProtocolError, RejectedError, UnavailableError } from "./errors.js";
export { type Bytes, systemBytes } from "./random.js";
export { Study, parseStudy } from "./study.js";
export { type Report } from "./text.js";
export { WindowChannel, parseChannel } from "./window_channel.js";
