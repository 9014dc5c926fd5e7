/**
 * Device allowance: how much of the change log the records of devices may take, of each credential and
 * of all of an app. Whoever may connect writes them, without any permission (W7).
 */

import { TokenBuckets } from "@bigpeer/engine";
import {
  DEVICE_LOG_BYTES,
  DEVICE_LOG_BYTES_OF_ONE,
  DEVICE_LOG_RATE,
  DEVICE_LOG_RATE_OF_ONE,
} from "../limits.ts";

/** Bytes of the change log: at once, and then in a second. */
export interface LogShare {
  readonly most: number;
  readonly perSecond: number;
}

export interface DeviceAllowanceLimits {
  /** Of each credential, and of all of them. */
  readonly ofOne: LogShare;
  readonly ofAll: LogShare;
}

const LIMITS: DeviceAllowanceLimits = {
  ofOne: { most: DEVICE_LOG_BYTES_OF_ONE, perSecond: DEVICE_LOG_RATE_OF_ONE },
  ofAll: { most: DEVICE_LOG_BYTES, perSecond: DEVICE_LOG_RATE },
};

/** The one name in the buckets of all. */
const ALL = "";

export class DeviceAllowance {
  readonly #elapsed: () => number;
  readonly #ofOne: TokenBuckets;
  readonly #ofAll: TokenBuckets;

  /** `elapsed` is a clock that never goes back. */
  constructor(elapsed: () => number, { ofOne, ofAll }: DeviceAllowanceLimits = LIMITS) {
    this.#elapsed = elapsed;
    this.#ofOne = bucketsOf(ofOne);
    this.#ofAll = bucketsOf(ofAll);
  }

  /** Whether nothing more of a credential is to be written for now. */
  isSpent(credential: string): boolean {
    const nowMs = this.#elapsed();
    return this.#ofOne.waitMs(credential, nowMs) > 0 || this.#ofAll.waitMs(ALL, nowMs) > 0;
  }

  /** These were written. */
  charge(credential: string, bytes: number): void {
    const nowMs = this.#elapsed();
    this.#ofOne.add(credential, bytes, nowMs);
    this.#ofAll.add(ALL, bytes, nowMs);
  }
}

function bucketsOf({ most, perSecond }: LogShare): TokenBuckets {
  return new TokenBuckets({ most, refillMs: 1000 / perSecond });
}
