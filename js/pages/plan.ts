/**
 * The planner's page, alive: sliders beside the fields, and an answer that follows them. The numbers are the server's.
 */

import "./parts/language.js"; // before uPlot

import uPlot from "uplot";

import { ready } from "./parts/ready.js";

/*! Includes uPlot, Copyright (c) 2022 Leon Sorokin, MIT License: see uplot-license.txt beside this file. */

interface Answer {
  problems: Record<string, string>;
  answer: string[];
  notes: string[];
  rows: [string, string, string, string, string][];
  labels: { x: string; y: string; caption: string };
  against: string;
  here: [number, number];
  across: [number, number];
  range: [number, number];
  x: number[];
  lines: Record<string, number[]>;
  query: string;
  study: string;
}

/** Color, width and dashes of every estimator's line, as the server draws it. */
const LINES: Record<string, [string, number, number[]]> = {
  adaptive: ["both", 3, []],
  "trusted-only": ["trusted", 2, []],
  "full-local": ["local", 2, []],
  "known-variance": ["muted", 1.5, [8, 4]],
  privacy: ["link", 1.5, [2, 3]],
  naive: ["danger", 1.5, [7, 3, 2, 3]],
  "local-only": ["local", 1.5, [3, 4]],
};
const EPSILONS = [0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10];
const DELAY = 200; // milliseconds without a change, before the server is asked
const BUSY = 3000; // milliseconds until it is asked again if it was busy

const element = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;
const form = element<HTMLFormElement>("plan");
const field = (name: string): HTMLInputElement => form.elements.namedItem(name) as HTMLInputElement;
/** A number as the server reads it: commas stand between thousands, and nowhere else. */
const number = (name: string): number => Number(field(name).value.trim().replace(/^[+-]?[1-9]\d{0,2}(,\d{3})+(?!\d)/, (found) => found.replaceAll(",", "")) || NaN);
const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const short = (x: number): string => Number(x.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });

/** A slider's way between its steps and numbers. */
interface Scale {
  steps: number;
  value(step: number): number;
  step(value: number): number;
}

const round = (x: number, digits: number): number => Number(x.toPrecision(digits));

function logScale(least: number, most: number, steps: number, digits = 2): Scale {
  const span = Math.log(most / least);
  return {
    steps,
    value: (step) => round(least * Math.exp((span * step) / steps), digits),
    step: (value) => (steps * Math.log(Math.max(value, least) / least)) / span,
  };
}

function linearScale(least: number, most: number, steps: number): Scale {
  return {
    steps,
    value: (step) => round(least + ((most - least) * step) / steps, 3),
    step: (value) => (steps * (value - least)) / (most - least),
  };
}

function listScale(values: number[]): Scale {
  return {
    steps: values.length - 1,
    value: (step) => values[step] ?? 1,
    step: (value) => Math.max(values.filter((one) => one <= value).length - 1, 0),
  };
}

/** The sliders. Those of bounds reach as far as the bounds that the page came with suggest. */
function scales(): Record<string, () => Scale> {
  const lower = number("lower") || 0;
  const width = number("upper") - lower > 0 ? number("upper") - lower : 1;
  const low = (): number => number("lower") || 0;
  const high = (): number => (number("upper") > low() ? number("upper") : low() + width);
  return {
    users: () => logScale(100, 1e8, 120),
    opt_ins: () => logScale(0.01, 50, 100),
    epsilon: () => listScale(EPSILONS),
    lower: () => linearScale(lower - width, lower + 0.9 * width, 190),
    upper: () => linearScale(lower + 0.05 * width, lower + 4 * width, 395),
    sd: () => linearScale(0, (high() - low()) / 2, 100),
    mean: () => linearScale(low(), high(), 100),
  };
}

const sliders = new Map<string, () => void>();

function addSlider(name: string, scale: () => Scale): void {
  const input = field(name);
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.setAttribute("aria-label", `${input.labels?.[0]?.textContent ?? name}, slider`);
  const follow = (): void => {
    const way = scale();
    slider.max = String(way.steps);
    slider.value = String(Math.round(way.step(number(name) || 0)));
    slider.setAttribute("aria-valuetext", input.value || "not known");
  };
  slider.addEventListener("input", () => {
    input.value = String(scale().value(Number(slider.value)));
    slider.setAttribute("aria-valuetext", input.value);
    for (const [other, update] of sliders) if (other !== name) update();
    soon();
  });
  sliders.set(name, follow);
  input.after(slider);
  follow();
}

// The answer

let timer = 0;
let asked = 0;
let latest: Answer | undefined;

function soon(delay = DELAY): void {
  clearTimeout(timer);
  timer = setTimeout(ask, delay);
}

function query(): string {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === "string" && value !== "") given.set(name, value);
  return given.toString();
}

async function ask(): Promise<void> {
  const turn = ++asked;
  const wanted = query();
  element("answer").classList.add("busy");
  try {
    const response = await fetch(`/plan.json?${wanted}`);
    if (turn !== asked) return;
    if (response.status === 429 || response.status === 503) {
      const { detail } = (await response.json()) as { detail: string };
      say([detail]);
      soon(BUSY);
      return;
    }
    show((await response.json()) as Answer);
  } catch {
    if (turn === asked) say(["The server does not answer. What you see is the last answer that it gave."]);
  } finally {
    if (turn === asked) element("answer").classList.remove("busy");
  }
}

