/** Reports of a number for devices, from which quantiles are estimated; no report tells whose it was. */

export { DistributionStudy, distribution, parseDistributionStudy } from "./distribution_study.js";
export { ChannelError } from "./errors.js";
export { MaskedResponse, parseChannel } from "./masked.js";
export { type Bytes, systemBytes } from "./random.js";
export { type Report } from "./text.js";
