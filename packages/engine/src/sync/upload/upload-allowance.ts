/**
 * Upload allowance: token buckets that limit, for each credential, how many sites it begins and how
 * many of its uploads are refused (S59).
 *
 * Both are durable records that cost their sender nothing.
 */

import {
  NEW_SITE_MS,
  NEW_SITES_MAX,
  REFUSED_UPLOAD_MS,
  REFUSED_UPLOADS_MAX,
  UPLOAD_WAIT_MS_MAX,
  UPLOAD_WAIT_MS_MIN,
} from "../../limits.ts";
import { type BucketLimits, TokenBuckets } from "./token-buckets.ts";

export interface AllowanceLimits {
  readonly newSites: BucketLimits;
  readonly refusedUploads: BucketLimits;
}

export type AllowanceKind = keyof AllowanceLimits;

export const ALLOWANCE_LIMITS: AllowanceLimits = {
  newSites: { most: NEW_SITES_MAX, refillMs: NEW_SITE_MS },
  refusedUploads: { most: REFUSED_UPLOADS_MAX, refillMs: REFUSED_UPLOAD_MS },
};

export class UploadAllowance {
  readonly #elapsed: () => number;
  readonly #newSites: TokenBuckets;
  readonly #refusedUploads: TokenBuckets;

  /** `elapsed`: a monotonic clock, in milliseconds. */
  constructor(elapsed: () => number, limits: AllowanceLimits = ALLOWANCE_LIMITS) {
    this.#elapsed = elapsed;
    this.#newSites = new TokenBuckets(limits.newSites);
    this.#refusedUploads = new TokenBuckets(limits.refusedUploads);
  }

  /** Number of buckets in memory. */
  get count(): number {
    return this.#newSites.count + this.#refusedUploads.count;
  }

  /** Milliseconds that a credential has to wait before its next upload; 0 for none. */
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

  /** Returns a token that turned out not to be used. */
  giveBack(credential: string, kind: AllowanceKind): void {
    this.#of(kind).add(credential, -1, this.#elapsed());
  }

  #of(kind: AllowanceKind): TokenBuckets {
    return kind === "newSites" ? this.#newSites : this.#refusedUploads;
  }
}
