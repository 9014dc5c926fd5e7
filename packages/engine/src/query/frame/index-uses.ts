/**
 * Index uses: how many requests read each index of a store, and when the last one began.
 *
 * A request counts an index once, when the first entries that it needs are found, however often it
 * looks them up. An index that a request gives up, because a scan is cheaper, does not count.
 */

/** Indexes of one store that are counted; dropped ones stay. */
const INDEXES_MAX = 1_024;

export interface IndexUse {
  readonly count: number;
  /** Start of the last request, in milliseconds since 1970; undefined before the first one. */
  readonly lastMs: number | undefined;
}

const NOT_USED: IndexUse = { count: 0, lastMs: undefined };

export class IndexUses {
  readonly #uses = new Map<number, { count: number; lastMs: number }>();
  /** When the count began, in milliseconds since 1970. */
  readonly sinceMs: number;

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }

  /** Counts a use of the index with this number. */
  add(index: number, atMs: number): void {
    const use = this.#uses.get(index);
    if (use !== undefined) {
      use.count++;
      use.lastMs = Math.max(use.lastMs, atMs);
    } else if (!this.#isFull) this.#uses.set(index, { count: 1, lastMs: atMs });
  }

  /** For a request that began then. Only stores whose uses are counted load the code for it. */
  begin(atMs: number): IndexReads {
    return new IndexReads(this, atMs);
  }

  /** Undefined if it is not known: there were too many other indexes. */
  of(index: number): IndexUse | undefined {
    return this.#uses.get(index) ?? (this.#isFull ? undefined : NOT_USED);
  }

  get #isFull(): boolean {
    return this.#uses.size >= INDEXES_MAX;
  }
}

/** The indexes that one request has read. */
export class IndexReads {
  readonly #uses: IndexUses;
  readonly #atMs: number;
  readonly #indexes: number[] = [];

  /** `atMs` is the start of the request. */
  constructor(uses: IndexUses, atMs: number) {
    this.#uses = uses;
    this.#atMs = atMs;
  }

  /** Counts a use, unless this request has counted one of the index before. */
  add(index: number): void {
    // A statement reads few indexes: a list is as quick as a set.
    if (this.#indexes.includes(index)) return;
    this.#indexes.push(index);
    this.#uses.add(index, this.#atMs);
  }
}
