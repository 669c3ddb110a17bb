/**
 * Take part, on the device: check the study, draw once, keep, send, and show what left. What the server wrote on the page stays; what
 * is added here is text, never markup.
 */

import { distribution } from "../src/distribution_study.js";
import { frequency } from "../src/frequency_study.js";
import { heavyHitters } from "../src/heavy_study.js";
import { type Entry, type Kept, type Offer, type Receipt, Client, HybridDPError, UnavailableError } from "../src/index.js";
import { OTHER } from "../src/items.js";
import { likelihoodOf } from "../src/words.js";
import { deleteKept } from "./parts/ended.js";
import { ready } from "./parts/ready.js";
import { IN_LIST, answered, asksForItem, channelFacts, isInList } from "./parts/items.js";
import { PEOPLE, SENTENCES, UNANSWERED, actions, allow, bars, button, choiceIn, digest, emptyFields, everything, field, form, heading, make, receiptOf, said, say, sent, showChecked, study, timesOf, tokens } from "./parts/show.js";

type Value = number | string;

const AGAIN = 20_000; // milliseconds until what has not arrived is sent again
const MOST_ROWS = 12;
let client: Client | undefined;
let offer: Offer | undefined;
let own: Value | undefined; // as long as the page is open; what is kept of a report does not have it
let timer: ReturnType<typeof setTimeout> | undefined;

function clientFor(token: string): Client {
  const options = { study, digest, kinds: [frequency, distribution, heavyHitters], attempts: 2, timeout: 10_000 };
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
    ready();
    if (form) {
      showChecked(offer, channelFacts(offer));
      allow(form);
    }
    if (entry) await resume();
    if (/closed|released|withdrawn/.test(offer.state) && (await deleteKept([digest, answered(offer).digest])) && !entry) say(SENTENCES["closed"]!);
  } catch (error) {
    await explain(error);
  }
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
        : UNANSWERED + (offer ? "What you typed is still here. Try again in a moment." : "This page tries again every few seconds."),
      true,
    );
    if (kept || !offer) again();
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
  timer = setTimeout(() => void goOn(), AGAIN);
}

/** What comes next, if nobody does anything: a study that has not been checked is checked first. */
function goOn(): Promise<void> {
  return offer ? resume() : begin();
}

/** The value or category that was chosen. */
function chosen(): Value {
  const control = field("value")!;
  if (asksForItem(offer!)) return control.value.trim();
  const { categories } = answered(offer!);
  return categories ? (categories[Number(control.value)] ?? otherThan(categories)) : Number(control.value);
}

async function submit(): Promise<void> {
  if (!client) await begin();
  if (!client) return say(SENTENCES["token"]!, true);
  if (form!.hidden) return; // this device has taken part before, and that is shown
  const choice = choiceIn(form!);
  if (!choice) return;
  button!.disabled = true;
  say(choice === "report" ? "Your device draws a code, keeps it, and sends it …" : "Your device keeps what you typed, and sends it …");
  try {
    const value = chosen();
    own = (await client.kept()) ? undefined : value; // what was drawn before was not drawn for this
    const receipt = await client[choice](value);
    if (receipt.resent) own = undefined;
    show((await client.kept())!, receipt);
    say(receipt.resent ? "You had taken part from this device before: what was kept was sent again, and what you typed now was not used." : "Thank you. You have taken part.");
    sent.querySelector("h2")?.focus();
  } catch (error) {
    await explain(error);
  } finally {
    button!.disabled = false;
  }
}

async function withdraw(): Promise<void> {
  if (!confirm("Withdraw what you gave? It is subtracted, and you cannot take part in this study again.")) return;
  rest();
  say("Withdrawing …");
  try {
    const receipt = await client!.withdraw();
    own = undefined;
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
    sent.replaceChildren(); // not only out of sight
    sent.hidden = true;
    form?.removeAttribute("hidden");
  }
  say("This device has forgotten what it kept.");
  said.focus();
}

/** What left the device, or what is left of it. */
function show(entry: Entry, receipt?: Receipt): void {
  if (form) form.hidden = true;
  emptyFields();
  sent.hidden = false;
  const document_ = receipt?.document ?? entry.receipt;
  const told = receipt ?? (document_ && ({ ...document_["receipt"], resent: false, document: document_ } as Receipt));
  if (entry.gone) {
    sent.replaceChildren(heading(entry.gone === "withdrawn" ? "You have withdrawn" : "Nothing is kept here"), make("p", [SENTENCES[entry.gone]!]), ...(told ? receiptOf(told) : []));
    return;
  }
  sent.replaceChildren(...(entry.group === "local" ? leftOf(entry) : givenOf(entry)), ...(told ? receiptOf(told) : notYet()), ...keptHere(entry));
}

