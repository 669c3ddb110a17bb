/**
 * What this package throws on purpose. Every error has a `reason`, a word by which programs decide, and a sentence for people.
 * No sentence shows a value, a code or a token.
 *
 *     HybridDPError
 *     ├── ChannelError        a channel, a parameter or a value is refused; nothing was drawn
 *     ├── ProtocolError       a study, a receipt or a token is not what it claims to be, or this device has done otherwise before
 *     │   └── RejectedError   the curator refuses, and sending again does not help
 *     ├── UnavailableError    the curator cannot be reached, or asks to come back later: call again
 *     └── DeviceError         this device cannot keep what it draws, or cannot check signatures
 */

/** What all errors of this package have in common. */
export class HybridDPError extends Error {
  constructor(
    message: string,
    /** Why, in a word. */
    readonly reason = "value",
  ) {
    super(message);
  }
}

/** A channel or a study (`reason` is "channel", "study" or "question"), a parameter or a value ("value") that is refused. Nothing has been drawn or sent. */
export class ChannelError extends HybridDPError {
  override name = "ChannelError";
}

/**
 * Something is not what it claims to be: a study ("study", "digest", "kind", "channel", "promise"), a receipt ("signature", "key",
 * "receipt"), a round of K-means ("round", "turns"), a token ("token") or an address ("url"). Or this device is in the other group ("group"), keeps
 * nothing ("nothing"), or no longer keeps what it sent ("withdrawn", "closed", "forgotten").
 */
export class ProtocolError extends HybridDPError {
  override name = "ProtocolError";
}

/** The curator refuses; `reason` is the curator's: "bad-token", "wrong-digest", "closed", "duplicate", "out-of-range", … */
export class RejectedError extends ProtocolError {
  override name = "RejectedError";
}

/** The curator cannot be reached ("unreachable") or takes no requests now ("unavailable", "too-many"). Calling again is safe. */
export class UnavailableError extends HybridDPError {
  override name = "UnavailableError";
}

/** This device cannot keep what it draws ("store"), or cannot compute hashes or check signatures ("crypto"). Nothing was sent. */
export class DeviceError extends HybridDPError {
  override name = "DeviceError";
}

/** Throws a `ChannelError` unless the condition holds; what is refused is a channel, a study or a question. */
export function ensure(condition: boolean, sentence: string, what = "channel"): asserts condition {
  if (!condition) throw new ChannelError(`The ${what} is refused: ${sentence}.`, what);
}
