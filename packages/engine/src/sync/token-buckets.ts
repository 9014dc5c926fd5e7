/**
 * Token buckets, by name: what each may use at once, and how fast it may go on. A bucket refills with
 * time, and one that is full is forgotten, so that only those are held who have just used theirs.
 */

/** How many a full bucket has, and how long one more takes, in milliseconds. */
export interface BucketLimits {
  readonly most: number;
  readonly refillMs: number;
}

/** Buckets that are held before those that are full again are looked for. */
const SWEEP_SIZE = 1024;

interface Bucket {
  /** Used and not refilled yet, at `atMs`. */
  used: number;
  atMs: number;
}

export class TokenBuckets {
  readonly #limits: BucketLimits;
  readonly #buckets = new Map<string, Bucket>();
  #sweepSize = SWEEP_SIZE;

  constructor(limits: BucketLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#buckets.size;
  }

  /** How long until there is one more. */
  waitMs(name: string, nowMs: number): number {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return 0;
    const { most, refillMs } = this.#limits;
    return Math.max(0, (this.#usedOf(bucket, nowMs) + 1 - most) * refillMs);
  }

  add(name: string, count: number, nowMs: number): void {
    const bucket = this.#buckets.get(name) ?? { used: 0, atMs: nowMs };
    bucket.used = Math.max(0, this.#usedOf(bucket, nowMs) + count);
    bucket.atMs = nowMs;
    this.#buckets.set(name, bucket);
    if (this.#buckets.size >= this.#sweepSize) this.#sweep(nowMs);
  }

  #usedOf({ used, atMs }: Bucket, nowMs: number): number {
    return Math.max(0, used - (nowMs - atMs) / this.#limits.refillMs);
  }

  /** When as many as before have come: each is looked at a bounded number of times. */
  #sweep(nowMs: number): void {
    for (const [name, bucket] of this.#buckets) {
      if (this.#usedOf(bucket, nowMs) === 0) this.#buckets.delete(name);
    }
    this.#sweepSize = Math.max(SWEEP_SIZE, 2 * this.#buckets.size);
  }
}
