/**
 * Progress: how far a stream is that is not live. It knows what the peer was sent and as of which
 * transaction, and where the next reads continue.
 */

import { type Piece, Scan, type ScanKind, type ScanPosition } from "./scan.ts";
import { FIRST_KEY, SentRanges } from "./sent-ranges.ts";

export class Progress {
  readonly #sentRanges: SentRanges;
  /** Ids up to this one are uncertain; undefined for all ids, FIRST_KEY for none. */
  readonly #uncertainThrough: string | undefined;
  /** The rest of a fill or a comparison. */
  #scan: Scan | undefined;
  /** The catch-up continues after this id. */
  #sweep: string = FIRST_KEY;

  private constructor(sentRanges: SentRanges, uncertainThrough: string | undefined, scan?: Scan) {
    this.#sentRanges = sentRanges;
    this.#uncertainThrough = uncertainThrough;
    this.#scan = scan;
  }

  /** Everything is read from the beginning. */
  static ofScan(kind: ScanKind): Progress {
    return new Progress(new SentRanges(), FIRST_KEY, new Scan(kind));
  }

  /** Everything was sent as of one transaction. */
  static since(txn: number): Progress {
    return new Progress(SentRanges.upTo(txn), FIRST_KEY);
  }

  /**
   * The peer returns with a cursor. The previous connection may have brought more than the cursor
   * counts, so the peer may hold any state since (S19).
   */
  static ofCursor(txn: number): Progress {
    return new Progress(SentRanges.upTo(txn), undefined);
  }

  /**
   * The peer returns with a cursor inside a fill, which continues (S72). All ids up to `through`
   * were sent as of `txn` or later, and only these are uncertain: the rest is sent again.
   */
  static ofInterruptedFill(through: string, txn: number): Progress {
    const sentRanges = new SentRanges();
    sentRanges.add(through, txn);
    return new Progress(sentRanges, through, new Scan("fill", through));
  }

  get scan(): ScanPosition | undefined {
    return this.#scan;
  }

  get sweep(): string {
    return this.#sweep;
  }

  /** Whether something was sent of each id, so that only changes are missing. */
  get isWhole(): boolean {
    return this.#sentRanges.isWhole;
  }

  /** The oldest transaction as of which something was sent; Infinity if nothing was. */
  get oldestSent(): number {
    return this.#sentRanges.oldest;
  }

  /** The transaction as of which a document was sent; undefined if it was not yet. */
  sentTxn(idKey: string): number | undefined {
    return this.#sentRanges.at(idKey);
  }

  /** Whether the peer may hold any state of a document since it was sent. */
  isUncertainOf(idKey: string): boolean {
    const through = this.#uncertainThrough;
    return through === undefined || idKey <= through;
  }

  /** The next piece of the scan is sent. */
  pieceSent(piece: Piece): void {
    this.#sentRanges.add(piece.through, piece.txn);
    this.#scan?.pieceSent(piece);
    if (piece.through === undefined) this.#scan = undefined;
  }

  /** The open range of the scan was sent up to and including an id. */
  rangeSent(idKey: string): void {
    this.#scan?.rangeSent(idKey);
  }

  /** Changes are sent up to a transaction, for ids up to `cut`; undefined if that is all. */
  changesSent(txn: number, cut: string | undefined): void {
    this.#sentRanges.renew(this.#sweep, cut, txn);
    this.#sweep = cut ?? FIRST_KEY;
  }
}
