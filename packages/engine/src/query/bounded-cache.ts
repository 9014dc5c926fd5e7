/**
 * BoundedCache: what was computed lately, by key. When it is full, what was not used for the longest
 * time is forgotten.
 */

export class BoundedCache<K, V> {
  readonly #countMax: number;
  /** A Map keeps the order in which keys were set; the first is the one to forget. */
  readonly #values = new Map<K, V>();

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get count(): number {
    return this.#values.size;
  }

  /** The kept value, or the one that `make` returns, which is kept from now on. */
  obtain(key: K, make: (key: K) => V): V {
    const isKept = this.#values.has(key);
    const value = isKept ? (this.#values.get(key) as V) : make(key);
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size > this.#countMax) this.#forgetOldest();
    return value;
  }

  #forgetOldest(): void {
    for (const key of this.#values.keys()) {
      this.#values.delete(key);
      return;
    }
  }
}
