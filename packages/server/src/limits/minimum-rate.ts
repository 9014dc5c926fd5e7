/**
 * Minimum rate: checks that the other end of a transfer keeps up, over windows of time. An idle
 * timeout is not enough: one byte every few seconds never times out, and holds resources for days.
 *
 * Only time spent waiting for the other end counts: a slow disk is not its fault.
 */

export interface RateBounds {
  /** The length of a window. */
  readonly windowMs: number;
  /** Bytes that must pass within each window. */
  readonly bytes: number;
}

export class MinimumRate {
  readonly #bounds: RateBounds;
  #waitedMs = 0;
  #bytes = 0;

  constructor(bounds: RateBounds) {
    this.#bounds = bounds;
  }

  /** Records `bytes` transferred after waiting `waitedMs`; false when the rate is too low. */
  note(waitedMs: number, bytes: number): boolean {
    this.#waitedMs += waitedMs;
    this.#bytes += bytes;
    if (this.#waitedMs < this.#bounds.windowMs) return true;
    const isKept = this.#bytes >= this.#bounds.bytes;
    this.#waitedMs = 0;
    this.#bytes = 0;
    return isKept;
  }
}
