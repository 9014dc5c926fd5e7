/**
 * Rotation: things that wait, one of each owner in turn, so that an owner of many does not hold up
 * the others.
 */

export class Rotation<T> {
  /** In the order in which owners come next; none without anything that waits. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  /** How many wait, of all owners. */
  get size(): number {
    return this.#size;
  }

  /** Behind all others of its owner. */
  add(owner: string, item: T): void {
    this.#size++;
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined) this.#waiting.set(owner, [item]);
    else waiting.push(item);
  }

  /** The one whose turn it is, which waits no longer; undefined when nothing waits. */
  next(): T | undefined {
    for (const [owner, waiting] of this.#waiting) {
      const item = waiting.shift();
      this.#size--;
      this.#waiting.delete(owner);
      // Its next one comes after those of all others.
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      return item;
    }
    return undefined;
  }
}
