/**
 * Take part, on the device: check the study, draw once, keep, send, and show what left. What the server wrote on the page stays; what
 * is added here is text, never markup.
 */

import { distribution } from "../src/distribution_study.js";
import { frequency } from "../src/frequency_study.js";
import { type Entry, type Kept, type Offer, type Receipt, Client, HybridDPError, UnavailableError } from "../src/index.js";
import { likelihoodOf, promiseOf, receiptWords } from "../src/words.js";

type Value = number | string;

/** What a study asks for, as its verified text says it. */
interface Question {
  readonly bounds?: readonly [number, number];
  readonly categories?: readonly Value[];
  readonly other?: boolean;
  readonly channel: { readonly text: string };
}

const AGAIN = 20_000; // milliseconds until what has not arrived is sent again
const PEOPLE = 1000;
const MOST_ROWS = 12;
const SENTENCES: Record<string, string> = {
  "bad-token": "Your token has ended, or is not for this study. Ask the organization for a new one.",
  token: "This token is not for this study, or is not complete. Ask the organization for a new one. Nothing was drawn.",
  duplicate: "Somebody has already taken part with your token: from another device, or before this one forgot. What was sent now is not counted.",
  signature: "The curator's answer is not signed as it should be: somebody may have changed it. What you gave is kept here, and the receipt will be asked for again.",
  key: "The curator's answer is signed with a key that it does not publish. What you gave is kept here, and the receipt will be asked for again.",
  receipt: "The curator's receipt is about something else than what you gave. What you gave is kept here, and the receipt will be asked for again.",
  withdrawn: "You have withdrawn from this study. Whoever has withdrawn cannot take part again.",
  closed: "The study has closed. What this device kept of it has been deleted.",
  forgotten: "You took part from this device, and then made it forget. It can neither send nor withdraw anything any more.",
};

const root = document.getElementById("take-part")!;
const said = document.getElementById("said")!;
const sent = document.getElementById("sent")!;
const checked = document.getElementById("checked")!;
const form = root instanceof HTMLFormElement ? root : undefined;
const button = form?.querySelector<HTMLButtonElement>("button.next");
const { study = "", digest = "", tokens } = root.dataset;

let client: Client | undefined;
let offer: Offer | undefined;
let own: Value | undefined; // as long as the page is open; what is kept of a report does not have it
let timer: ReturnType<typeof setTimeout> | undefined;

/** An element with text and children; texts are never markup. */
function make(tag: string, content: readonly (string | Node)[] = [], names: Record<string, string> = {}): HTMLElement {
  const found = document.createElement(tag);
  found.append(...content);
  for (const [name, value] of Object.entries(names)) found.setAttribute(name, value);
  return found;
}

function say(words: string, wrong = false): void {
  said.classList.toggle("wrongly", wrong);
  said.textContent = words;
}

/** A field of the form, or beside it where nothing is asked. */
function field(name: string): HTMLInputElement | HTMLSelectElement | null {
  return root.querySelector(`[name="${name}"]`);
}

function clientFor(token: string): Client {
  const options = { study, digest, kinds: [frequency, distribution], attempts: 2, timeout: 10_000 };
  return new Client(location.origin, token ? { ...options, token } : options);
}

/** Begin, or begin anew with another token: check the study, and look at what the device keeps. */
async function begin(): Promise<void> {
  const token = field("token")?.value.trim() ?? "";
  rest();
  try {
    client = undefined;
    const found = clientFor(token);
    if (token || tokens === "no") client = found;
    const entry = await client?.kept();
    if (entry) show(entry);
    offer = await found.study();
    if (form) {
      showChecked(offer);
      allow(form);
    }
    if (entry) await resume();
  } catch (error) {
    await explain(error);
  }
}

/** Let a private report be chosen: everything that can be checked is right. */
function allow(asked: HTMLFormElement): void {
  asked.querySelector<HTMLInputElement>('[value="report"]')!.disabled = false;
  document.getElementById("by-hand")?.removeAttribute("open");
}

