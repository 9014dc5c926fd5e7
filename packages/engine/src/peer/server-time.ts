/**
 * Server time: estimates the server's clock from the offset that the last `welcome` showed.
 *
 * The wall clock of a device may be wrong, and may be set at any moment. From a `welcome` until the
 * process ends, the monotonic clock measures how much time has passed. If the wall clock agrees
 * with it, it was not set since, and the time of a write is certain (S33).
 */

import type { Platform } from "../platform.ts";

/** A clock that is off by no more than this counts as right. */
export const OFFSET_MS_MAX = 1000;

/** Both clocks of the device at one moment. */
interface Moment {
  readonly wallMs: number;
  readonly elapsedMs: number;
}

export class ServerTime {
  readonly #platform: Pick<Platform, "now" | "elapsed">;
  #offsetMs: number | undefined;
  /** When this process measured the offset. */
  #measured: Moment | undefined;

  /** `offsetMs`: the offset that a former process measured. */
  constructor(platform: Pick<Platform, "now" | "elapsed">, offsetMs?: number) {
    this.#platform = platform;
    this.#offsetMs = offsetMs;
  }

  /** The correction in `now`; undefined before the first `welcome`. */
  get offsetMs(): number | undefined {
    return this.#offsetMs;
  }

  /** Sets how far the server's clock is ahead of the wall clock. */
  measure(offsetMs: number): void {
    this.#offsetMs = Math.abs(offsetMs) > OFFSET_MS_MAX ? Math.round(offsetMs) : 0;
    this.#measured = this.#moment();
  }

  /** The wall clock with the known correction. */
  now(): number {
    return this.#platform.now() + (this.#offsetMs ?? 0);
  }

  /** Whether this process measured the offset, and the wall clock was not set since. */
  get isCertain(): boolean {
    if (this.#measured === undefined) return false;
    const { wallMs, elapsedMs } = this.#moment();
    const shown = wallMs - this.#measured.wallMs;
    return Math.abs(shown - (elapsedMs - this.#measured.elapsedMs)) <= OFFSET_MS_MAX;
  }

  /** The server's clock by the monotonic clock; undefined before a `welcome` in this process. */
  get certainMs(): number | undefined {
    if (this.#measured === undefined) return undefined;
    const passed = this.#moment().elapsedMs - this.#measured.elapsedMs;
    return Math.round(this.#measured.wallMs + (this.#offsetMs ?? 0) + passed);
  }

  #moment(): Moment {
    return { wallMs: this.#platform.now(), elapsedMs: this.#platform.elapsed() };
  }
}
