/**
 * Steps: work with pauses. Whoever takes the steps may let others have their turn between any two.
 */

export type Steps<T> = Generator<void, T, void>;

/** Runs to the end without a pause. */
export function finish<T>(steps: Iterator<void, T, void>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * A clock that goes on only while steps are taken: the time of others between two of them does not
 * count.
 */
export class StepClock {
  readonly #elapsed: () => number;
  #spentMs = 0;
  /** When the step at hand began. */
  #startMs: number | undefined;

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Milliseconds that its steps took so far. */
  now(): number {
    return this.#spentMs + (this.#startMs === undefined ? 0 : this.#elapsed() - this.#startMs);
  }

  /** The same steps, with this clock. */
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

/** Small things that are done between two pauses: each costs hardly more than the pause. */
export const AT_ONCE = 64;
