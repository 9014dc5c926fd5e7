/**
 * Content turns: whoever puts a content into its place and whoever takes it away wait for each
 * other, content by content. Without it, a content that is uploaded again while it is deleted could
 * end as a record without a file.
 */

export class ContentTurns {
  /** For each content the end of the last turn that was asked for. */
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` when all turns that were asked for before, of any of these contents, are over. */
  async run<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    // All places are taken in one breath: so of two turns one is always before the other.
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
