/**
 * Statement cache: prepared statements by their text, bounded by number and by total length of the
 * texts.
 *
 * Eviction works in two generations. Used entries are in the young one. When that is full it
 * becomes the old one, and entries of the previous old one that were not used meanwhile are
 * dropped. A value must depend on the text alone, so no entry ever becomes stale.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";

export interface StatementCacheOptions {
  readonly countMax: number;
  /** Maximum total characters of all texts. A text longer than an eighth of it is not cached. */
  readonly lengthMax: number;
}

export interface CacheTotals {
  readonly hits: number;
  readonly misses: number;
  readonly evicted: number;
  readonly count: number;
  /** Total characters of the cached texts. */
  readonly length: number;
}

interface Entry<T> {
  readonly value: T;
  hits: number;
}

const DEFAULT_CACHE: StatementCacheOptions = {
  countMax: 1024,
  lengthMax: 512 * 1024,
};

/** One of the two generations: entries, and the total length of their texts. */
class Generation<T> {
  readonly entries: Map<string, Entry<T>> = new Map();
  length = 0;

  add(text: string, entry: Entry<T>): void {
    this.entries.set(text, entry);
    this.length += text.length;
  }

  take(text: string): Entry<T> | undefined {
    const entry = this.entries.get(text);
    if (entry === undefined) return undefined;
    this.entries.delete(text);
    this.length -= text.length;
    return entry;
  }
}

export class StatementCache<T> {
  readonly #options: StatementCacheOptions;
  /** A hit in the young generation moves nothing, which makes it cheap. */
  #young = new Generation<T>();
  #old = new Generation<T>();
  #hits = 0;
  #misses = 0;
  #evicted = 0;

  constructor(options: StatementCacheOptions = DEFAULT_CACHE) {
    this.#options = options;
  }

  /** The cached value, or else the result of `make`. If `make` throws, nothing is cached. */
  get(text: string, make: (text: string) => T): T {
    const known = this.find(text);
    return known === undefined ? this.keep(text, make(text)) : known;
  }

  /** The cached value; undefined if the caller must make one and pass it to `keep`. */
  find(text: string): T | undefined {
    const known = this.#young.entries.get(text) ?? this.#revive(text);
    if (known === undefined) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    known.hits++;
    return known.value;
  }

  /** Caches a value, unless another caller has cached one meanwhile. */
  keep(text: string, value: T): T {
    const isKept = this.#young.entries.has(text) || this.#old.entries.has(text);
    const isLong = text.length > this.#options.lengthMax / 8;
    if (!isKept && !isLong) this.#add(text, { value, hits: 0 });
    return value;
  }

  get totals(): CacheTotals {
    return {
      hits: this.#hits,
      misses: this.#misses,
      evicted: this.#evicted,
      count: this.#young.entries.size + this.#old.entries.size,
      length: this.#young.length + this.#old.length,
    };
  }

  /** One row for each cached statement, for `system:shared_statements`. */
  *rows(): Iterable<{ readonly id: Value; readonly fields: ValueObject }> {
    let rank = 0;
    for (const { entries } of [this.#young, this.#old]) {
      for (const [text, { hits }] of [...entries].toReversed()) {
        yield { id: String(++rank), fields: { text, hits } };
      }
    }
  }

  #revive(text: string): Entry<T> | undefined {
    const entry = this.#old.take(text);
    if (entry !== undefined) this.#add(text, entry);
    return entry;
  }

  #add(text: string, entry: Entry<T>): void {
    const { countMax, lengthMax } = this.#options;
    if (countMax < 2) return;
    const { entries, length } = this.#young;
    if (entries.size >= Math.floor(countMax / 2) || length + text.length > lengthMax / 2) {
      this.#evicted += this.#old.entries.size;
      this.#old = this.#young;
      this.#young = new Generation();
    }
    this.#young.add(text, entry);
  }
}
