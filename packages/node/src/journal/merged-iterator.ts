/**
 * MergedIterator: the items of a range, in order, from an iterator below and from writes above it,
 * which hide items of the same keys.
 */

import type { Key } from "@bigpeer/engine";
import type { EncodedWrite } from "../lmdb/encoded-write.ts";

/** Writes in the order of their keys. */
export interface OwnWrites {
  readonly keys: Iterator<Key, undefined>;
  /** Undefined when the write of a key is not visible. */
  readonly find: (key: Key) => EncodedWrite | undefined;
}

export interface MergeOptions<T> {
  readonly keyOf: (item: T) => Key;
  readonly itemOf: (write: EncodedWrite) => T;
  readonly isReverse: boolean;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

export class MergedIterator<T> implements Iterator<T> {
  readonly #below: Iterator<T>;
  readonly #own: OwnWrites;
  readonly #options: MergeOptions<T>;
  /** The next item below; undefined when it must be asked for. */
  #next: IteratorResult<T> | undefined;
  #write: EncodedWrite | undefined;

  constructor(below: Iterator<T>, own: OwnWrites, options: MergeOptions<T>) {
    this.#below = below;
    this.#own = own;
    this.#options = options;
    this.#step();
  }

  next(): IteratorResult<T> {
    for (;;) {
      this.#next ??= this.#below.next();
      const below = this.#next;
      const write = this.#write;
      if (write === undefined) {
        if (below.done !== true) this.#next = undefined;
        return below;
      }
      const order = below.done === true ? -1 : this.#compare(write.key, below.value);
      if (order > 0) {
        this.#next = undefined;
        return below;
      }
      if (order === 0) this.#next = undefined;
      this.#step();
      if (write.chunk !== undefined) return { done: false, value: this.#options.itemOf(write) };
    }
  }

  return(): IteratorResult<T> {
    this.#below.return?.();
    this.#write = undefined;
    this.#next = DONE;
    return DONE;
  }

  /** Negative when the write comes first. */
  #compare(key: Key, item: T): number {
    const other = this.#options.keyOf(item);
    if (key === other) return 0;
    return key < other === this.#options.isReverse ? 1 : -1;
  }

  #step(): void {
    this.#write = undefined;
    while (this.#write === undefined) {
      const { done, value } = this.#own.keys.next();
      if (done === true) return;
      this.#write = this.#own.find(value);
    }
  }
}
