/**
 * Round-robin queue: holds waiting items by owner and returns one of each owner in turn, so that an
 * owner with many items does not delay the others.
 */

export class Rotation<T> {
  /** In the order of the next turns; only owners with waiting items. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  /** Number of waiting items of all owners. */
  get size(): number {
    return this.#size;
  }

  /** Adds an item behind all others of its owner. */
  add(owner: string, item: T): void {
    this.#size++;
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined) this.#waiting.set(owner, [item]);
    else waiting.push(item);
  }

  /** Removes and returns the next item; undefined when none waits. */
  next(): T | undefined {
    for (const [owner, waiting] of this.#waiting) {
      const item = waiting.shift();
      this.#size--;
      this.#waiting.delete(owner);
      // Its next item comes after those of all others.
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      return item;
    }
    return undefined;
  }
}
