/** The operator's page of a study, alive: counts and what they would give, every few seconds. */

import { ready } from "./parts/ready.js";

interface Live {
  state: string;
  counts: Record<string, string>;
  expected: string[][];
  parts: string[][];
  refused: string[][];
  rounds: string[][];
}

const EVERY = 4000; // milliseconds
const place = document.querySelector<HTMLElement>("[data-live]");
const status = document.getElementById("live-status");
const state = place?.dataset["state"];
let shown = "";

/** Puts words into a table's rows; whether there were as many rows as needed. */
function fill(id: string, rows: string[][]): boolean {
  const found = document.querySelectorAll(`#${id} tbody tr`);
  if (found.length !== rows.length) return false;
  rows.forEach((cells, i) => cells.forEach((cell, j) => found[i]?.children[j]?.replaceChildren(cell)));
  return true;
}

function say(words: string): void {
  if (status && status.textContent !== words) status.textContent = words;
}

async function look(address: string): Promise<void> {
  const response = await fetch(address, { headers: { accept: "application/json" } });
  if (response.status === 401) return say("Your session has ended: log in again to see what is new.");
  if (!response.ok) return say("The server does not answer as it should. These are the last counts that it gave.");
  const text = await response.text();
  if (text !== shown) {
    const live = JSON.parse(text) as Live;
    if (live.state !== state) return say(`The study is ${live.state} now. Reload the page to go on.`);
    for (const [group, count] of Object.entries(live.counts)) document.getElementById(`count-${group}`)?.replaceChildren(count);
    const tables = [fill("expected", live.expected), fill("parts", live.parts), fill("refused", live.refused), fill("rounds", live.rounds)];
    if (tables.includes(false)) return say("There is more to see. Reload the page.");
    shown = text;
  }
  say("Counts are live: they are read again every few seconds.");
}

async function again(address: string): Promise<void> {
  if (!document.hidden) await look(address).catch(() => say("The server does not answer. These are the last counts that it gave."));
  setTimeout(() => void again(address), EVERY);
}

ready();
if (place?.dataset["live"]) void again(place.dataset["live"]);
