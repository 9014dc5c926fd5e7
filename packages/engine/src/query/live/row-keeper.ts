/**
 * RowKeeper: maintains the result of one live query, either row by row (kept-rows.ts) or by running
 * the statement again (rerun-rows.ts).
 */

import type { Value } from "@bigpeer/protocol";
import type { Steps } from "../frame/steps.ts";
import type { Execution } from "../run/execution.ts";
import type { DocumentChange } from "./document-change.ts";
import type { MatchEntry, MatchIndex } from "./match-index.ts";

export interface RowKeeper {
  /** Memory in use, in bytes. */
  readonly bytes: number;
  /** Whether it must be filled before its rows are read. */
  readonly isStale: boolean;
  /** Discards its rows. */
  invalidate(): void;
  /** Reads everything from the state of the execution. */
  fill(execution: Execution): Steps<void>;
  /**
   * Takes a change that may affect the entry of this query. False if the rows stay as they are.
   * Throws if the evaluation ends with an error.
   */
  take<T>(entry: MatchEntry<T>, change: DocumentChange, index: MatchIndex<T>): boolean;
  /** The rows after all changes and fills; undefined when they are known to be as before. */
  settle(execution: Execution): readonly Value[] | undefined;
}
