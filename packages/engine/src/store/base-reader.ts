/**
 * BaseReader: reads the durable state on which the commit queue evaluates transactions.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import { COLLECTIONS_REMEMBERED } from "../limits.ts";
import type { Key, KeyEntry, KeyRange, KeyValue, Reader, Snapshot } from "../platform.ts";
import type { Overlay } from "./overlay.ts";

/**
 * Opens a new snapshot for each evaluation, so that none stays open, and caches the few records
 * that every write reads.
 */
export class BaseReader implements Reader {
  readonly #storage: KeyValue;
  readonly #hot = new Map<Key, Value | undefined>();
  /** The last document that was read as a whole: an UPDATE selects it, and then writes to it. */
  #documentKey: Key | undefined;
  #document: Value | undefined;
  #snapshot: Snapshot | undefined;

  constructor(storage: KeyValue) {
    this.#storage = storage;
  }

  begin(): void {
    this.#documentKey = undefined;
    this.#snapshot = this.#storage.snapshot();
  }

  end(): void {
    this.#snapshot?.close();
    this.#snapshot = undefined;
    this.#document = undefined;
    this.#documentKey = undefined;
  }

  /** Updates the cache with the writes of a group that became durable. */
  committed({ writes }: Overlay): void {
    if (this.#hot.size < writes.size) {
      for (const key of this.#hot.keys()) if (writes.has(key)) this.#hot.set(key, writes.get(key));
    } else {
      for (const [key, value] of writes) if (this.#hot.has(key)) this.#hot.set(key, value);
    }
  }

  /** Clears the cache after a failed flush: the storage decides what it holds. */
  forget(): void {
    this.#hot.clear();
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    if (key === this.#documentKey && fields === undefined) return this.#document;
    if (!isHot(key)) return this.#read(key, fields);
    const known = this.#hot.get(key);
    if (known !== undefined || this.#hot.has(key)) return known;
    const value = this.#reader.get(key);
    // Unknown collection names have no bound, so their absence is not cached.
    if (value !== undefined || !key.startsWith("k")) this.#remember(key, value);
    return value;
  }

  #read(key: Key, fields: readonly string[] | undefined): Value | undefined {
    const value = this.#reader.get(key, fields);
    if (fields === undefined && isOfDocument(key)) {
      this.#documentKey = key;
      this.#document = value;
    }
    return value;
  }

  /** Number of cached records. */
  get count(): number {
    return this.#hot.size;
  }

  #remember(key: Key, value: Value | undefined): void {
    if (this.#hot.size >= COLLECTIONS_REMEMBERED) this.#hot.clear();
    this.#hot.set(key, value);
  }

  has(key: Key): boolean {
    return this.#reader.has(key);
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry> {
    return this.#reader.entries(range, fields);
  }

  keys(range: KeyRange): Iterable<Key> {
    return this.#reader.keys(range);
  }

  get #reader(): Snapshot {
    if (this.#snapshot === undefined) {
      throw new PeerError("store.closed", "the transaction has ended");
    }
    return this.#snapshot;
  }
}

/** Head, collection numbers, counts and lists of indexes: few, small, and read by every write. */
function isHot(key: Key): boolean {
  const kind = key.charAt(0);
  return kind === "h" || kind === "k" || kind === "n" || kind === "i";
}

/** The shown fields of a document. */
function isOfDocument(key: Key): boolean {
  return key.charAt(0) === "d";
}
