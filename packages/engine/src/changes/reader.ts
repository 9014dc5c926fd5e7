/**
 * Interfaces of the change feed: what a reader of changes asks for, and what it gets.
 *
 * A reader pulls: `next` gives the following lines in the order of transactions, a
 * bounded part of them at once, and waits when there is none. A reader that does not call `next`
 * holds no lines: it continues from its position when it calls again, from the log if need be.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Authority } from "../query/permission/authority.ts";

/** `document` has whole documents; `fields` has the changed fields only. */
export type ChangeView = "document" | "fields";

export interface ChangesRequest {
  /** Absent: all collections that the caller may read, also future ones. */
  readonly collection?: string | undefined;
  /** A filter as `find` takes it; absent: every document. */
  readonly query?: string | undefined;
  /** An object with a value for each parameter of the filter. */
  readonly args?: unknown;
  /** Permissions of the caller; absent means everything. */
  readonly authority?: Authority | undefined;
  /**
   * The cursor of the last line that was processed; `"0"` for the oldest transaction of the log.
   * Absent: from now on.
   */
  readonly since?: string | undefined;
  /** The current rows come first, as inserts with `initial`; ignored with `since`. */
  readonly isInitial?: boolean;
  readonly view?: ChangeView;
}

export type ChangeType = "insert" | "update" | "delete" | "leave";

/** One change of one document, as the reader may see it. */
export interface ChangeLine {
  readonly type: ChangeType;
  readonly collection: string;
  readonly id: Value;
  /** The transaction; for an initial row the one whose state it is from. */
  readonly txnId: number;
  /** When the transaction was evaluated, in ISO 8601. */
  readonly at: string;
  /** Who wrote it; null if that is not known, or if the reader may not read everything. */
  readonly by: ValueObject | null;
  /** The document after the change; absent for `delete` and `leave`. */
  readonly document?: ValueObject;
  /** The document before the change, if the reader had it. */
  readonly before?: ValueObject;
  readonly initial?: true;
}

/** One line of a batch. Lines are shared by readers: they must not be changed. */
export interface FeedLine {
  /** The position after this line: continues with the next one. */
  readonly cursor: string;
  /** Undefined for the end of a transaction that had lines. */
  readonly change: ChangeLine | undefined;
  readonly txnId: number;
  /** The JSON text of `change`, or of the marker of the end of a transaction. Made once. */
  readonly json: string;
}

export interface ChangeBatch {
  /**
   * In order. Lines of one transaction may be spread over several batches; after its last line
   * comes its end. Transactions without a line for this reader have no end either.
   */
  readonly lines: readonly FeedLine[];
  /** The position after the batch, never behind its last line. Store it to continue from here. */
  readonly cursor: string;
  /** Whether the reader has everything that was durable when the batch was made. */
  readonly isCurrent: boolean;
}

export interface NextOptions {
  /** Characters of JSON after which a batch ends; it has at least one line. By default 64 Ki. */
  readonly length?: number;
  /** Whether to wait when there is no line; true by default. */
  readonly mayWait?: boolean;
}

export interface ChangeLag {
  /** Transactions of the store after the position of the reader, whether they match or not. */
  readonly transactions: number;
  /** Age of the first of them in milliseconds; 0 if there is none. */
  readonly ms: number;
}

export interface ChangeReader {
  /** Position after everything that `next` gave. */
  readonly cursor: string;
  /** Whether rows of the beginning are still to come. */
  readonly isInitial: boolean;
  /**
   * The next lines. Call it again only after it has settled. Rejects with `changes.gone` (a
   * ChangesGone) if the log was trimmed beyond the position of the reader, and with `store.closed`.
   */
  next(options?: NextOptions): Promise<ChangeBatch>;
  lag(): ChangeLag;
  /** Whether a caller with these permissions gets the same lines as the present one. */
  hasPermissionsOf(authority: Authority | undefined): boolean;
  /**
   * From the next batch on, the caller has these permissions. Rows that it may no longer read come
   * as `leave`, rows that it may read now as `insert`.
   */
  setAuthority(authority: Authority | undefined): void;
  /** Takes back the last batch, which was not used: the next call of `next` gives its lines again. */
  undo(): void;
  /** Ends a wait of `next` with an empty batch, and a long search after a piece of it. */
  wake(): void;
  /** Idempotent; ends a wait with an empty batch. */
  close(): void;
}
