/** Types of random.mjs, for tests. */

export class Random {
  constructor(seed: number);
  /** At least 0 and below 1. */
  next(): number;
  /** At least `from` and below `to`. */
  between(from: number, to: number): number;
  isLikely(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** A generator of its own, for work that runs at the same time. */
  fork(): Random;
}
