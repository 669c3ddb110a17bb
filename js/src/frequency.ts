/** Reports of categories for devices: how frequent each is can be estimated, and no report tells whose it was. */

export { RandomizedResponse, UnaryEncoding } from "./categorical.js";
export { ChoiceResponse } from "./choice.js";
export { DiscoveryQuestion, parseDiscoveryQuestion } from "./discovery.js";
export { ChannelError } from "./errors.js";
export { type FrequencyChannel, FrequencyStudy, type Item, frequency, parseChannel, parseFrequencyStudy } from "./frequency_study.js";
export { LocalHashing } from "./hashing.js";
export { type Bytes, systemBytes } from "./random.js";
export { type Report } from "./text.js";
