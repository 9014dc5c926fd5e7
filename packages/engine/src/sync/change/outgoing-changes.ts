/**
 * Outgoing changes: the entries of changed documents that are sent for one filter, in order.
 */

export class OutgoingChanges {
  readonly entries: Uint8Array[] = [];
  readonly #keys: string[] = [];
  #known: Set<string> | undefined;
  bytes = 0;

  add(idKey: string, entry: Uint8Array): void {
    this.entries.push(entry);
    this.#keys.push(idKey);
    this.bytes += entry.length;
  }

  /** Whether the last entry is about this document. */
  endsWith(idKey: string): boolean {
    return this.#keys.at(-1) === idKey;
  }

  /** Last document after `after`, up to and including `through`, that has an entry. */
  lastIn(after: string, through: string): string | undefined {
    return this.#keys.findLast((key) => key > after && key <= through);
  }

  /** Whether a document has an entry. */
  has(idKey: string): boolean {
    this.#known ??= new Set(this.#keys);
    return this.#known.has(idKey);
  }

  /** Drops the entries, because they are too large to send. */
  clear(): void {
    this.entries.length = 0;
    this.#keys.length = 0;
  }
}
