/**
 * PagedMemory: the KeyValue of a browser in memory, for a peer that keeps nothing. It is the same
 * table of pages as on IndexedDB, without a log and without checkpoints.
 */

import type { KeyValue, Snapshot, Writes } from "@bigpeer/engine";
import { assert, encodeCbor, type Value } from "@bigpeer/protocol";
import { closedError, IndexedSnapshot } from "./indexed-snapshot.ts";
import { PageTable } from "./page-table.ts";
import { assertKey, DECODED_SIZE_MAX, DecodedValues, StoredValue } from "./stored-value.ts";

export class PagedMemory implements KeyValue {
  readonly #owner = { isClosed: false, decoded: new DecodedValues(DECODED_SIZE_MAX) };
  #table = new PageTable([]);
  #committing: Promise<void> | undefined;

  snapshot(): Snapshot {
    if (this.#owner.isClosed) throw closedError("storage");
    return new IndexedSnapshot(this.#owner, this.#table);
  }

  async commit(writes: Writes): Promise<void> {
    assert(this.#committing === undefined, "one commit at a time");
    if (this.#owner.isClosed) throw closedError("storage");
    for (const key of writes.keys()) assertKey(key);
    this.#committing = this.#commit(writes);
    await this.#committing;
  }

  async close(): Promise<void> {
    await this.#committing;
    this.#owner.isClosed = true;
  }

  async #commit(writes: Writes): Promise<void> {
    // Nothing is visible before the caller has continued.
    await Promise.resolve();
    const changes = Array.from(writes, ([key, value]) => [key, this.#stored(value)] as const);
    this.#table = this.#table.with(changes);
    this.#committing = undefined;
  }

  /** Each value has bytes of its own, so that they are freed with it. */
  #stored(value: Value | undefined): StoredValue | undefined {
    if (value === undefined) return undefined;
    const bytes = encodeCbor(value);
    const source = { bytes, place: "value in memory", check: undefined };
    const stored = new StoredValue(source, 0, bytes.length);
    this.#owner.decoded.keep(stored, value);
    return stored;
  }
}
