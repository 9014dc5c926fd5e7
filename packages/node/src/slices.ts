/**
 * Slices: long work lets everything else have its turn now and then.
 */

import { nodePlatform } from "./node-platform.ts";

/** What slices are measured and parted by. */
export interface SliceClock {
  /** Milliseconds on a clock that never goes back. */
  elapsed(): number;
  /** Lets everything else that waits have its turn. */
  pause(): Promise<void>;
}

export const NODE_CLOCK: SliceClock = nodePlatform;

/** How long work goes on before it pauses. */
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

  /** Takes all steps, and pauses between two of them where it is time to. */
  async take<T>(steps: Iterator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (this.isOver) await this.pause();
    }
  }
}
