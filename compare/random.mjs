/**
 * Seeded random numbers, so that a run can be repeated by its seed.
 */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count) {
    return Math.floor(this.next() * count);
  }

  from(low, high) {
    return low + this.below(high - low + 1);
  }

  /** At least `low` and below `high`, not only integers. */
  between(low, high) {
    return low + this.next() * (high - low);
  }

  chance(share) {
    return this.next() < share;
  }

  pick(items) {
    return items[this.below(items.length)];
  }

  /** A generator of its own, for work that runs at the same time. */
  fork() {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }

  /** An item of [weight, item] pairs. */
  weighed(pairs) {
    let left = this.next() * pairs.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of pairs) {
      left -= weight;
      if (left < 0) return item;
    }
    return pairs.at(-1)[1];
  }
}
