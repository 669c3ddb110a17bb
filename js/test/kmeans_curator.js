/** A curator in memory of a K-means study: people enroll, and then it asks in rounds. */

import { createHash } from "node:crypto";

import { Curator, problem } from "./curator.js";
import { kmeans } from "./vectors.js";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const text = kmeans.bases[0];

export const STUDY = { kind: "kmeans", text, digest: sha256(text), epsilon: "1", delta: "0" };
export const ROUNDS = [kmeans.bases[3], kmeans.bases[7]]; // a third of the people, then a quarter
export const FRACTIONS = ["1/3", "1/4"];
const UNITS = 2 ** 24;

/** The text of a list of turns. */
export function turnsOf(fractions, study = STUDY.digest) {
  return JSON.stringify({ type: "kmeans-turns", version: 2, study, fractions });
}

/** The nonce that every device here draws, so that a test knows the round that asks somebody. */
export const NONCE = "07".repeat(16);
export const drawn = { byte: 7 };
const draw = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => (array.length === 16 ? array.fill(drawn.byte) : draw(array));

const committed = (nonce) => sha256(`hybriddp contribution 1\n${STUDY.digest}\nlocal\n0\n${nonce}`);

/** Which of the rounds asks somebody; null if none does. */
export function roundOf(subject, nonce = NONCE, fractions = FRACTIONS) {
  const place = Number(BigInt(`0x${sha256(`hybriddp place 1\n${STUDY.digest}\n${nonce}\n${subject.normalize("NFC")}`).slice(0, 16)}`)) / 2 ** 64;
  const ends = fractions.map((_, i) => fractions.slice(0, i + 1).reduce((sum, f) => sum + Number(f.split("/")[0]) / Number(f.split("/")[1]), 0));
  const found = ends.findIndex((end) => place < end);
  return found < 0 ? null : found + 1;
}

/** Somebody whom a round asks. */
export function somebodyIn(number, skip = 0) {
  return Array.from({ length: 200 }, (_, i) => `person ${i}`).filter((name) => roundOf(name) === number)[skip];
}

/** The integer of a point, as the protocol has it. */
export function integerOf(point) {
  const units = point.map((x, j) => Math.floor((x - [0, -5][j]) * (UNITS / [1, 10][j]) + 0.5));
  return BigInt(`0x1${units.map((unit) => unit.toString(16).padStart(8, "0")).join("")}`);
}

export class KMeansCurator extends Curator {
  number = 0;
  answers = new Map();
  round = {};
  steps = "pending";

  constructor() {
    super(STUDY, integerOf);
  }

  /** Ask the next round; after the last one, none. */
  ask() {
    this.number += 1;
    const more = this.number <= ROUNDS.length;
    this.state = more ? "asking" : "closed";
    this.steps = more ? "pending" : "released";
  }

  publicDocument() {
    const round = this.state === "asking" ? { number: this.number } : null;
    return { ...super.publicDocument(), steps: [{ name: "rounds", state: this.steps }], round, ...this.document };
  }

  answer(path, request) {
    if (path === "/studies/minutes/round") return this.state === "asking" ? Response.json(this.roundDocument()) : problem(404, "not-found");
    if (path.includes("/enrollments")) return this.#enroll(path, request);
    if (path !== "/studies/minutes/answers") return super.answer(path, request);
    this.received.push(request.body);
    const { nonce, enrollment_nonce, ...message } = JSON.parse(request.body);
    const { sub } = JSON.parse(Buffer.from(request.headers.Authorization.split(".")[1], "base64url"));
    const commitment = sha256(`hybriddp answer 1\n${JSON.stringify(message)}\n${nonce}`);
    const turn = roundOf(sub, enrollment_nonce);
    const receipt = () => this.receipt("local", commitment, this.state === "asking" ? { round: turn } : {});
    if (this.contributions.get(sub) !== committed(enrollment_nonce)) return problem(403, "not-allowed");
    if (this.answers.get(sub) === commitment) return Response.json(receipt());
    if (this.answers.has(sub)) return problem(409, "duplicate");
    if (turn !== this.number) return problem(409, turn !== null && turn < this.number ? "late" : "early");
    if (message.round !== sha256(ROUNDS[turn - 1])) return problem(409, "wrong-digest");
    this.answers.set(sub, commitment);
    return Response.json(receipt(), { status: 201 });
  }

  /** Somebody commits to a nonce, which they open to withdraw. */
  #enroll(path, { body, headers }) {
    const { sub } = JSON.parse(Buffer.from(headers.Authorization.split(".")[1], "base64url"));
    const { digest, commitment, nonce } = JSON.parse(body);
    const withdraws = path.endsWith("/withdraw");
    const said = Object.keys(JSON.parse(body)).join();
    if (said !== (withdraws ? "digest,nonce" : "digest,commitment")) throw new Error("an enrollment says no more");
    this.received.push(body);
    if (digest !== STUDY.digest) return problem(409, "wrong-digest");
    return withdraws ? this.withdraw(sub, "local", committed(nonce)) : this.take(sub, "local", commitment);
  }

  roundDocument() {
    const text = ROUNDS[this.number - 1];
    const turns = turnsOf(FRACTIONS.slice(0, this.number));
    return { study: "minutes", number: this.number, digest: sha256(text), text, turns, closes_at: "2099-01-01T00:00:00Z", ...this.round };
  }
}
