/**
 * Items of an open domain: which of them a study can show, and the integer by which a trusted one is committed to. See the Python
 * package's shares/categories.py and items/integers.py.
 */

import { hex, isReadable } from "./text.js";

/** What results call the items that no study shows. */
export const OTHER = "(other)";
const LONGEST = 64; // bytes of UTF-8 that a server keeps

/** What nobody can see, or what has no meaning of its own; letters that are blank all the same. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\u{e0100}-\u{e01ef}]/u;

/** What turns a symbol into a picture, and does nothing to anything else. */
const PRESENTATION = /(?<![\u2000-\u{10ffff}])[\ufe0e\ufe0f]|[^\p{So}][\ufe0e\ufe0f]/u;

/**
 * Characters that Unicode 15 to 17 have added. A server may not know them, counts such an item as other, and signs that; so the device
 * sends it as other.
 */
const NEWER =
  /[\u088f\u0897\u0c5c\u0cdc\u0cf3\u0ece\u1acf-\u1aeb\u1b4e\u1b4f\u1b7f\u1c89\u1c8a\u20c1\u2427-\u2429\u2b96\u2ffc-\u2fff\u31e4-\u31ef\ua7cb-\ua7cf\ua7d2\ua7d4\ua7da-\ua7f1\ufbc3-\ufbd2\ufd90\ufd91\ufdc8-\ufdce\u{105c0}-\u{105f3}\u{10940}-\u{10959}\u{10d40}-\u{10d8f}\u{10ec2}-\u{10eff}\u{1123f}-\u{11241}\u{11380}-\u{113e2}\u{116d0}-\u{116e3}\u{11b00}-\u{11bf9}\u{11db0}-\u{11de9}\u{11f00}-\u{11f5a}\u{1342f}\u{13439}-\u{143fa}\u{16100}-\u{16139}\u{16d40}-\u{16d79}\u{16ea0}-\u{16ed3}\u{16ff2}-\u{16ff6}\u{187f8}-\u{187ff}\u{18cff}\u{18d09}-\u{18df2}\u{1b132}\u{1b155}\u{1cc00}-\u{1cef0}\u{1d2c0}-\u{1d2d3}\u{1df25}-\u{1df2a}\u{1e030}-\u{1e08f}\u{1e4d0}-\u{1e6ff}\u{1f6d8}-\u{1f6dc}\u{1f774}-\u{1f77f}\u{1f7d9}\u{1f8b2}-\u{1f8d8}\u{1fa54}-\u{1fa57}\u{1fa75}-\u{1fa77}\u{1fa87}-\u{1fa8f}\u{1faad}-\u{1faaf}\u{1fabb}-\u{1fabf}\u{1fac6}-\u{1facf}\u{1fada}-\u{1fadf}\u{1fae8}-\u{1faef}\u{1faf7}\u{1faf8}\u{1fbcb}-\u{1fbef}\u{1fbfa}\u{2b739}-\u{2b73f}\u{2cea2}-\u{2cead}\u{2ebf0}-\u{2ee5d}\u{31350}-\u{33479}]/u;

/** Whether a result can show an item: two that look the same are the same, as far as a character can tell. */
export function isShown(item: string): boolean {
  return isReadable(item) && item !== OTHER && !UNSEEN.test(item) && !PRESENTATION.test(item);
}

/** A trusted person's item as a server keeps it: other, if no study could show it or if it is too long. */
export function keptItem(item: string): string {
  const kept = isShown(item) && !NEWER.test(item);
  return kept && new TextEncoder().encode(item).length <= LONGEST ? item : OTHER;
}

/** The number whose bytes are 1 and the item in UTF-8, in decimal: it is too large for a number of JavaScript. */
export function integerOfItem(item: string): string {
  return BigInt(`0x01${hex(new TextEncoder().encode(item))}`).toString();
}
