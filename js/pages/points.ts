/**
 * Take part in a study of K-means, on the device: trust, or enroll and answer one round later. The numbers of whoever enrolls stay in
 * this browser; the page asks gently whether it is their turn, and answers by itself.
 */

import { type Entry, type Kept, type Receipt, HybridDPError, UnavailableError } from "../src/index.js";
import { KMeansClient, type KMeansOffer } from "../src/kmeans_client.js";
import { explained } from "./parts/answer.js";
import { deleteKept } from "./parts/ended.js";
import { ready } from "./parts/ready.js";
import { PEOPLE, SENTENCES, UNANSWERED, actions, allow, bars, button, choiceIn, digest, emptyFields, everything, field, form, heading, make, receiptOf, said, say, sent, showChecked, study, timesOf } from "./parts/show.js";

const AGAIN = 20_000; // milliseconds until what has not arrived is sent again
const LOOK = 40_000; // milliseconds until the page looks again whether it is its turn, half as much or twice as much at random
const TOLD: Record<string, string> = {
  ...SENTENCES,
  late: "The round that asked you has ended before your device answered. Nothing else will be asked of you, and your numbers have been deleted from this device.",
  round: "The curator has published a round that is not one of this study, or that would give away more than you were promised. Nothing was drawn and nothing was sent.",
  turns: "The curator has changed the list that says whose turn it is, so that it could choose whom to ask. Nothing was drawn and nothing was sent.",
  closed: "The study has ended, or nobody can join any more. What this device kept of it has been deleted.",
  duplicate: "Somebody has already taken part with your token, from another device. What was sent now is not counted.",
};
const CHANNELS = "Its rounds are checked when they come: every channel of them must keep the same ε.";

let client: KMeansClient | undefined;
let offer: KMeansOffer | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Begin, or begin anew with another token: check the study, and look at what the device keeps. */
async function begin(): Promise<void> {
  const token = field("token")?.value.trim() ?? "";
  rest();
  try {
    client = undefined;
    const found = new KMeansClient(location.origin, { study, digest, attempts: 2, timeout: 10_000, ...(token && { token }) });
    if (token) client = found;
    const entry = await client?.kept();
    if (entry) show(entry);
    offer = await found.study();
    ready();
    if (form) {
      showChecked(offer, [CHANNELS]);
      allow(form);
    }
    if (entry) await resume();
    if (/released|withdrawn/.test(offer.state) && (await deleteKept([digest])) && !entry) say(TOLD["closed"]!);
    else if (!entry && token && !form) say("This browser keeps nothing of this study under your token: you did not take part from here.");
  } catch (error) {
    await explain(error);
  }
}

/** Send what has no receipt yet, answer if it is one's turn, and show what the device has of it. */
async function resume(): Promise<void> {
  rest();
  try {
    const before = await client!.kept();
    const receipt = await client!.resume();
    const entry = await client!.kept();
    if (!entry) return;
    offer = await client!.study();
    show(entry);
    if (entry.gone || !receipt) return;
    if (entry.point) say(waiting(), false);
    else if (entry.group === "local" && !entry.answer) say(TOLD["late"]!, true);
    else say(entry.answer && !(before && !before.gone && before.answer) ? "It was your turn: your device has answered." : "The curator has what you gave, and has signed a receipt.");
    if (entry.point) again(LOOK * 2 ** (2 * Math.random() - 1));
  } catch (error) {
    await explain(error);
  }
}

function waiting(): string {
  return "It is not your turn yet. Leave this page open, or come back: it looks every now and then, and answers by itself.";
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
        ? "The curator does not answer now. What you gave is kept on this device, and nothing is drawn twice: the page tries again every few seconds while it is open, and when you come back."
        : UNANSWERED + (offer ? "What you typed is still here. Try again in a moment." : "This page tries again every few seconds."),
      true,
    );
    if (kept || !offer) again(AGAIN);
    return;
  }
  if (!offer && /^(digest|study|kind|channel|promise)$/.test(error.reason)) form?.replaceChildren(); // not to be asked
  if (kept && /^(signature|key|receipt|round|turns)$/.test(error.reason)) again(LOOK); // perhaps it comes to its senses
  say(TOLD[error.reason] ?? error.message, true);
}

/** Do not look again by itself. */
function rest(): void {
  clearTimeout(timer);
  timer = undefined;
}

function again(wait: number): void {
  rest();
  timer = setTimeout(() => void goOn(), wait);
}

