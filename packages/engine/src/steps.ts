/**
 * Steps: long work as a generator that yields at each point where it can pause, so that the caller
 * can run other work between two steps.
 */

import { assert } from "@bigpeer/protocol";

export type Steps<T> = Generator<void, T, void>;

/**
 * Waits for a promise. A time slicer continues when it is settled; other callers step until it is,
 * so they must pause between two steps.
 */
export function* waitFor<T>(promise: Promise<T>): Steps<T> {
  const outcome: { value?: T; error?: unknown; isSettled: boolean } = { isSettled: false };
  const settled = promise.then(
    (value) => Object.assign(outcome, { value, isSettled: true }),
    (error: unknown) => Object.assign(outcome, { error, isSettled: true }),
  );
  while (!outcome.isSettled) yield settled as unknown as void;
  if ("error" in outcome) throw outcome.error;
  return outcome.value as T;
}

/** Runs to the end without a pause. */
export function finish<T>(steps: Iterator<void, T, void>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    assert(value === undefined, "steps that wait for nothing");
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
