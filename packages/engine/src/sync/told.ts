/**
 * Told: what a peer was told of the documents of a collection, range of ids by range of ids, and as of
 * which transaction.
 *
 * A fill reads in short pieces, so its pieces show different states; what happened since is told by
 * comparing with exactly the state that was told. Otherwise a document that came to match before its
 * piece was read and no longer matches afterwards would stay with the peer for ever.
 */

interface Part {
  /** The key of the last id; undefined for all that are left. */
  through: string | undefined;
  readonly txn: number;
}

/** Before the first id. */
export const FIRST_KEY = "";

export class Told {
  #parts: Part[] = [];

  /** Everything was told as of one transaction. */
  static upTo(txn: number): Told {
    const told = new Told();
    told.add(undefined, txn);
    return told;
  }

  /** Whether something was told of every id. */
  get isWhole(): boolean {
    const last = this.#parts.at(-1);
    return last !== undefined && last.through === undefined;
  }

  /** The transaction of the range that was told first; Infinity where nothing was told. */
  get oldest(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { txn } of this.#parts) oldest = Math.min(oldest, txn);
    return oldest;
  }

  /** As of when the document was told; undefined where nothing was told yet. */
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

  /** The ids behind what was told, up to and with `through`, or all that are left. */
  add(through: string | undefined, txn: number): void {
    push(this.#parts, through, txn);
  }

  /** Of what was told, the ids behind `after` up to and with `through` were told again. */
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

/** Ranges of one state that follow each other are one. */
function push(parts: Part[], through: string | undefined, txn: number): string | undefined {
  const last = parts.at(-1);
  if (last?.txn === txn) last.through = through;
  else parts.push({ through, txn });
  return through;
}

/** Undefined is behind everything. */
function lesser(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
