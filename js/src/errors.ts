/** What this package throws on purpose. */

/** A channel, a parameter or a value that is refused. Nothing has been drawn or sent. */
export class ChannelError extends Error {
  override name = "ChannelError";
}

/** Throws a `ChannelError` unless the condition holds; what is refused is a channel, a study or a question. */
export function ensure(condition: boolean, sentence: string, what = "channel"): asserts condition {
  if (!condition) throw new ChannelError(`The ${what} is refused: ${sentence}.`);
}