function text<K extends keyof HTMLElementTagNameMap>(tag: K, words: string, style = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = words;
  if (style) made.className = style;
  return made;
}

/** Sentences instead of an answer. */
function say(lines: string[]): void {
  const alerts = lines.map((line) => {
    const made = text("p", line);
    made.setAttribute("role", "alert");
    return made;
  });
  element("answer").replaceChildren(...alerts);
}

function show(found: Answer): void {
  for (const name of sliders.keys()) {
    const problem = found.problems[name] ?? "";
    element(`${name}-wrong`).textContent = problem;
    if (problem) field(name).setAttribute("aria-invalid", "true");
    else field(name).removeAttribute("aria-invalid");
  }
  if (Object.keys(found.problems).length > 0) {
    say([found.problems[""] ?? "There is no plan: correct the marked fields."]);
    return;
  }
  if (!document.getElementById("curves")) { // the page came with a mistake, and without a place for curves
    location.search = found.query;
    return;
  }
  latest = found;
  history.replaceState(null, "", `/plan?${found.query}`);
  const lines = found.answer.map((line) => {
    const [lead = "", ...rest] = line.split(": ");
    const made = text("p", ` ${rest.join(": ")}`);
    made.prepend(text("b", `${lead}:`));
    return made;
  });
  const make = text("a", "Make this study", "button");
  make.href = found.study;
  const link = text("a", "Link to this plan");
  link.href = `/plan?${found.query}`;
  const ways = document.createElement("p");
  ways.append(make, " ", link);
  element("answer").replaceChildren(...lines, ...found.notes.map((note) => text("p", note, "hint")), ways);
  found.rows.forEach(([, , ...cells], i) => {
    const row = document.querySelectorAll("#estimators tbody tr")[i];
    cells.forEach((cell, j) => row?.children[j + 1]?.replaceChildren(cell));
  });
  draw(found);
}

// Curves

let chart: uPlot | undefined;

function draw(found: Answer): void {
  const figure = element("curves");
  const percent = found.against === "opt-ins";
  const names = Object.keys(found.lines);
  const ink = css("ink");
  const axis = { stroke: ink, grid: { stroke: css("line"), width: 1 }, ticks: { stroke: css("line") }, font: "12px system-ui" };
  const words = (_: uPlot, splits: number[]): string[] =>
    splits.map((x) => (x === null ? "" : percent ? `${short(x)} %` : short(x)));
  const options: uPlot.Options = {
    width: Math.max(figure.clientWidth, 280),
    height: 320,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: false, distr: 3, range: found.across },
      y: { distr: 3, range: found.range },
    },
    axes: [
      { ...axis, label: found.labels.x, labelFont: "12px system-ui", values: words },
      { ...axis, size: 62, values: (_, splits) => splits.map((y) => (y === null ? "" : short(y))) },
    ],
    series: [
      {},
      ...names.map((name) => {
        const [color, width, dash] = LINES[name] ?? ["ink", 1, []];
        return { stroke: css(color), width, dash, points: { show: false } };
      }),
    ],
    hooks: { draw: [dot(found)], setCursor: [(u) => read(u, found, percent)] },
  };
  chart?.destroy();
  const caption = figure.querySelector("figcaption");
  if (caption) caption.textContent = found.labels.caption;
  figure.querySelector("svg")?.remove();
  const place = document.createElement("div");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", `${found.labels.caption} The table below has its numbers.`);
  figure.querySelector("[role=img]")?.remove();
  figure.prepend(place);
  chart = new uPlot(options, [found.x, ...names.map((name) => found.lines[name] ?? [])], place);
}

/** Where the plan is. */
function dot(found: Answer): (u: uPlot) => void {
  return (u) => {
    const [x, y] = [u.valToPos(found.here[0], "x", true), u.valToPos(found.here[1], "y", true)];
    u.ctx.save();
    u.ctx.strokeStyle = css("axis");
    u.ctx.setLineDash([2, 3]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.fillStyle = css("both");
    u.ctx.beginPath();
    u.ctx.arc(x, y, 6 * devicePixelRatio, 0, 2 * Math.PI);
    u.ctx.fill();
    u.ctx.restore();
  };
}

/** The numbers under the pointer, in words. */
function read(u: uPlot, found: Answer, percent: boolean): void {
  const at = u.cursor.idx;
  if (at === null || at === undefined) return;
  const x = found.x[at] ?? 0;
  const told = found.rows.slice(0, 7).map(([name, label]) => `${label} ${short(found.lines[name]?.[at] ?? NaN)}`);
  element("readout").textContent = `At ${percent ? `${short(x)} % opt-ins` : `ε = ${short(x)}`}: ${told.join(", ")}.`;
}

for (const [name, scale] of Object.entries(scales())) addSlider(name, scale);
form.addEventListener("input", (event) => {
  const name = (event.target as HTMLInputElement).name;
  if (!name) return; // a slider, which has told already
  for (const update of sliders.values()) update();
  soon();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  soon(0);
});
form.querySelector("button")?.remove();
const readout = document.getElementById("readout");
if (readout) readout.textContent = "Point at the curves to read their numbers.";
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => latest && draw(latest));
addEventListener("resize", () => latest && chart?.setSize({ width: Math.max(element("curves").clientWidth, 280), height: 320 }));
if (document.getElementById("curves")) soon(0);
ready();
