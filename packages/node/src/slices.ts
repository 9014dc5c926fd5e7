/**
 * Slices: runs long work in time slices, with pauses for other work in between.
 */

import { nodePlatform } from "./node-platform.ts";

/** Clock and pause of the slices. */
export interface SliceClock {
  /** Milliseconds on a monotonic clock. */
  elapsed(): number;
  /** Lets all other waiting work run. */
  pause(): Promise<void>;
}

export const NODE_CLOCK: SliceClock = nodePlatform;

/** Length of a time slice. */
const SLICE_MS = 10;

export class Slices {
  readonly #clock: SliceClock;
  #endMs: number;

  constructor(clock: SliceClock) {
    this.#clock = clock;
    this.#endMs = clock.elapsed() + SLICE_MS;
  }

  /** Whether it is time to pause. */
  get isOver(): boolean {
    return this.#clock.elapsed() >= this.#endMs;
  }

  async pause(): Promise<void> {
    await this.#clock.pause();
    this.#endMs = this.#clock.elapsed() + SLICE_MS;
  }

  /** Runs all steps, and pauses between two of them when a slice is over. */
  async take<T>(steps: Iterator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (this.isOver) await this.pause();
    }
  }
}

/** Runs all steps without a pause. */
export function atOnce<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