/** What comes next, if nobody does anything: a study that has not been checked is checked first. */
function goOn(): Promise<void> {
  return offer ? resume() : begin();
}

/** The numbers that were typed. */
function typed(): number[] {
  return offer!.study.bounds.map((_, j) => Number(field(`value${j + 1}`)!.value));
}

async function submit(): Promise<void> {
  if (!client) await begin();
  if (!client) return say(TOLD["token"]!, true);
  if (form!.hidden) return; // this device has taken part before, and that is shown
  const chosen = choiceIn(form!);
  if (!chosen) return;
  button!.disabled = true;
  const choice = chosen === "report" ? "enroll" : "trust";
  say(choice === "enroll" ? "Your device says that you take part …" : "Your device keeps what you typed, and sends it …");
  try {
    const { resent } = await client[choice](typed());
    show((await client.kept())!);
    say(resent ? "You had taken part from this device before: that stays, and what you typed now was not used." : choice === "enroll" ? `Thank you. You take part. ${waiting()}` : "Thank you. You have taken part.");
    sent.querySelector("h2")?.focus();
    if (choice === "enroll") again(LOOK);
  } catch (error) {
    await explain(error);
  } finally {
    button!.disabled = false;
  }
}

async function withdraw(): Promise<void> {
  if (!confirm("Withdraw? What you gave is taken out, and you cannot take part in this study again.")) return;
  rest();
  say("Withdrawing …");
  try {
    await client!.withdraw();
    show((await client!.kept())!);
    say("You have withdrawn. What you gave is forgotten, there and here.");
    said.focus();
  } catch (error) {
    await explain(error);
    const entry = await client!.kept();
    if (error instanceof UnavailableError) say("The curator does not answer now. Nothing was withdrawn yet: try again in a moment.", true);
    if (!entry || entry.gone || !entry.point) return;
    if (error instanceof HybridDPError && error.reason === "closed") say("Nobody can join any more, and withdrawing has ended, too: the rounds count on everybody. If you do not want to be asked, let this device forget your numbers.", true);
    again(LOOK);
  }
}

async function forget(): Promise<void> {
  if (!confirm("Delete what this device keeps? Afterwards it neither answers nor withdraws, and sends nothing again.")) return;
  rest();
  await client!.forget();
  show((await client!.kept())!);
  say("This device has forgotten what it kept.");
  said.focus();
}

/** What the device has of it: in trust, waiting for its round, answered, too late, or gone. */
function show(entry: Entry): void {
  if (form) form.hidden = true;
  emptyFields();
  sent.hidden = false;
  if (entry.gone) {
    const gone = heading(entry.gone === "withdrawn" ? "You have withdrawn" : "Nothing is kept here");
    sent.replaceChildren(gone, make("p", [TOLD[entry.gone]!]), ...(entry.receipt ? receiptOf(told(entry.receipt)) : []));
    return;
  }
  if (entry.group === "trusted") sent.replaceChildren(...givenOf(entry), ...receipts(entry), ...keptHere(entry, "what you gave and the nonce, with the receipt"));
  else if (entry.answer) sent.replaceChildren(...answered(entry), ...receipts(entry), ...keptHere(entry, "the code and the nonces, with the receipts; not your numbers"));
  else if (entry.point) sent.replaceChildren(...enrolled(entry), ...receipts(entry), ...keptHere(entry, "your numbers, until the answer is drawn, and the nonce with the receipt"));
  else sent.replaceChildren(heading("The round that asked you has ended"), make("p", [TOLD["late"]!]), ...keptHere(entry, "the nonce with the receipt"));
}

function told(document: Record<string, any>): Receipt {
  return { ...document["receipt"], resent: false, document } as Receipt;
}

/** What was sent to enroll: the commitment to the nonce, which its receipt confirms. */
function joining({ digest, receipt }: Kept): { path: string; body: string }[] {
  return receipt ? [{ path: "enrollments", body: JSON.stringify({ digest, commitment: receipt["receipt"].commitment }) }] : [];
}

/** Whoever waits for their round. */
function enrolled(entry: Kept): HTMLElement[] {
  return [
    heading("You will be asked once"),
    make("p", ["Your numbers stay on this device until then:"]),
    make("p", [make("span", [numbers(entry.point!)], { class: "code" })]),
    make("p", ["The study asks in rounds, each of other people. When it is your turn, your device gets a question, draws one code at random in answer to it, deletes your numbers, and sends the code. You need not do anything: leave this page open, or open it again from time to time, until the study's rounds end."]),
    ...(entry.receipt ? [everything(joining(entry), "Everything that was sent so far, to the last letter")] : []),
  ];
}

