/** Random bytes: the platform's cryptographic source, and nothing else. */

/** Fills a view with random bytes; tests put known bytes here. */
export type Bytes = (view: DataView<ArrayBuffer>) => void;

/** The browser's or Node's own source. */
export const systemBytes: Bytes = (view) => {
  crypto.getRandomValues(new Uint8Array(view.buffer));
};
