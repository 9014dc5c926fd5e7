/**
 * BaseReader: the durable state under the groups of the commit queue.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import { COLLECTIONS_REMEMBERED } from "../limits.ts";
import type { Key, KeyEntry, KeyRange, KeyValue, Reader, Snapshot } from "../platform.ts";
import type { Overlay } from "./overlay.ts";

/**
 * A fresh snapshot for each evaluation, so that none is held open, and a memory of the few records that
 * every write reads.
 */
export class BaseReader implements Reader {
  readonly #storage: KeyValue;
  readonly #hot = new Map<Key, Value | undefined>();
  #snapshot: Snapshot | undefined;

  constructor(storage: KeyValue) {
    this.#storage = storage;
  }

  begin(): void {
    this.#snapshot = this.#storage.snapshot();
  }

  end(): void {
    this.#snapshot?.close();
    this.#snapshot = undefined;
  }

  /** A group is durable: what is remembered follows it. */
  committed({ writes }: Overlay): void {
    if (this.#hot.size < writes.size) {
      for (const key of this.#hot.keys()) if (writes.has(key)) this.#hot.set(key, writes.get(key));
    } else {
      for (const [key, value] of writes) if (this.#hot.has(key)) this.#hot.set(key, value);
    }
  }

  /** A flush failed: whatever it left, the storage knows better. */
  forget(): void {
    this.#hot.clear();
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    if (!isHot(key)) return this.#reader.get(key, fields);
    const known = this.#hot.get(key);
    if (known !== undefined || this.#hot.has(key)) return known;
    const value = this.#reader.get(key);
    // Names that are asked for have no bound; what is kept of known collections has.
    if (value !== undefined || !key.startsWith("k")) this.#remember(key, value);
    return value;
  }

  /** Records that are remembered. */
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
