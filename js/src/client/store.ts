/**
 * Where a device keeps what it has drawn, before it sends it: a device that draws twice pays ε twice. In browsers that is IndexedDB,
 * elsewhere memory, unless the app has a store of its own.
 */

import { DeviceError } from "../errors.js";
import { type Json } from "./exchange.js";

/** What was drawn for one person and one study. For a trusted contribution it holds the value: without it nobody could withdraw. */
export interface Kept {
  readonly gone?: undefined;
  readonly group: "local" | "trusted";
  readonly digest: string;
  readonly epsilon: string;
  readonly delta: string;
  /** The code; of a trusted contribution the value in units, or the number of its bin, category or item; 0 of an enrollment. */
  readonly integer: number | string;
  readonly nonce: string;
  /** What is sent, byte by byte, however often. */
  readonly body: string;
  /** The curator's signed answer, once there is one. */
  readonly receipt?: Json;
  /** Of somebody who enrolled in a study of K-means: their point, until the answer is drawn; it never leaves the device. */
  readonly point?: readonly number[] | undefined;
  /** The turns of the rounds that were seen. */
  readonly turns?: string;
  readonly answer?: KeptAnswer;
}

/** An answer to a round of K-means, with what is public of the question that it answers. */
export interface KeptAnswer {
  readonly number: number;
  readonly purpose: string;
  /** The texts of the question and of its channel. */
  readonly question: string;
  readonly channel: string;
  /** What is sent, byte by byte, however often. */
  readonly body: string;
  /** The curator's signed answer, once there is one. */
  readonly receipt?: Json;
}

/** What is left once a contribution is gone: that there was one, so that nobody draws again. */
export interface Gone {
  readonly gone: "withdrawn" | "closed" | "forgotten";
  /** The receipt of a withdrawal. */
  readonly receipt?: Json;
}

export type Entry = Kept | Gone;

/** What an entry becomes; undefined is none. It may throw, and then nothing changes. */
export type Change = (entry: Entry | undefined) => Entry | undefined;

/** A store of plain objects; a `Map` is one. It is changed under a lock of the browser, or of this program where there is none. */
export interface SimpleStore {
  get(key: string): Promise<Entry | undefined> | Entry | undefined;
  set(key: string, entry: Entry): unknown;
  delete(key: string): unknown;
}

/** A store that is changed in one step, which no other tab or process can come between; the new entry, once it is safe. */
export interface AtomicStore {
  update(key: string, change: Change): Promise<Entry | undefined>;
}

export type Store = SimpleStore | AtomicStore;

const TABLE = "kept";
const turns = new WeakMap<Store, Promise<unknown>>();

/** Changes what a store keeps, in one step. */
export function update(store: Store, key: string, change: Change): Promise<Entry | undefined> {
  if ("update" in store) return store.update(key, change);
  const work = async () => {
    const entry = change(await store.get(key));
    await (entry ? store.set(key, entry) : store.delete(key));
    return entry;
  };
  const turn = globalThis.navigator?.locks?.request(key, work) ?? Promise.resolve(turns.get(store)).then(work, work);
  turns.set(store, turn);
  return turn;
}

/** The store of this browser, or memory that ends with the client. */
export function defaultStore(): Store {
  return globalThis.indexedDB ? { update: updateDatabase } : new Map<string, Entry>();
}

/** One transaction of IndexedDB: those that write wait for each other, in whichever tab they were begun. */
function updateDatabase(key: string, change: Change): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    const refuse = () => reject(new DeviceError("This browser cannot keep what it draws, so nothing was sent. Let it store data.", "store"));
    const opening = indexedDB.open("hybriddp", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE);
    opening.onerror = refuse;
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction(TABLE, "readwrite", { durability: "strict" });
      const table = transaction.objectStore(TABLE);
      const reading = table.get(key);
      let entry: Entry | undefined;
      reading.onsuccess = () => {
        try {
          entry = change(reading.result);
          entry ? table.put(entry, key) : table.delete(key);
        } catch (error) {
          reject(error);
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(entry);
      transaction.onabort = refuse; // unless it has been rejected
      database.close(); // once the transaction has ended
    };
  });
}