/** The answer: the question, the code, and how likely it was. */
function answered(entry: Kept): HTMLElement[] {
  const answer = entry.answer!;
  const { ask, variant, code } = JSON.parse(answer.body);
  const facts = [["Round", `${answer.number}: ${answer.purpose}`], ["Question", `${ask + 1}, variant ${variant + 1}`]] as const;
  const rows = facts.map(([name, text]) => make("tr", [make("th", [name], { scope: "row" }), make("td", [text])]));
  return [
    heading(answer.receipt ? "What left your device" : "What leaves your device"),
    make("p", [make("span", [`Code ${code.toLocaleString("en")}`], { class: "code" })]),
    make("table", [make("tbody", rows)], { class: "facts" }),
    ...(offer ? odds(offer, entry) : []),
    everything([...joining(entry), { path: "answers", body: answer.body }]),
  ];
}

/** How many of 1,000 people would have sent this code: those who are as you are for this question, and very different ones. */
function odds(found: KMeansOffer, entry: Kept): HTMLElement[] {
  const { epsilon } = found;
  const { asked, compared } = explained(found, entry.answer!, client?.symbol);
  const bits = JSON.parse(entry.answer!.channel).type === "unary" ? " The code is a row of bits, one for each possible answer: of the two answers below, only their two bits are compared, since all others are as likely for both." : "";
  return [
    make("p", [`Your device was asked ${asked}${bits}`]),
    make("p", [`Of ${PEOPLE.toLocaleString("en")} people with each of these answers to the question, so many would have sent this code${bits ? ", as far as these two bits go" : ""}:`]),
    ...(compared.length ? [bars(compared)] : []),
    make("p", [`Whatever your numbers are, this code could have come out. None of all answers makes it more than ${timesOf(epsilon)} times as likely as another: that is what ε = ${epsilon} says.`]),
  ];
}

function givenOf(entry: Kept): HTMLElement[] {
  const { value } = JSON.parse(entry.body) as { value: number[] };
  return [
    heading(entry.receipt ? "What left your device" : "What leaves your device"),
    make("p", ["You trusted the curator with this. It keeps it, encrypted, until the study's rounds end, and deletes it then:"]),
    make("p", [make("span", [numbers(value)], { class: "code" })]),
    everything([{ path: "values", body: entry.body }]),
  ];
}

/** The receipt of the last thing that was sent. */
function receipts(entry: Kept): HTMLElement[] {
  const document = entry.answer ? entry.answer.receipt : entry.receipt;
  if (!document) return [heading("No receipt yet"), make("p", ["The curator has not confirmed it. It is kept here and sent again as it is, until there is a receipt."])];
  const receipt = told(document);
  const lead = `Study ${receipt.study} (digest ${receipt.digest.slice(0, 12)}…), ${receipt.day}: `;
  if (entry.group === "trusted") return receiptOf(receipt);
  return receiptOf(receipt, `${lead}${entry.answer ? "you answered the round that asked you." : "you enrolled, and will be asked once."}`);
}

function keptHere(entry: Kept, what: string): HTMLElement[] {
  const answer = entry.answer ?? entry;
  const early = offer?.state === "open" && !entry.answer;
  const until = `${early ? "You can withdraw until the study's rounds begin. " : ""}When you come back after the study has been released, it is deleted.`;
  const buttons = [
    ...(early ? [["Withdraw", withdraw, "danger"] as const] : []),
    ["Forget it on this device", forget, ""] as const,
    ...(answer.receipt && !entry.point ? [] : [[answer.receipt ? "Look now whether it is my turn" : "Send it again now", resume, "next"] as const]),
  ];
  return [heading("What this device keeps"), make("p", [`This browser keeps ${what}. ${until}`]), actions(buttons)];
}

/** A point, each number behind the name that it has in the study. */
function numbers(point: readonly number[]): string {
  const names = offer?.dimensions ?? [];
  return point.map((x, j) => `${names[j] ?? ""} ${x.toLocaleString("en", { maximumSignificantDigits: 6 })}`.trim()).join(", ");
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  void submit();
});
field("token")?.addEventListener("change", () => void begin());
for (const event of ["online", "focus"]) addEventListener(event, () => void (timer && goOn()));
void begin();
