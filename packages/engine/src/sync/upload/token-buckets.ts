/**
 * Token buckets: one bucket for each name, with a size and a refill rate. A full bucket is
 * forgotten, so only buckets in recent use take memory.
 */

/** Tokens of a full bucket, and milliseconds until one more is refilled. */
export interface BucketLimits {
  readonly most: number;
  readonly refillMs: number;
}

/** Number of buckets from which on full ones are looked for and removed. */
const SWEEP_SIZE = 1024;

interface Bucket {
  /** Tokens used and not refilled yet, at `atMs`. */
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

  /** Milliseconds until a token is available. */
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

  /** Runs when the number of buckets has doubled, so each is checked a bounded number of times. */
  #sweep(nowMs: number): void {
    for (const [name, bucket] of this.#buckets) {
      if (this.#usedOf(bucket, nowMs) === 0) this.#buckets.delete(name);
    }
    this.#sweepSize = Math.max(SWEEP_SIZE, 2 * this.#buckets.size);
  }
}
