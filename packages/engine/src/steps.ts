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

/** Small things that are done between two pauses: each costs hardly more than the pause. */
export const AT_ONCE = 64;
