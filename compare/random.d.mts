/** Types of random.mjs, for tests. */

export class Random {
  constructor(seed: number);
  /** At least 0 and below 1. */
  next(): number;
  /** At least `low` and below `high`, not only integers. */
  between(low: number, high: number): number;
  below(count: number): number;
  from(low: number, high: number): number;
  chance(share: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** A generator of its own, for work that runs at the same time. */
  fork(): Random;
  /** An item of [weight, item] pairs. */
  weighed<T>(pairs: readonly (readonly [weight: number, item: T])[]): T;
}
