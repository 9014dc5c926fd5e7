/**
 * RowKeeper: keeps the rows of one live query, in one of two ways: row by row (kept-rows.ts), or by
 * running the statement again (rerun-rows.ts).
 */

import type { Value } from "@bigpeer/protocol";
import type { Steps } from "../frame/steps.ts";
import type { Execution } from "../run/execution.ts";
import type { DocumentChange } from "./document-change.ts";
import type { MatchEntry, MatchIndex } from "./match-index.ts";

export interface RowKeeper {
  /** What it holds, in bytes. */
  readonly bytes: number;
  /** Whether it must be filled before its rows are asked for. */
  readonly isStale: boolean;
  /** What it holds is of no use any more. */
  invalidate(): void;
  /** Reads everything from the state that the execution works on. */
  fill(execution: Execution): Steps<void>;
  /**
   * Takes a change that the entry of this query may have to do with. False when the rows stay as they
   * are. Throws what ends the evaluation.
   */
  take<T>(entry: MatchEntry<T>, change: DocumentChange, index: MatchIndex<T>): boolean;
  /** The rows after all that was taken or filled; undefined when they are known to be as before. */
  settle(execution: Execution): readonly Value[] | undefined;
}
