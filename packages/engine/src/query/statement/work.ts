/**
 * Work: the compiled form of a statement, ready to run, the same for all kinds of statement.
 */

import type { Value } from "@bigpeer/protocol";
import type { Steps } from "../frame/steps.ts";
import type { Execution } from "../run/execution.ts";
import type { PlanOutline } from "../run/plan-explainer.ts";

export type QueryType = "select" | "mutation";

/** Result of a statement. */
export interface StatementOutput {
  readonly items: readonly Value[];
  /** Ids of the changed documents. */
  readonly ids: readonly Value[];
}

/** Runs in steps: a read on a snapshot, a write inside a transaction. */
export interface Work<T = StatementOutput> {
  readonly kind: "read" | "write";
  readonly run: (execution: Execution) => Steps<T>;
  /** Selects the documents of a write and does nothing else, before its transaction. */
  readonly choose?: ((execution: Execution) => Steps<unknown>) | undefined;
  /** Whether the settings are read again when the write is durable. */
  readonly changesSettings?: boolean;
}

export type RunWork = Work["run"];

export interface Prepared {
  readonly queryType: QueryType;
  readonly work: Work;
  /** Plan that EXPLAIN shows; undefined for statements without a plan. */
  readonly plan: PlanOutline | undefined;
}

/** A read that needs no pause. */
export function quickRead(rows: (execution: Execution) => readonly Value[]): Prepared {
  // oxlint-disable-next-line require-yield -- there is nothing to pause for
  return slowRead(function* quick(execution) {
    return rows(execution);
  });
}

/** A read that does not run a query plan. */
export function slowRead(rows: (execution: Execution) => Steps<readonly Value[]>): Prepared {
  const run: RunWork = function* run(execution) {
    return { items: yield* rows(execution), ids: [] };
  };
  return { queryType: "select", work: { kind: "read", run }, plan: undefined };
}
