/**
 * Effort: what the conditions of one session may cost, whatever they are.
 *
 * The changes of all are judged one after the other, so a condition that takes long is waited for by
 * everybody. A session has an amount of work that it may use at once, which is filled up again with
 * the time that passes.
 */

import { PeerError } from "@bigpeer/protocol";
import type { StreamLimits } from "./stream-limits.ts";

type EffortLimits = Pick<StreamLimits, "workAtOnce" | "workPerSecond">;

export class Effort {
  readonly #elapsed: () => number;
  readonly #limits: EffortLimits;
  #used = 0;
  #countedMs = 0;

  /** `elapsed` is a clock that never goes back. */
  constructor(elapsed: () => number, limits: EffortLimits) {
    this.#elapsed = elapsed;
    this.#limits = limits;
  }

  /** False when it is more than there is. */
  spend(work: number): boolean {
    this.#regain();
    this.#used += work;
    return this.#used <= this.#limits.workAtOnce;
  }

  /** Whether more than there is has been used. Asked for every evaluation, so that it is quick. */
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

/** What is said to whoever has used more than there is. */
export function exhaustion(): PeerError {
  const message = "the conditions of the session take too long to be evaluated for each change";
  return new PeerError("query.timeout", message);
}