/** Send what has no receipt yet; show what the device has of it. */
async function resume(): Promise<void> {
  rest();
  try {
    const receipt = await client!.resume();
    const entry = await client!.kept();
    if (entry) show(entry, receipt);
    if (receipt && !entry?.gone) say("The curator has what you gave, and has signed a receipt.");
  } catch (error) {
    await explain(error);
  }
}

/** What happened, and what happens next. What was drawn and has not arrived is sent again, as it is. */
async function explain(error: unknown): Promise<void> {
  const entry = await client?.kept().catch(() => undefined);
  if (entry) show(entry);
  if (!(error instanceof HybridDPError)) return say("Something went wrong on this page. Reload it; nothing is drawn twice.", true);
  const kept = entry && !entry.gone;
  if (error instanceof UnavailableError) {
    say(
      kept
        ? "The curator does not answer now. What was drawn is kept on this device and is not drawn again: the same bytes are sent again every few seconds while this page is open, and when you come back."
        : "The curator does not answer now. Nothing was drawn and nothing was sent; what you typed is still here. Try again in a moment.",
      true,
    );
    if (kept) again();
    return;
  }
  if (!offer && /^(digest|study|kind|channel|promise)$/.test(error.reason)) form?.replaceChildren(); // not to be asked
  if (kept && /^(signature|key|receipt)$/.test(error.reason)) again();
  say(SENTENCES[error.reason] ?? error.message, true);
}

/** Do not send again by itself. */
function rest(): void {
  clearTimeout(timer);
  timer = undefined;
}

function again(): void {
  rest();
  timer = setTimeout(() => void resume(), AGAIN);
}

/** The value or category that was chosen. */
function chosen(): Value {
  const control = field("value")!;
  const { categories } = offer!.study as unknown as Question;
  return categories ? (categories[Number(control.value)] ?? otherThan(categories)) : Number(control.value);
}

async function submit(): Promise<void> {
  if (!client) await begin();
  if (!client) return say(SENTENCES["token"]!, true);
  button!.disabled = true;
  const choice = new FormData(form).get("choice") === "report" ? "report" : "trust";
  say(choice === "report" ? "Your device draws a code, keeps it, and sends it …" : "Your device keeps what you typed, and sends it …");
  try {
    offer ??= await client.study();
    own = chosen();
    const receipt = await client[choice](own);
    show((await client.kept())!, receipt);
    say(receipt.resent ? "You had taken part from this device before: what was kept was sent again, and what you typed now was not used." : "Thank you. You have taken part.");
    sent.querySelector("h2")?.focus();
  } catch (error) {
    await explain(error);
  }
  button!.disabled = false;
}

async function withdraw(): Promise<void> {
  if (!confirm("Withdraw what you gave? It is subtracted, and you cannot take part in this study again.")) return;
  rest();
  say("Withdrawing …");
  try {
    const receipt = await client!.withdraw();
    show((await client!.kept())!, receipt);
    say("You have withdrawn. What you gave is subtracted and forgotten, there and here.");
    said.focus();
  } catch (error) {
    const words = error instanceof UnavailableError ? "The curator does not answer now. Nothing was withdrawn yet: try again in a moment." : undefined;
    if (words) say(words, true);
    else await explain(error);
  }
}

async function forget(): Promise<void> {
  if (!confirm("Delete what this device keeps? Afterwards you can neither withdraw nor send it again.")) return;
  rest();
  await client!.forget();
  own = undefined;
  const entry = await client!.kept();
  if (entry) show(entry);
  else {
    sent.hidden = true;
    form?.removeAttribute("hidden");
  }
  say("This device has forgotten what it kept.");
  said.focus();
}

