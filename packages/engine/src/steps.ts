/**
 * Steps: long work as a generator that yields at each point where it can pause, so that the caller
 * can run other work between two steps.
 */

export type Steps<T> = Generator<void, T, void>;

/** Runs to the end without a pause. */
export function finish<T>(steps: Iterator<void, T, void>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** A clock that runs only during steps: time between two of them does not count. */
export class StepClock {
  readonly #elapsed: () => number;
  #spentMs = 0;
  /** When the current step began. */
  #startMs: number | undefined;

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Milliseconds that its steps have taken so far. */
  now(): number {
    return this.#spentMs + (this.#startMs === undefined ? 0 : this.#elapsed() - this.#startMs);
  }

  /** The same steps, timed by this clock. */
  *time<T>(steps: Steps<T>): Steps<T> {
    for (;;) {
      this.#startMs = this.#elapsed();
      try {
        const { done, value } = steps.next();
        if (done === true) return value;
      } finally {
        this.#spentMs = this.now();
        this.#startMs = undefined;
      }
      yield;
    }
  }
}

/** Small items that are processed between two pauses: each costs hardly more than the pause. */
export const AT_ONCE = 64;
