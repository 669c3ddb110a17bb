/** A curator's words as they are shown to people: on one line, and without characters that act instead of showing. */

/** A text on one line, without control and direction characters; undefined if it is no text. */
export function oneLine(content: unknown): string | undefined {
  if (typeof content === "string") return content.replace(/(?![\u200c\u200d])[\p{C}\p{Z}]+/gu, " ").trim(); // some languages need these joiners
}
