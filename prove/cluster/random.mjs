/** Random numbers by a seed (mulberry32): the same seed gives the same faults. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** At least 0 and below 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** At least `from` and below `to`. */
  between(from, to) {
    return from + this.next() * (to - from);
  }

  isLikely(probability) {
    return this.next() < probability;
  }

  pick(items) {
    return items[Math.floor(this.next() * items.length)];
  }

  /** A generator of its own, for work that runs at the same time. */
  fork() {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