function leaving(entry: Kept): HTMLElement {
  return heading(entry.receipt ? "What left your device" : "What leaves your device");
}

/** A report: the code, how likely it was, and everything that was sent. */
function leftOf(entry: Kept): HTMLElement[] {
  return [
    leaving(entry),
    make("p", [make("span", [`Code ${entry.integer.toLocaleString("en")}`], { class: "code" })]),
    ...(offer && answered(offer).channel ? odds(offer, Number(entry.integer)) : []),
    everything([wire(entry)]),
  ];
}

/** How many of 1,000 people would have sent this code, for one's own value and for very different ones, side by side. */
function odds(found: Offer, code: number): HTMLElement[] {
  const { bounds, categories, other, channel } = answered(found);
  const { values, labels } = JSON.parse(channel.text);
  const per = values ?? labels; // codes for each public pattern
  const noun = asksForItem(found) ? "items" : categories ? "answers" : "numbers";
  if (categories && other && own !== undefined && !categories.includes(own)) own = otherThan(categories);
  const chanceOf = (value: Value) => likelihoodOf(found, value, code);
  const compared = categories ? someOf(categories, other) : far(bounds!, chanceOf);
  const rows = compared.map((value) => {
    const words = categories && !categories.includes(value) ? "something else" : shown(value);
    return { words: value === own ? `yours: ${words}` : words, chance: chanceOf(value), mine: value === own };
  });
  const pattern = per ? `First your device drew a pattern, number ${Math.floor(code / per).toLocaleString("en")}, without looking at what you typed. ` : "";
  const same = per ? " whose devices drew the same pattern" : "";
  return [
    make("p", [`${pattern}Of ${PEOPLE.toLocaleString("en")} people with each of these ${noun}${same}, so many would have sent this code:`]),
    bars(rows),
    make("p", [`Whatever you had typed, this code could have come out. None of all ${noun} makes it more than ${timesOf(found.epsilon)} times as likely as another: that is what ε = ${found.epsilon} says.`]),
  ];
}

/** One's own number, and the one for which the code is most different, the farthest if there are several; both bounds and their middle if it is no longer known. */
function far([lower, upper]: readonly [number, number], chanceOf: (value: number) => number): number[] {
  if (typeof own !== "number") return [lower, (lower + upper) / 2, upper];
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

function givenOf(entry: Kept): HTMLElement[] {
  const { value } = JSON.parse(entry.body) as { value: Value };
  return [
    leaving(entry),
    make("p", ["You trusted the curator with this:"]),
    make("p", [make("span", [shown(value)], { class: "code" })]),
    ...(offer && asksForItem(offer) && value === OTHER ? [make("p", ["What you typed is too long, or holds what nobody can see. So it counts as something else, and stays here."])] : []),
    everything([wire(entry)]),
  ];
}

/** What goes over the wire. */
function wire({ group, body }: Kept): { path: string; body: string } {
  return { path: group === "local" ? "reports" : "values", body };
}

function notYet(): HTMLElement[] {
  return [heading("No receipt yet"), make("p", ["The curator has not confirmed it. It is kept here and sent again as it is, until there is a receipt."])];
}

function keptHere(entry: Kept): HTMLElement[] {
  const what = entry.group === "local" ? "the code and the nonce, with the receipt once there is one; not what you typed" : "what you gave and the nonce, with the receipt once there is one";
  const over = isInList(offer, entry.group);
  const withdrawal = over ? [] : [["Withdraw", withdraw, "danger"] as const];
  const again = entry.receipt ? [] : [["Send it again now", resume, "next"] as const];
  const until = over ? IN_LIST : "It is needed to send the same again and to withdraw. When you come back after the study has closed, it is deleted.";
  return [heading("What this device keeps"), make("p", [`This browser keeps ${what}. ${until}`]), actions([...withdrawal, ["Forget it on this device", forget, ""], ...again])];
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  void submit();
});
field("token")?.addEventListener("change", () => void begin());
addEventListener("online", () => void (timer && goOn()));
void begin();
