/**
 * Server time: what the clock of the server shows, as far as a peer can tell.
 *
 * The wall clock of a device may be wrong, and may be set at any moment. A server says at each welcome
 * what its own shows. From then on, until the process ends, the clock that never goes back tells how
 * much has passed; where the wall clock agrees with it, it was not set since, and the time of a write
 * is certain.
 */

import type { Platform } from "../platform.ts";

/** A clock that is off by no more than this is right. */
export const OFFSET_MS_MAX = 1000;

/** Both clocks of the device at one moment. */
interface Moment {
  readonly wallMs: number;
  readonly elapsedMs: number;
}

export class ServerTime {
  readonly #platform: Pick<Platform, "now" | "elapsed">;
  #offsetMs: number | undefined;
  /** When the offset was measured, in this process. */
  #measured: Moment | undefined;

  /** `offsetMs`: as it was measured in a former process. */
  constructor(platform: Pick<Platform, "now" | "elapsed">, offsetMs?: number) {
    this.#platform = platform;
    this.#offsetMs = offsetMs;
  }

  /** What `now` is corrected by; undefined before any server was heard. */
  get offsetMs(): number | undefined {
    return this.#offsetMs;
  }

  /** A server has said that its clock is so far ahead of the wall clock. */
  measure(offsetMs: number): void {
    this.#offsetMs = Math.abs(offsetMs) > OFFSET_MS_MAX ? Math.round(offsetMs) : 0;
    this.#measured = this.#moment();
  }

  /** The wall clock, corrected by what is known. */
  now(): number {
    return this.#platform.now() + (this.#offsetMs ?? 0);
  }

  /** Whether the wall clock was measured in this process and not set since. */
  get isCertain(): boolean {
    if (this.#measured === undefined) return false;
    const { wallMs, elapsedMs } = this.#moment();
    const shown = wallMs - this.#measured.wallMs;
    return Math.abs(shown - (elapsedMs - this.#measured.elapsedMs)) <= OFFSET_MS_MAX;
  }

  /** The server's clock, whatever became of the wall clock; undefined before a welcome. */
  get certainMs(): number | undefined {
    if (this.#measured === undefined) return undefined;
    const passed = this.#moment().elapsedMs - this.#measured.elapsedMs;
    return Math.round(this.#measured.wallMs + (this.#offsetMs ?? 0) + passed);
  }

  #moment(): Moment {
    return { wallMs: this.#platform.now(), elapsedMs: this.#platform.elapsed() };
  }
}
