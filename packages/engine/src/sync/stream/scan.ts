/**
 * Scan: the position of a fill or a comparison, which reads the documents of a filter in the order
 * of ids, piece by piece (S13 to S15).
 */

import { FIRST_KEY } from "./sent-ranges.ts";

export type ScanKind = "fill" | "compare";

/** A scan as the readers of pieces see it. */
export interface ScanPosition {
  readonly kind: ScanKind;
  /** Key of the last id that was read. The peer may not be allowed to know this id. */
  readonly through: string;
  /** Key of the last id in a range that was sent: always an id that the peer receives. */
  readonly sentThrough: string;
  /** `asOf` of the last piece. */
  readonly asOf: number;
  /** Keys that the condition or an index names, as the last piece found them. */
  readonly named: NamedKeys | null | undefined;
}

export interface NamedKeys {
  /** Transaction of the snapshot that the keys were found in: in another they may differ. */
  readonly txn: number;
  readonly keys: readonly string[];
}

/** A piece that was read. */
export interface Piece {
  /** Undefined if nothing matched: the next piece then covers this range as well. */
  readonly frame: Uint8Array | undefined;
  readonly txn: number;
  /** Key of the last id that was read; undefined for the last piece. */
  readonly through: string | undefined;
  /** Key of the last id in the frame; undefined for the last piece, or if nothing matched. */
  readonly sentThrough: string | undefined;
  /** Oldest transaction as of which the ids so far were sent, with this piece (S57). */
  readonly asOf: number;
  /** Null if all documents are read, here and in all later pieces. */
  readonly named: NamedKeys | null;
}

export class Scan implements ScanPosition {
  readonly kind: ScanKind;
  #through: string;
  #sentThrough: string;
  #asOf = Number.POSITIVE_INFINITY;
  #named: NamedKeys | null | undefined;

  /** `after`: key of the last id of an interrupted fill, which this scan continues (S72). */
  constructor(kind: ScanKind, after: string = FIRST_KEY) {
    this.kind = kind;
    this.#through = after;
    this.#sentThrough = after;
  }

  get through(): string {
    return this.#through;
  }

  get sentThrough(): string {
    return this.#sentThrough;
  }

  get asOf(): number {
    return this.#asOf;
  }

  get named(): NamedKeys | null | undefined {
    return this.#named;
  }

  /** Moves behind a piece that is sent. */
  pieceSent({ frame, through, sentThrough, asOf, named }: Piece): void {
    this.#through = through ?? this.#through;
    if (frame !== undefined) this.#sentThrough = sentThrough ?? this.#through;
    this.#asOf = asOf;
    this.#named = named;
  }

  /** The open range was sent up to and including an id. */
  rangeSent(idKey: string): void {
    this.#sentThrough = idKey;
  }
}
