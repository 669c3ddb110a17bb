/** Frequent items that nobody has listed, for devices: those who trust make the list, and the others are asked about it. */

export { ChannelError, RejectedError } from "./errors.js";
export { FrequencyStudy, type Item } from "./frequency_study.js";
export { HeavyHitterStudy, type ListQuestion, heavyHitters, parseHeavyHitterStudy } from "./heavy_study.js";
export { type Bytes, systemBytes } from "./random.js";
export { type Report } from "./text.js";
