/**
 * IndexedSnapshot: a Reader on one state of a store in IndexedDB. All of it is in memory, so reading
 * never waits; a value is decoded at its first read.
 *
 * A read of some fields returns the whole value, which is decoded as a whole anyway.
 */

import type { Key, KeyEntry, KeyRange, Snapshot } from "@bigpeer/engine";
import { PeerError, type Value } from "@bigpeer/protocol";
import type { PageTable, TableWalk } from "./page-table.ts";
import type { DecodedValues, StoredValue } from "./stored-value.ts";

/** The storage that the snapshot belongs to; it ends with it. */
export interface SnapshotOwner {
  readonly isClosed: boolean;
  readonly decoded: DecodedValues;
}

export class IndexedSnapshot implements Snapshot {
  readonly #owner: SnapshotOwner;
  #table: PageTable | undefined;

  constructor(owner: SnapshotOwner, table: PageTable) {
    this.#owner = owner;
    this.#table = table;
  }

  get state(): object | undefined {
    return this.#owner.isClosed ? undefined : this.#table;
  }

  get(key: Key): Value | undefined {
    const stored = this.#use().get(key);
    return stored === undefined ? undefined : this.#owner.decoded.read(stored);
  }

  has(key: Key): boolean {
    return this.#use().get(key) !== undefined;
  }

  entries(range: KeyRange): Iterable<KeyEntry> {
    this.#use();
    const { decoded } = this.#owner;
    const entryOf = (key: Key, stored: StoredValue): KeyEntry => ({
      key,
      value: decoded.read(stored),
    });
    return { [Symbol.iterator]: () => this.#walk(range, entryOf) };
  }

  keys(range: KeyRange): Iterable<Key> {
    this.#use();
    return { [Symbol.iterator]: () => this.#walk(range, (key) => key) };
  }

  close(): void {
    this.#table = undefined;
  }

  /** Not a generator: that would take longer for each of many entries. */
  #walk<T>(range: KeyRange, resultOf: (key: Key, stored: StoredValue) => T): IterableIterator<T> {
    let walk: TableWalk | undefined;
    let isOver = false;
    const end = (): IteratorResult<T> => {
      isOver = true;
      walk = undefined;
      return { done: true, value: undefined };
    };
    return {
      next: () => {
        if (isOver) return end();
        // An error ends it.
        isOver = true;
        const table = this.#use();
        if (walk === undefined) walk = table.walk(range);
        else walk.next();
        const { key } = walk;
        if (key === undefined) return end();
        const value = resultOf(key, walk.value);
        isOver = false;
        return { done: false, value };
      },
      return: end,
      [Symbol.iterator]() {
        return this;
      },
    };
  }

  #use(): PageTable {
    if (this.#owner.isClosed) throw closedError("storage");
    if (this.#table === undefined) throw closedError("snapshot");
    return this.#table;
  }
}

export function closedError(what: "storage" | "snapshot"): PeerError {
  return new PeerError("store.closed", `expected an open ${what}, found it closed`);
}
