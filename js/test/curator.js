/** A curator in memory that speaks the protocol, and fails on request. */

import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";

import { distribution, frequency } from "./vectors.js";

const mean = JSON.parse(readFileSync(new URL("../../vectors/study.json", import.meta.url), "utf8"));

export const URL_OF = "https://curator.example.org";
export const STUDIES = {
  mean: { kind: "mean", text: mean.text, digest: mean.digest, epsilon: "1", delta: JSON.parse(mean.text).delta },
  frequency: { kind: "frequency", text: frequency.accepted[0].text, digest: frequency.accepted[0].digest, epsilon: "1", delta: "0" },
  distribution: { kind: "distribution", text: distribution.accepted[0].text, digest: distribution.accepted[0].digest, epsilon: "1", delta: "0" },
};

const base64url = (content) => Buffer.from(content).toString("base64url");
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

/** A token that names a study and a person; nobody verifies it here. */
export function token(sub, aud = "minutes") {
  return `${base64url('{"alg":"HS256"}')}.${base64url(JSON.stringify({ sub, aud, exp: 4102444800 }))}.c2lnbmVk`;
}

/** A curator of one study. `received` are all bodies, `troubles` what goes wrong next. */
export class Curator {
  received = [];
  asked = [];
  troubles = [];
  contributions = new Map();
  withdrawn = new Set();
  state = "open";
  tokens = true;
  document = {};
  local = {}; // digest and delta of what reports are about, if that is no longer the study itself
  changeReceipt = (document) => document;
  #keys = [this.newKey()];

  constructor(study = STUDIES.mean, integerOf = (value) => Math.floor(value * (2 ** 24 / 240) + 0.5)) {
    this.study = study;
    this.integerOf = integerOf;
  }

  newKey() {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const { x } = publicKey.export({ format: "jwk" });
    return { privateKey, public: { kty: "OKP", crv: "Ed25519", x, kid: `key ${x.slice(0, 4)}`, use: "sig", alg: "EdDSA" } };
  }

  /** Use another key from now on. */
  rotate(published = true) {
    const key = this.newKey();
    if (published) this.#keys = [key];
    this.signing = key;
  }

  get fetch() {
    return async (url, options) => {
      const trouble = options.method === "POST" || this.troubles[0] !== "lose" ? this.troubles.shift() : undefined;
      const path = url.slice(URL_OF.length);
      this.asked.push({ method: options.method ?? "GET", path, options });
      if (trouble === "gone") throw new TypeError("fetch failed");
      if (trouble === "hang") await hang(options.signal);
      if (trouble === "html") return new Response("<html>Log in to this network", { status: 200 });
      if (typeof trouble === "object") return problem(trouble.status, trouble.reason, trouble.headers, trouble.detail);
      const answer = this.answer(path, options);
      if (trouble === "lose") throw new TypeError("terminated");
      return answer;
    };
  }

  answer(path, { method = "GET", body, headers }) {
    if (path === "/.well-known/hybriddp-receipts.json") return Response.json({ keys: this.#keys.map((key) => key.public) });
    if (method === "GET" && path === "/studies/minutes") return Response.json(this.publicDocument());
    const [, route, withdrawing] = /^\/studies\/minutes\/(reports|values)(\/withdraw)?$/.exec(path) ?? [];
    if (!route) return problem(404, "not-found");
    this.received.push(body);
    const { digest, code, value, nonce } = JSON.parse(body);
    const group = route === "reports" ? "local" : "trusted";
    if (digest !== this.#asked(group).digest) return problem(409, "wrong-digest");
    const integer = group === "local" ? code : this.integerOf(value);
    const commitment = sha256(`hybriddp contribution 1\n${digest}\n${group}\n${integer}\n${nonce}`);
    const who = this.tokens ? JSON.parse(Buffer.from(headers.Authorization.split(".")[1], "base64url")).sub : commitment;
    return withdrawing ? this.withdraw(who, group, commitment) : this.take(who, group, commitment);
  }

  #asked(group) {
    return group === "local" ? { ...this.study, ...this.local } : this.study;
  }

  take(who, group, commitment) {
    const known = this.contributions.get(who);
    if (known !== undefined && known === commitment) return Response.json(this.receipt(group, commitment), { status: 200 });
    if (this.state !== "open") return problem(409, "closed");
    if (known !== undefined || this.withdrawn.has(who)) return problem(409, "duplicate");
    this.contributions.set(who, commitment);
    return Response.json(this.receipt(group, commitment), { status: 201 });
  }

  withdraw(who, group, commitment) {
    if (this.state !== "open") return problem(409, "closed");
    const opened = this.contributions.delete(who);
    this.withdrawn.add(who);
    return Response.json(this.receipt(group, opened ? commitment : "", { withdrawn: true, opened }));
  }

  receipt(group, commitment, more = {}) {
    const { digest, epsilon, delta } = this.#asked(group);
    const stored = ["A commitment: größer als nichts.", 'A "quoted" \\ sentence.'];
    const receipt = { version: 1, study: "minutes", digest, group, epsilon, delta, commitment, asserted_by: "participant", stored, day: "2026-11-17", ...more };
    return this.changeReceipt(this.sign(receipt));
  }

  /** Signed over Python's canonical bytes: sorted keys, no spaces, UTF-8. */
  sign(receipt) {
    const key = this.signing ?? this.#keys[0];
    const sorted = Object.fromEntries(Object.entries(receipt).sort(([a], [b]) => (a < b ? -1 : 1)));
    return { receipt, signature: base64url(sign(null, Buffer.from(JSON.stringify(sorted)), key.privateKey)), kid: key.public.kid };
  }

  publicDocument() {
    return {
      ...{ id: "minutes", ...this.study, promise: "ε", state: this.state, tokens: this.tokens, warning: null, closes_at: "2099-01-01T00:00:00Z" },
      consent: { organization: "Example", purpose: "a test", contact: "test@example.org" },
      stored: { local: ["a code\nin memory"], trusted: ["a value"] },
      ...this.document,
    };
  }
}

/** Nothing comes; like an open connection, it keeps the program alive until it is given up. */
function hang(signal) {
  return new Promise((_, reject) => {
    const open = setTimeout(() => {}, 60_000);
    signal.addEventListener("abort", () => (clearTimeout(open), reject(signal.reason)));
  });
}

export function problem(status, reason, headers = {}, detail = `It is ${reason}.`) {
  return Response.json({ type: `urn:hybriddp:problem:${reason}`, title: reason, status, detail, reason }, { status, headers });
}
