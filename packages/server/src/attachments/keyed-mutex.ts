/**
 * Keyed mutex: serializes work on the same attachment content. Without it, a content that is
 * uploaded again while it is deleted could end as a record without a file.
 */

export class KeyedMutex {
  /** End of the last work requested for each content. */
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` after all earlier work on any of these contents has ended. */
  async run<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    // All keys are taken synchronously, so of two calls one is always first: no deadlock.
    const before = ids.flatMap((id) => this.#last.get(id) ?? []);
    const turn = Promise.all(before).then(work);
    const ended = turn.then(
      () => {},
      () => {},
    );
    for (const id of ids) this.#last.set(id, ended);
    try {
      return await turn;
    } finally {
      for (const id of ids) if (this.#last.get(id) === ended) this.#last.delete(id);
    }
  }
}
