/**
 * SharedLog: the replicated log of one app, as the engine uses it. Its host implements it.
 *
 * Entries have sequences that rise. An entry is appended only behind the one that its writer names
 * as the last: so a writer that does not know the newest entry cannot append.
 */

/** What is known of an append. */
export type AppendOutcome =
  /** The entry is durable on a majority. */
  | { readonly kind: "appended"; readonly sequence: number }
  /** Another entry is the last one. The entry may be that one, if it was appended before. */
  | { readonly kind: "refused" }
  /** No answer came: the entry may or may not be there. */
  | { readonly kind: "unknown"; readonly cause?: unknown };

export interface AppendTarget {
  /** The sequence of the last entry; 0 for an empty log. */
  readonly after: number;
  /** Identifies the entry: the same one may be sent again, and is appended once. */
  readonly id: string;
}

export interface SharedEntry {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

export interface SharedLog {
  /** Never rejects. */
  append(bytes: Uint8Array, target: AppendTarget): Promise<AppendOutcome>;
  /**
   * The entry that comes next after a sequence; undefined when there is none. It must come from
   * the leader of the log: an old one could miss entries. Rejects when it cannot be reached.
   */
  next(after: number): Promise<SharedEntry | undefined>;
  /** The sequence of the last entry; 0 for an empty log. As `next`. */
  end(): Promise<number>;
  /** Delivers the entries after a sequence in their order, those that come later included. */
  follow(after: number): LogTail;
  /** Forgets the entries up to this one. The last entry of a log is never forgotten. */
  trim(through: number): Promise<void>;
}

/** Iterated once. It throws when the log cannot be followed now; the caller begins again then. */
export interface LogTail extends AsyncIterable<SharedEntry> {
  /** Ends the iteration, also one that waits. */
  close(): void;
}
