/**
 * Minimum rate: whether the other end of a transfer keeps up, over windows of time. A pause alone says
 * little: one byte every few seconds is no pause, and holds what it uses for days.
 *
 * Only the time in which the other end is waited for counts: a slow disk is not its fault.
 */

export interface RateBounds {
  /** The length of a window. */
  readonly windowMs: number;
  /** Bytes that must pass within each. */
  readonly bytes: number;
}

export class MinimumRate {
  readonly #bounds: RateBounds;
  #waitedMs = 0;
  #bytes = 0;

  constructor(bounds: RateBounds) {
    this.#bounds = bounds;
  }

  /** `bytes` passed after the other end was waited for. False when it is too slow. */
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
