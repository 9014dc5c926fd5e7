/**
 * Cancel: tells work under way that it is no longer wanted.
 */

export class Cancel {
  readonly #listeners = new Set<() => void>();
  #isCancelled = false;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Calls `listener` when it is cancelled, or at once. Returns a function that forgets it. */
  onCancel(listener: () => void): () => void {
    if (this.#isCancelled) listener();
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
