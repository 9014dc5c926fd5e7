/**
 * Work: a statement that is ready to run, whatever kind it is.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Steps } from "../frame/steps.ts";
import type { AdvisedTerm } from "../plan/advice.ts";
import type { Choosing } from "../run/choose.ts";
import type { Execution } from "../run/execution.ts";

export type QueryType = "select" | "mutation";

/** What a statement gives back. */
export interface StatementOutput {
  readonly items: readonly Value[];
  /** Of the documents that it changed. */
  readonly ids: readonly Value[];
}

/** Both pause now and then: reads on a snapshot, writes inside a transaction. */
export interface Work<T = StatementOutput> {
  readonly kind: "read" | "write";
  readonly run: (execution: Execution) => Steps<T>;
  /** Makes the choices of a write and nothing else, for those to be made early. */
  readonly choose?: ((execution: Execution) => Steps<unknown>) | undefined;
  /** The settings are read again when the write is durable. */
  readonly changesSettings?: boolean;
}

export type RunWork = Work["run"];

export interface Prepared {
  readonly queryType: QueryType;
  readonly work: Work;
  /** What EXPLAIN shows; undefined for statements that have no plan. */
  readonly plan: ((choosing: Choosing) => ValueObject) | undefined;
  /** The terms that an index could help; undefined where there are none. */
  readonly terms?: readonly AdvisedTerm[];
}

/** A read that is done at once: nothing in it takes long. */
export function quickRead(rows: (execution: Execution) => readonly Value[]): Prepared {
  // oxlint-disable-next-line require-yield -- there is nothing to pause for
  return slowRead(function* quick(execution) {
    return rows(execution);
  });
}

/** A read of something else than the rows of a plan. */
export function slowRead(rows: (execution: Execution) => Steps<readonly Value[]>): Prepared {
  const run: RunWork = function* run(execution) {
    return { items: yield* rows(execution), ids: [] };
  };
  return { queryType: "select", work: { kind: "read", run }, plan: undefined };
}
