/** Uniform numbers from random bytes, one after the other, as the Python package's `UniformDraws` makes them. */

import { type Bytes } from "./random.js";

export class Draws {
  constructor(readonly bytes: Bytes) {}

  /** An integer of 32 bits. */
  word(): number {
    return this.#view(4).getUint32(0, true);
  }

  /** A number from 0 to below 1 with 24 bits. */
  single(): number {
    return (this.word() >>> 8) / 2 ** 24;
  }

  /** A number from 0 to below 1 with 53 bits, the upper ones of 64. */
  double(): number {
    const view = this.#view(8);
    return (view.getUint32(4, true) * 2 ** 21 + (view.getUint32(0, true) >>> 11)) / 2 ** 53;
  }

  #view(count: number): DataView<ArrayBuffer> {
    const view = new DataView(new ArrayBuffer(count));
    this.bytes(view);
    return view;
  }
}
