/** Requests and answers: what is asked again, byte by byte the same, and when that ends. */

import { RejectedError, UnavailableError } from "../errors.js";
import { oneLine } from "../line.js";

export type Json = Record<string, any>;

/** How often, and after which waits in milliseconds, a request is sent again. */
export interface Retries {
  /** How often a request is sent in total; 5 if left out. */
  readonly attempts: number;
  /** Waits are drawn at random up to twice this one, and up to twice as much each time; 500 if left out. */
  readonly firstWait: number;
  /** A longer one is not waited for, even if the curator asks for it (see `retryAfter` of the error); 30,000 if left out. */
  readonly longestWait: number;
}

/** How a curator is asked. */
export interface Http extends Retries {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly token?: string | undefined;
  /** Milliseconds for one request with its answer. */
  readonly timeout: number;
}

/**
 * The JSON object that the curator answers with. What is public is asked for without the token: who asks need not say who they
 * are. The words in it are put on one line each; what is signed, the answer to a body, stays as it is.
 */
export async function ask(http: Http, path: string, body?: string): Promise<Json> {
  const { url, fetch, token, timeout, attempts, firstWait, longestWait } = http;
  for (let count = 1; ; count++) {
    let status = 0;
    let wait = Math.min(firstWait * 2 ** count, longestWait) * Math.random(); // so that many do not come back at once
    let said: Json = {};
    try {
      const answer = await fetch(url + path, {
        ...(body && { method: "POST", body, headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) } }),
        signal: AbortSignal.timeout(timeout),
        redirect: "error",
        credentials: "omit",
      });
      wait = 1000 * Number(answer.headers.get("Retry-After")) || wait;
      said = JSON.parse(await answer.text(), (name, value) => (body || name === "text" ? value : (oneLine(value) ?? value))) ?? said;
      if (answer.ok) return said;
      status = answer.status;
    } catch {} // what a library says of a failure may quote the request; an answer that is not JSON is that of a proxy
    const reason: string = oneLine(said.reason) ?? "unreachable";
    const detail = oneLine(said.detail);
    const quoted = body && detail?.includes(JSON.parse(body).value);
    const sentence = detail && !quoted ? `The curator says: ${detail}` : `The curator does not answer (${reason}). Try again later.`;
    if (/^4(?!29)/.test(`${status}`)) throw new RejectedError(sentence, reason);
    if (count >= attempts || wait > longestWait) throw new UnavailableError(sentence, reason);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
