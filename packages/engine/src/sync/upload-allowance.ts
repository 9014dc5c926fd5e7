/**
 * Upload allowance: token buckets that limit, for each credential, how many sites it begins and how
 * many of its uploads are refused (S59).
 *
 * Both are durable records that cost their sender nothing. A bucket refills with time, and one that is
 * full is forgotten, so that only those are held who have just used theirs.
 */

import {
  NEW_SITE_MS,
  NEW_SITES_MAX,
  REFUSED_UPLOAD_MS,
  REFUSED_UPLOADS_MAX,
  UPLOAD_WAIT_MS_MAX,
  UPLOAD_WAIT_MS_MIN,
} from "../limits.ts";

/** How many a full bucket has, and how long one more takes, in milliseconds. */
export interface BucketLimits {
  readonly most: number;
  readonly refillMs: number;
}

export interface AllowanceLimits {
  readonly newSites: BucketLimits;
  readonly refusedUploads: BucketLimits;
}

export type AllowanceKind = keyof AllowanceLimits;

export const ALLOWANCE_LIMITS: AllowanceLimits = {
  newSites: { most: NEW_SITES_MAX, refillMs: NEW_SITE_MS },
  refusedUploads: { most: REFUSED_UPLOADS_MAX, refillMs: REFUSED_UPLOAD_MS },
};

/** Buckets that are held before those that are full again are looked for. */
const SWEEP_SIZE = 1024;

interface Bucket {
  /** Used and not refilled yet, at `atMs`. */
  used: number;
  atMs: number;
}

export class UploadAllowance {
  readonly #elapsed: () => number;
  readonly #newSites: Buckets;
  readonly #refusedUploads: Buckets;

  /** `elapsed` is a clock that never goes back. */
  constructor(elapsed: () => number, limits: AllowanceLimits = ALLOWANCE_LIMITS) {
    this.#elapsed = elapsed;
    this.#newSites = new Buckets(limits.newSites);
    this.#refusedUploads = new Buckets(limits.refusedUploads);
  }

  /** Buckets that are held. */
  get count(): number {
    return this.#newSites.count + this.#refusedUploads.count;
  }

  /** How long a credential has to wait before its next upload, in milliseconds; 0 for not at all. */
  waitMs(credential: string, isNewSite: boolean): number {
    const nowMs = this.#elapsed();
    const refused = this.#refusedUploads.waitMs(credential, nowMs);
    const wait = isNewSite ? Math.max(refused, this.#newSites.waitMs(credential, nowMs)) : refused;
    if (wait === 0) return 0;
    return Math.min(UPLOAD_WAIT_MS_MAX, Math.max(UPLOAD_WAIT_MS_MIN, Math.ceil(wait)));
  }

  use(credential: string, kind: AllowanceKind): void {
    this.#of(kind).add(credential, 1, this.#elapsed());
  }

  /** What was used turned out not to be. */
  giveBack(credential: string, kind: AllowanceKind): void {
    this.#of(kind).add(credential, -1, this.#elapsed());
  }

  #of(kind: AllowanceKind): Buckets {
    return kind === "newSites" ? this.#newSites : this.#refusedUploads;
  }
}

class Buckets {
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
