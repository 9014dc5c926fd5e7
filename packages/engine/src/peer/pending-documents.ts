/**
 * Pending documents: which documents have local writes without an outcome, in memory.
 *
 * It follows the pending records of the store. New ones come last and answered ones leave from the
 * front, so a refresh costs as much as what has changed, however many wait.
 */

import { documentId } from "@bigpeer/protocol";
import type { Key, Reader } from "../platform.ts";
import { PENDING } from "../store/keys.ts";
import { countFact, type PendingRecord } from "../store/peer-records.ts";

export class PendingDocuments {
  /** The documents of each pending transaction, in the order of their keys. */
  readonly #places = new Map<Key, readonly string[]>();
  /** In how many of them a document occurs. */
  readonly #counts = new Map<string, number>();
  #last: Key = "";

  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  has(collection: string, idKey: string): boolean {
    return this.#counts.has(placeOf(collection, idKey));
  }

  /**
   * Follows the store to its current state. Returns whether any transaction came or left. To be
   * called after each commit: it counts the records, and does not compare all of them.
   */
  refresh(reader: Reader): boolean {
    const { pending } = countFact(reader);
    const hasNew = this.#addNew(reader);
    const hasEnded = this.#removeEnded(reader, pending);
    // A transaction that became pending again has the key that it had.
    if (this.#places.size !== pending) return this.#rebuild(reader);
    return hasNew || hasEnded;
  }

  #addNew(reader: Reader): boolean {
    const from = this.#last === "" ? PENDING.from : `${this.#last}\0`;
    const before = this.#places.size;
    for (const { key, value } of reader.entries({ from, to: PENDING.to }, ["steps"])) {
      const places = placesIn(value as unknown as PendingRecord);
      for (const place of places) this.#counts.set(place, (this.#counts.get(place) ?? 0) + 1);
      this.#places.set(key, places);
      this.#last = key;
    }
    return this.#places.size > before;
  }

  #removeEnded(reader: Reader, pending: number): boolean {
    const before = this.#places.size;
    for (const [key, places] of this.#places) {
      if (this.#places.size <= pending) break;
      if (reader.has(key)) continue;
      this.#places.delete(key);
      for (const place of places) this.#release(place);
    }
    return this.#places.size < before;
  }

  #release(place: string): void {
    const count = (this.#counts.get(place) ?? 0) - 1;
    if (count > 0) this.#counts.set(place, count);
    else this.#counts.delete(place);
  }

  #rebuild(reader: Reader): true {
    this.#places.clear();
    this.#counts.clear();
    this.#last = "";
    this.#addNew(reader);
    return true;
  }
}

function placesIn({ steps }: PendingRecord): readonly string[] {
  const places = new Set<string>();
  for (const { operations } of steps) {
    for (const { collection, id } of operations) {
      places.add(placeOf(collection, documentId(id).key));
    }
  }
  return [...places];
}

/** The length makes it unambiguous: a name may hold any character. */
function placeOf(collection: string, idKey: string): string {
  return `${collection.length}:${collection}${idKey}`;
}
