/**
 * Statement cache: what was made from the text of a statement, kept for the next time it comes.
 *
 * Bounded by number and by the length of the texts. There are two generations: what is used is in
 * the young one; when that is full it becomes the old one, and what nobody asked for meanwhile goes.
 * The values must depend on the text alone, so that nothing ever has to be dropped for being out of
 * date.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";

export interface StatementCacheOptions {
  readonly countMax: number;
  /** Characters of all texts together. A text longer than an eighth of it is not kept at all. */
  readonly lengthMax: number;
}

export interface CacheTotals {
  readonly hits: number;
  readonly misses: number;
  readonly evicted: number;
  readonly count: number;
  /** Characters of all texts that are kept. */
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

/** One of the two generations: entries and the characters of their texts. */
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
  /** A hit in the young generation moves nothing, which is what makes it cheap. */
  #young = new Generation<T>();
  #old = new Generation<T>();
  #hits = 0;
  #misses = 0;
  #evicted = 0;

  constructor(options: StatementCacheOptions = DEFAULT_CACHE) {
    this.#options = options;
  }

  /** What was made from the text before, or what `make` makes now. When it throws nothing is kept. */
  get(text: string, make: (text: string) => T): T {
    const known = this.find(text);
    return known === undefined ? this.keep(text, make(text)) : known;
  }

  /** What was made from the text before; undefined when it has to be made, and then be kept. */
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

  /** Others may have made it meanwhile. */
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

  /** A row for each statement; for `system:shared_statements`. */
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
