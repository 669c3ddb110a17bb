/** The store of browsers, on an IndexedDB in memory whose transactions take their time and wait for each other. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Client, DeviceError } from "../dist/hybriddp.js";
import { Curator, URL_OF, token } from "./curator.js";

/** As much of IndexedDB as one transaction needs: `fail` names the event at which it refuses. */
class Databases {
  tables = new Map();
  durabilities = new Set();
  closed = 0;
  #turn = Promise.resolve();

  open(name, version) {
    const opening = { result: { createObjectStore: (table) => this.tables.set(table, new Map()) } };
    setImmediate(() => {
      if (this.fail === "open") return opening.onerror();
      if (!this.tables.size) opening.onupgradeneeded();
      opening.result = { name, version, transaction: (...words) => this.#transaction(...words), close: () => this.closed++ };
      opening.onsuccess();
    });
    return opening;
  }

  #transaction(name, mode, { durability }) {
    assert.equal(mode, "readwrite");
    this.durabilities.add(durability);
    const table = this.tables.get(name);
    const reading = {};
    const changes = [];
    let aborted = this.fail === "commit";
    const transaction = { abort: () => (aborted = true) };
    transaction.objectStore = () => ({
      get: (key) => ((reading.key = key), reading),
      put: (entry, key) => changes.push(() => table.set(key, structuredClone(entry))),
      delete: (key) => changes.push(() => table.delete(key)),
    });
    this.#turn = this.#turn.then(async () => {
      reading.result = structuredClone(table.get(reading.key));
      reading.onsuccess();
      await new Promise(setImmediate);
      if (aborted) return transaction.onabort();
      for (const change of changes) change();
      transaction.oncomplete();
    });
    return transaction;
  }
}

beforeEach(() => {
  globalThis.indexedDB = new Databases();
});

afterEach(() => {
  delete globalThis.indexedDB;
});

const client = (curator) => new Client(URL_OF, { token: token("alice"), fetch: curator.fetch, attempts: 1 });

test("what is drawn is on disk before it is sent, and is found again by the next page", async () => {
  const curator = new Curator();
  const { fetch } = curator;
  let keptBefore;
  curator.take = function (...words) {
    keptBefore = [...indexedDB.tables.get("kept").values()];
    return Curator.prototype.take.apply(this, words);
  };
  const receipt = await new Client(URL_OF, { token: token("alice"), fetch }).report(37.5);
  assert.equal(keptBefore[0].body, curator.received[0]);
  assert.deepEqual([...indexedDB.durabilities], ["strict"]);
  const again = client(curator);
  assert.equal((await again.report(99)).commitment, receipt.commitment);
  assert.equal(new Set(curator.received).size, 1);
  await again.withdraw();
  assert.deepEqual(Object.keys(await again.kept()), ["gone", "receipt"]);
  assert.ok(indexedDB.closed > 0);
});

test("two tabs at the same time draw one report", async () => {
  const curator = new Curator();
  const tabs = Array.from({ length: 8 }, () => client(curator));
  await Promise.all(tabs.map((tab, i) => tab.report(i)));
  assert.equal(new Set(curator.received).size, 1);
});

test("a value that is none leaves nothing behind", async () => {
  const alice = client(new Curator());
  await assert.rejects(alice.report(NaN), { name: "ChannelError", reason: "value" });
  assert.equal(await alice.kept(), undefined);
  assert.equal(indexedDB.tables.get("kept").size, 0);
});

for (const fail of ["open", "commit"]) {
  test(`a browser that does not let the page keep anything sends nothing: ${fail}`, async () => {
    const curator = new Curator();
    indexedDB.fail = fail;
    await assert.rejects(client(curator).report(1), (error) => error instanceof DeviceError && error.reason === "store");
    assert.equal(curator.received.length, 0);
  });
}
