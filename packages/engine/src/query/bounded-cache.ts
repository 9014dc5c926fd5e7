/**
 * BoundedCache: LRU cache of computed values. When it is full, it removes the least recently used
 * one.
 */

export class BoundedCache<K, V> {
  readonly #countMax: number;
  /** A Map keeps insertion order; the first key is the least recently used. */
  readonly #values = new Map<K, V>();

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get count(): number {
    return this.#values.size;
  }

  /** The cached value, or the one that `make` returns, which is then cached. */
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
