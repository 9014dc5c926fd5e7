/**
 * Device allowance: token buckets that limit how much of the change log device records take, for
 * each credential and for an app. Any client that may connect causes such records (W7).
 */

import { TokenBuckets } from "@bigpeer/engine/sync";
import {
  DEVICE_LOG_BYTES,
  DEVICE_LOG_BYTES_OF_ONE,
  DEVICE_LOG_RATE,
  DEVICE_LOG_RATE_OF_ONE,
} from "../limits/limits.ts";

/** Bytes of the change log: the burst, and the refill in a second. */
export interface LogShare {
  readonly most: number;
  readonly perSecond: number;
}

export interface DeviceAllowanceLimits {
  /** For each credential, and for all of them. */
  readonly ofOne: LogShare;
  readonly ofAll: LogShare;
}

const LIMITS: DeviceAllowanceLimits = {
  ofOne: { most: DEVICE_LOG_BYTES_OF_ONE, perSecond: DEVICE_LOG_RATE_OF_ONE },
  ofAll: { most: DEVICE_LOG_BYTES, perSecond: DEVICE_LOG_RATE },
};

/** The only key in the buckets for all. */
const ALL = "";

export class DeviceAllowance {
  readonly #elapsed: () => number;
  readonly #ofOne: TokenBuckets;
  readonly #ofAll: TokenBuckets;

  /** `elapsed` is a monotonic clock. */
  constructor(elapsed: () => number, { ofOne, ofAll }: DeviceAllowanceLimits = LIMITS) {
    this.#elapsed = elapsed;
    this.#ofOne = bucketsOf(ofOne);
    this.#ofAll = bucketsOf(ofAll);
  }

  /** Whether records of a credential have to wait. */
  isSpent(credential: string): boolean {
    const nowMs = this.#elapsed();
    return this.#ofOne.waitMs(credential, nowMs) > 0 || this.#ofAll.waitMs(ALL, nowMs) > 0;
  }

  /** Charges bytes that were written. */
  charge(credential: string, bytes: number): void {
    const nowMs = this.#elapsed();
    this.#ofOne.add(credential, bytes, nowMs);
    this.#ofAll.add(ALL, bytes, nowMs);
  }
}

function bucketsOf({ most, perSecond }: LogShare): TokenBuckets {
  return new TokenBuckets({ most, refillMs: 1000 / perSecond });
}
