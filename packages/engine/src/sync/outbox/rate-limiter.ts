/**
 * Rate limiter: a token bucket that limits how much filter evaluation one session may cause.
 *
 * The server evaluates the changes of all sessions one after the other, so an expensive condition
 * delays all of them. A session may use an amount of work at once, which refills with time.
 */

import { PeerError } from "@bigpeer/protocol";
import type { StreamLimits } from "./stream-limits.ts";

type RateLimits = Pick<StreamLimits, "workAtOnce" | "workPerSecond">;

export class RateLimiter {
  readonly #elapsed: () => number;
  readonly #limits: RateLimits;
  #used = 0;
  #countedMs = 0;

  /** `elapsed`: a monotonic clock, in milliseconds. */
  constructor(elapsed: () => number, limits: RateLimits) {
    this.#elapsed = elapsed;
    this.#limits = limits;
  }

  /** Charges work. Returns false if the bucket is overdrawn. */
  spend(work: number): boolean {
    this.#regain();
    this.#used += work;
    return this.#used <= this.#limits.workAtOnce;
  }

  /** Whether the bucket is overdrawn. Called for each evaluation, so it must be fast. */
  get isExhausted(): boolean {
    if (this.#used <= this.#limits.workAtOnce) return false;
    this.#regain();
    return this.#used > this.#limits.workAtOnce;
  }

  #regain(): void {
    const now = this.#elapsed();
    const regained = ((now - this.#countedMs) / 1000) * this.#limits.workPerSecond;
    this.#used = Math.max(0, this.#used - regained);
    this.#countedMs = now;
  }
}

/** Error of a stream whose session has overdrawn its bucket. */
export function exhaustion(): PeerError {
  const message = "the conditions of the session take too long to be evaluated for each change";
  return new PeerError("query.timeout", message);
}
