/** Answers to the rounds of a K-means study for devices: where people's points are crowded, and no answer tells whose it was. */

export { ChannelError, DeviceError, HybridDPError, ProtocolError, RejectedError, UnavailableError } from "./errors.js";
export { KMeansClient, type KMeansOffer } from "./kmeans_client.js";
export { type Answer, type DrawnAnswer, type Round } from "./kmeans_round.js";
export { KMeansStudy, parseKMeansStudy } from "./kmeans_study.js";
export { type Turns } from "./kmeans_turns.js";
export { type Bytes, systemBytes } from "./random.js";
