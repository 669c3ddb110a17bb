/** What the pages on which people take part have in common: their parts, and how things are shown. Texts are never markup. */

import { type Offer, type Receipt } from "../../src/index.js";
import { promiseOf, receiptWords } from "../../src/words.js";
import { ready } from "./ready.js";

/** Of how many people something is counted. */
export const PEOPLE = 1000;

/** The beginning of what a person is told if the curator cannot be reached and nothing is kept. */
export const UNANSWERED = "The curator does not answer now. Nothing was drawn and nothing was sent. ";

/** What a person is told, by the reason of an error. */
export const SENTENCES: Record<string, string> = {
  "bad-token": "Your token has ended, or is not for this study. Ask the organization for a new one.",
  token: "This token is not for this study, or is not complete. Ask the organization for a new one. Nothing was drawn.",
  duplicate: "Somebody has already taken part with your token: from another device, or before this one forgot. What was sent now is not counted.",
  full: "The trusted group is full. Nothing that you gave is kept, there or here. You can still take part in the other group: reload this page and choose it.",
  signature: "The curator's answer is not signed as it should be: somebody may have changed it. What you gave is kept here, and the receipt will be asked for again.",
  key: "The curator's answer is signed with a key that it does not publish. What you gave is kept here, and the receipt will be asked for again.",
  receipt: "The curator's receipt is about something else than what you gave. What you gave is kept here, and the receipt will be asked for again.",
  withdrawn: "You have withdrawn from this study. Whoever has withdrawn cannot take part again.",
  closed: "The study has closed. What this device kept of it has been deleted.",
  forgotten: "You took part from this device, and then made it forget. It can neither send nor withdraw anything any more.",
};

export const root = document.getElementById("take-part")!;
export const said = document.getElementById("said")!;
export const sent = document.getElementById("sent")!;
export const form = root instanceof HTMLFormElement ? root : undefined;
export const button = form?.querySelector<HTMLButtonElement>("button.next");
export const { study = "", digest = "", tokens } = root.dataset;
const checked = document.getElementById("checked")!;
let file = "";

/** An element with text and children; texts are never markup. */
export function make(tag: string, content: readonly (string | Node)[] = [], names: Record<string, string> = {}): HTMLElement {
  const found = document.createElement(tag);
  found.append(...content);
  for (const [name, value] of Object.entries(names)) found.setAttribute(name, value);
  return found;
}

export function say(words: string, wrong = false): void {
  ready();
  said.classList.toggle("wrongly", wrong);
  said.textContent = words;
}

/** A field of the form, or beside it where nothing is asked. */
export function field(name: string): HTMLInputElement | HTMLSelectElement | null {
  return root.querySelector(`[name="${name}"]`);
}

/** Leave nothing of what was typed in the form, which is only hidden once somebody has taken part. */
export function emptyFields(): void {
  for (const one of root.querySelectorAll<HTMLInputElement | HTMLSelectElement>('[name^="value"]')) {
    one.value = "";
  }
}

export function heading(words: string): HTMLElement {
  return make("h2", [words], { tabindex: "-1" });
}

/** Let people choose and send: everything that can be checked is right. */
export function allow(asked: HTMLFormElement): void {
  for (const choice of asked.querySelectorAll<HTMLInputElement>('[name="choice"]')) choice.disabled = "later" in choice.dataset;
  button!.disabled = false;
}

/** What the person chose of what `allow` offers: a choice that was not made stands for nothing, least of all for trust. */
export function choiceIn(asked: HTMLFormElement): "report" | "trust" | undefined {
  const chosen = asked.querySelector<HTMLInputElement>('[name="choice"]:checked:enabled')?.value;
  if (chosen === "report" || chosen === "trust") return chosen;
  say("Choose whether you trust the curator. Nothing was drawn and nothing was sent.", true);
  return undefined;
}

/** How many of 1,000 people, in words. */
export function count(chance: number): string {
  const people = PEOPLE * chance;
  return people < 10 ? people.toLocaleString("en", { maximumSignificantDigits: 2 }) : people.toFixed();
}

/** How often something happens for each of some values, as bars side by side; those of one's own stand out. */
export function bars(rows: readonly { words: string; chance: number; mine: boolean }[]): HTMLElement {
  const largest = Math.max(...rows.map((row) => row.chance));
  const cells = rows.flatMap(({ words, chance, mine }) => {
    const style = mine ? " mine" : "";
    const bar = make("i");
    bar.style.width = `calc((100% - 8rem) * ${(chance / largest).toFixed(4)})`; // beside it stand the words
    return [make("div", [words], { class: style }), make("div", [bar, make("span", [`${count(chance)} of ${PEOPLE.toLocaleString("en")}`])], { class: `bar${style}` })];
  });
  return make("div", cells, { class: "odds" });
}

/** How many times as likely anything can be, at most: never rounded down. */
export function timesOf(epsilon: string): string {
  const odds = Math.exp(Number(epsilon));
  const step = 10 ** (Math.floor(Math.log10(odds)) - 2);
  return (Math.ceil(odds / step) * step).toLocaleString("en", { maximumSignificantDigits: 3 });
}

/** Bodies that were sent, to the last letter, each to its path below the study. */
export function everything(sent: readonly { path: string; body: string }[], summary = "Everything that was sent, to the last letter"): HTMLElement {
  const token = tokens === "yes" ? "Authorization: Bearer (your token)\n" : "";
  const words = "The nonce is a random number. With it the curator knows the same contribution again, and you can withdraw.";
  const texts = sent.map(({ path, body }) => make("pre", [`POST /studies/${study}/${path}\n${token}\n${body}`]));
  return make("details", [make("summary", [summary]), ...texts, make("p", [words], { class: "hint" })]);
}

/** A receipt in words, and as a file; the first line may be another. */
export function receiptOf(receipt: Receipt, lead?: string): HTMLElement[] {
  const [first = "", ...lines] = receiptWords({ ...receipt, resent: false }).split("\n");
  const items = lines.filter((line) => line.startsWith("- ")).map((line) => make("li", [line.slice(2)]));
  const rest = lines.filter((line) => !line.startsWith("- ")).map((line) => make("p", [line]));
  URL.revokeObjectURL(file); // that of the receipt before
  file = URL.createObjectURL(new Blob([JSON.stringify(receipt.document, null, 1)], { type: "application/json" }));
  const save = make("a", ["Save the receipt"], { href: file, download: `receipt-${study}.json` });
  const whole = "The curator has signed it, and this device has checked the signature.";
  return [heading("Your receipt"), make("p", [lead ?? first]), ...rest, make("ul", items), make("p", [`${whole} `, save])];
}

/** Buttons, in a row. */
export function actions(buttons: readonly (readonly [string, () => Promise<void>, string])[]): HTMLElement {
  const row = make("div", [], { class: "actions" });
  for (const [words, act, style] of buttons) {
    const one = make("button", [words], { type: "button", class: style });
    one.addEventListener("click", () => void act());
    row.append(one);
  }
  return row;
}

/** What this device has checked of a study, and of its channels; and the promise in full. */
export function showChecked(found: Offer, proved: readonly string[]): void {
  const facts = [`The study's text has the digest that it claims, ${found.digest.slice(0, 12)}…`, ...proved, "This browser can check the signature of a receipt."];
  checked.hidden = false;
  checked.replaceChildren(
    make("h2", ["What this device has checked"]),
    make("ul", facts.map((fact) => make("li", [fact]))),
    make("details", [make("summary", ["The promise in full"]), make("pre", [promiseOf(found)])]),
  );
}
