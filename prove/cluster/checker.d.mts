/** Types of checker.mjs, for its test. */

/** What a client recorded of one request, or a peer of one write. */
export interface HistoryEvent {
  readonly type: "insert" | "claim" | "repeat" | "increment" | "read" | "mark";
  /** The id of the write; of `repeat` and `read` that of the document. */
  readonly id: string;
  readonly outcome?: "acknowledged" | "refused" | "unknown" | "found" | "missing" | "late";
  readonly startMs?: number;
  readonly endMs?: number;
  readonly txnId?: number;
  /** Of a claim: the document that several clients try to insert. */
  readonly document?: string;
  readonly writer?: string;
  readonly node?: string;
  /** Of an increment: its counters, and its number among the writes of the client. */
  readonly counters?: readonly string[];
  readonly number?: number;
  readonly isMatched?: boolean;
  /** Of a read: the transaction that it saw. */
  readonly seenTxnId?: number;
  /** Of a mark. */
  readonly team?: number;
}

export interface StoreEnd {
  readonly sequence?: number;
  readonly digest?: string;
  readonly failure?: string;
}

export interface NodeEnd {
  readonly name: string;
  readonly collections: {
    readonly documents: ReadonlyMap<string, { readonly by: string; readonly version: number }>;
    readonly claims: ReadonlyMap<string, { readonly by: string; readonly version: number }>;
    readonly counters: ReadonlyMap<string, { readonly n: number; readonly last: number }>;
    readonly totals: ReadonlyMap<number, { readonly n: number }>;
    readonly marks: ReadonlyMap<string, { readonly team: number }>;
  };
  readonly stores: { readonly [store: string]: StoreEnd };
  /** What `bigpeer verify` found. */
  readonly problems: readonly string[];
}

export interface PeerEnd {
  readonly name: string;
  readonly team: number;
  readonly total: number | undefined;
  readonly marks: readonly string[];
  readonly pending: number;
  readonly refused: number;
  readonly state: string;
}

export interface RunEnd {
  readonly nodes: readonly NodeEnd[];
  readonly peers: readonly PeerEnd[];
}

/** Violations in words; empty if there are none. */
export function check(history: readonly HistoryEvent[], end: RunEnd): string[];

export const PLANTS: {
  readonly [fault in "lost" | "double" | "reordered"]: (
    history: readonly HistoryEvent[],
  ) => HistoryEvent[];
};
