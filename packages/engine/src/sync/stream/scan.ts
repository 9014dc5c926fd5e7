/**
 * Scan: the position of a fill or a comparison, which reads the documents of a filter in the order
 * of ids, piece by piece (S13 to S15).
 */

import { FIRST_KEY } from "./sent-ranges.ts";

export class Scan {
  readonly kind: "fill" | "compare";
  /** Key of the last id that was read. The peer may not be allowed to know this id. */
  through: string;
  /** Key of the last id in a range that was sent: always an id that the peer receives. */
  sentThrough: string;
  /** Oldest transaction as of which the ids so far were sent: `asOf` of a piece (S57). */
  sentSince: number = Number.POSITIVE_INFINITY;
  /** Keys that the condition or an index names; null if all documents are read. */
  named: NamedKeys | null | undefined;

  /** `after`: key of the last id of an interrupted fill, which this scan continues (S72). */
  constructor(kind: "fill" | "compare", after: string = FIRST_KEY) {
    this.kind = kind;
    this.through = after;
    this.sentThrough = after;
  }
}

export interface NamedKeys {
  /** Transaction of the snapshot that the keys were found in: in another they may differ. */
  readonly txn: number;
  readonly keys: readonly string[];
}
