/**
 * Sent ranges: for each range of ids, the transaction as of which a stream was sent its documents.
 *
 * A fill reads in short pieces, so its pieces show different states. Later changes must be compared
 * with exactly the state that was sent. Otherwise a document that began to match before its piece
 * was read, and then stopped matching, would stay on the peer forever.
 */

interface Part {
  /** Key of the last id; undefined for all remaining ids. */
  through: string | undefined;
  readonly txn: number;
}

/** Sorts before the first id. */
export const FIRST_KEY = "";

export class SentRanges {
  #parts: Part[] = [];

  /** Everything was sent as of one transaction. */
  static upTo(txn: number): SentRanges {
    const ranges = new SentRanges();
    ranges.add(undefined, txn);
    return ranges;
  }

  /** Whether the ranges cover all ids. */
  get isWhole(): boolean {
    const last = this.#parts.at(-1);
    return last !== undefined && last.through === undefined;
  }

  /** The oldest transaction of all ranges; Infinity if there are none. */
  get oldest(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { txn } of this.#parts) oldest = Math.min(oldest, txn);
    return oldest;
  }

  /** The transaction as of which a document was sent; undefined if it was not yet. */
  at(idKey: string): number | undefined {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const through = this.#parts[middle]?.through;
      if (through === undefined || idKey <= through) high = middle;
      else low = middle + 1;
    }
    return this.#parts[low]?.txn;
  }

  /** Adds a range after the last one, up to and including `through`, or all remaining ids. */
  add(through: string | undefined, txn: number): void {
    push(this.#parts, through, txn);
  }

  /** The covered ids after `after`, up to and including `through`, were sent again. */
  renew(after: string, through: string | undefined, txn: number): void {
    const parts: Part[] = [];
    let low = FIRST_KEY;
    for (const part of this.#parts) {
      const high = part.through;
      if (low < after) {
        low = push(parts, lesser(high, after), part.txn) ?? after;
        if (low === high) continue;
      }
      if (through === undefined || low < through) {
        const end = push(parts, lesser(high, through), txn);
        if (end === high) {
          low = high ?? low;
          continue;
        }
      }
      push(parts, high, part.txn);
      low = high ?? low;
    }
    this.#parts = parts;
  }
}

/** Joins adjacent ranges of one transaction. */
function push(parts: Part[], through: string | undefined, txn: number): string | undefined {
  const last = parts.at(-1);
  if (last?.txn === txn) last.through = through;
  else parts.push({ through, txn });
  return through;
}

/** Undefined is after everything. */
function lesser(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
