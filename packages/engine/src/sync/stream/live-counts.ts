/**
 * Live counts: how many streams are live, in all and for each collection. The changes of a
 * collection without live streams need not be read.
 */

export class LiveCounts {
  readonly #byCollection = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  has(collection: string): boolean {
    return this.#byCollection.has(collection);
  }

  add(collection: string, change: 1 | -1): void {
    this.#all += change;
    const count = (this.#byCollection.get(collection) ?? 0) + change;
    if (count > 0) this.#byCollection.set(collection, count);
    else this.#byCollection.delete(collection);
  }
}