/** What left the device, or what is left of it. */
function show(entry: Entry, receipt?: Receipt): void {
  if (form) form.hidden = true;
  document.getElementById("by-hand")?.remove();
  sent.hidden = false;
  const document_ = receipt?.document ?? entry.receipt;
  const told = receipt ?? (document_ && ({ ...document_["receipt"], resent: false, document: document_ } as Receipt));
  if (entry.gone) {
    sent.replaceChildren(heading(entry.gone === "withdrawn" ? "You have withdrawn" : "Nothing is kept here"), make("p", [SENTENCES[entry.gone]!]), ...(told ? receiptOf(told) : []));
    return;
  }
  sent.replaceChildren(...(entry.group === "local" ? leftOf(entry) : givenOf(entry)), ...(told ? receiptOf(told) : notYet()), ...keptHere(entry));
}

function heading(words: string): HTMLElement {
  return make("h2", [words], { tabindex: "-1" });
}

function leaving(entry: Kept): HTMLElement {
  return heading(entry.receipt ? "What left your device" : "What leaves your device");
}

/** A report: the code, how likely it was, and everything that was sent. */
function leftOf(entry: Kept): HTMLElement[] {
  return [
    leaving(entry),
    make("p", [make("span", [`Code ${entry.integer.toLocaleString("en")}`], { class: "code" })]),
    ...(offer ? odds(offer, Number(entry.integer)) : []),
    everything(entry),
  ];
}

/** How many of 1,000 people would have sent this code, for one's own value and for very different ones, side by side. */
function odds(found: Offer, code: number): HTMLElement[] {
  const { bounds, categories, other, channel } = found.study as unknown as Question;
  const { values, labels } = JSON.parse(channel.text);
  const per = values ?? labels; // codes for each public pattern
  const noun = categories ? "answers" : "numbers";
  const chanceOf = (value: Value) => likelihoodOf(found, value, code);
  const compared = categories ? someOf(categories, other) : far(bounds!, chanceOf);
  const chances = compared.map(chanceOf);
  const largest = Math.max(...chances);
  const rows = compared.flatMap((value, i) => {
    const mine = value === own ? " mine" : "";
    const isOther = categories && !categories.includes(value);
    const words = isOther ? "something else" : shown(value);
    const bar = make("i");
    bar.style.width = `calc((100% - 8rem) * ${(chances[i]! / largest).toFixed(4)})`; // beside it stand the words
    return [make("div", [mine ? `yours: ${words}` : words], { class: mine }), make("div", [bar, make("span", [`${count(chances[i]!)} of ${PEOPLE.toLocaleString("en")}`])], { class: `bar${mine}` })];
  });
  const pattern = per ? `First your device drew a pattern, number ${Math.floor(code / per).toLocaleString("en")}, without looking at what you typed. ` : "";
  const same = per ? " whose devices drew the same pattern" : "";
  const odds = Math.exp(Number(found.epsilon));
  const step = 10 ** (Math.floor(Math.log10(odds)) - 2);
  const times = (Math.ceil(odds / step) * step).toLocaleString("en", { maximumSignificantDigits: 3 }); // never rounded down
  return [
    make("p", [`${pattern}Of ${PEOPLE.toLocaleString("en")} people with each of these ${noun}${same}, so many would have sent this code:`]),
    make("div", rows, { class: "odds" }),
    make("p", [`Whatever you had typed, this code could have come out. With none of all ${noun} is it more than ${times} times as likely as with another: that is what ε = ${found.epsilon} says.`]),
  ];
}

/** One's own number, and the one for which the code is most different, the farthest if there are several; both bounds if it is no longer known. */
function far([lower, upper]: readonly [number, number], chanceOf: (value: number) => number): number[] {
  if (typeof own !== "number") return [lower, upper];
  const mine = own;
  const unlike = (value: number) => Math.abs(Math.log(chanceOf(value) / chanceOf(mine))) + (1e-6 * Math.abs(value - mine)) / (upper - lower);
  const places = Array.from({ length: 17 }, (_, i) => lower + ((upper - lower) * i) / 16);
  return [mine, places.reduce((best, place) => (unlike(place) > unlike(best) ? place : best))];
}

