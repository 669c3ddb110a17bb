/** A study that has ended: what this browser keeps of it is deleted, for whoever took part from here, with a token or without. */

const TABLE = "kept"; // as in src/client/store.ts

/** Deletes all that is kept of these studies but that there was something; how much there was. */
export function deleteKept(digests: readonly (string | undefined)[]): Promise<number> {
  return new Promise((resolve) => {
    const nothing = () => resolve(0); // a browser that keeps nothing has nothing to delete
    const opening = indexedDB.open("hybriddp", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE);
    opening.onerror = nothing;
    opening.onsuccess = () => {
      const transaction = opening.result.transaction(TABLE, "readwrite");
      const walking = transaction.objectStore(TABLE).openCursor();
      let count = 0;
      walking.onsuccess = () => {
        const cursor = walking.result;
        if (!cursor) return;
        if (digests.includes(cursor.value.digest ?? "")) {
          cursor.update({ gone: "closed" });
          count++;
        }
        cursor.continue();
      };
      transaction.oncomplete = () => resolve(count);
      transaction.onabort = nothing;
      opening.result.close(); // once the transaction has ended
    };
  });
}