/** One's own category first, and others, up to a dozen. */
function someOf(categories: readonly Value[], other?: boolean): Value[] {
  const all = [...categories, ...(other ? [otherThan(categories)] : [])];
  const rest = all.filter((item) => item !== own).slice(0, MOST_ROWS - 1);
  return own !== undefined && all.includes(own) ? [own, ...rest] : rest;
}

/** An item that is none of the categories, and counts as other. */
function otherThan(categories: readonly Value[]): Value {
  return typeof categories[0] === "string" ? "(other)" : Math.max(...(categories as number[])) + 1;
}

function shown(value: Value): string {
  return typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : value;
}

function count(chance: number): string {
  const people = PEOPLE * chance;
  return people < 10 ? people.toLocaleString("en", { maximumSignificantDigits: 2 }) : people.toFixed();
}

function givenOf(entry: Kept): HTMLElement[] {
  const { value } = JSON.parse(entry.body) as { value: Value };
  return [
    leaving(entry),
    make("p", ["You trusted the curator with this:"]),
    make("p", [make("span", [shown(value)], { class: "code" })]),
    everything(entry),
  ];
}

function everything(entry: Kept): HTMLElement {
  const path = `/studies/${study}/${entry.group === "local" ? "reports" : "values"}`;
  const token = tokens === "yes" ? "Authorization: Bearer (your token)\n" : "";
  const words = "The nonce is a random number. With it the curator knows the same contribution again, and you can withdraw.";
  return make("details", [make("summary", ["Everything that was sent, to the last letter"]), make("pre", [`POST ${path}\n${token}\n${entry.body}`]), make("p", [words], { class: "hint" })]);
}

function receiptOf(receipt: Receipt): HTMLElement[] {
  const [first = "", ...lines] = receiptWords({ ...receipt, resent: false }).split("\n");
  const items = lines.filter((line) => line.startsWith("- ")).map((line) => make("li", [line.slice(2)]));
  const rest = lines.filter((line) => !line.startsWith("- ")).map((line) => make("p", [line]));
  const file = URL.createObjectURL(new Blob([JSON.stringify(receipt.document, null, 1)], { type: "application/json" }));
  const save = make("a", ["Save the receipt"], { href: file, download: `receipt-${study}.json` });
  const whole = "The curator has signed it, and this device has checked the signature.";
  return [heading("Your receipt"), make("p", [first]), ...rest, make("ul", items), make("p", [`${whole} `, save])];
}

function notYet(): HTMLElement[] {
  return [heading("No receipt yet"), make("p", ["The curator has not confirmed it. It is kept here and sent again as it is, until there is a receipt."])];
}

function keptHere(entry: Kept): HTMLElement[] {
  const what = entry.group === "local" ? "the code and the nonce, with the receipt once there is one; not what you typed" : "what you gave and the nonce, with the receipt once there is one";
  const actions = make("div", [], { class: "actions" });
  for (const [words, act, style] of [["Withdraw", withdraw, "danger"], ["Forget it on this device", forget, ""], ...(entry.receipt ? [] : [["Send it again now", resume, "next"] as const])] as const) {
    const one = make("button", [words], { type: "button", class: style });
    one.addEventListener("click", () => void act());
    actions.append(one);
  }
  const until = "It is needed to send the same again and to withdraw. When you come back after the study has closed, it is deleted.";
  return [heading("What this device keeps"), make("p", [`This browser keeps ${what}. ${until}`]), actions];
}

function showChecked(found: Offer): void {
  const facts = [
    `The study's text has the digest that it claims, ${found.digest.slice(0, 12)}…`,
    `Its channel keeps ε = ${found.epsilon}. This is proved in whole numbers, here.`,
    "This browser can check the signature of a receipt.",
  ];
  checked.hidden = false;
  checked.replaceChildren(
    make("h2", ["What this device has checked"]),
    make("ul", facts.map((fact) => make("li", [fact]))),
    make("details", [make("summary", ["The promise in full"]), make("pre", [promiseOf(found)])]),
  );
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  void submit();
});
field("token")?.addEventListener("change", () => void begin());
addEventListener("online", () => void (timer && resume()));
void begin();
