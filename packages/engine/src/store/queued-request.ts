/**
 * Queued request: a request that waits in the commit queue, from its evaluation to its answer.
 */

import type { Durability } from "../platform.ts";
import type { Steps } from "../steps.ts";
import type { Writer } from "./records.ts";
import type { Transaction } from "./transaction.ts";

export interface Committed<T> {
  /** The transaction; for a request that changed nothing, the last one that it saw. */
  readonly txnId: number;
  readonly result: T;
}

/** Evaluates a small request. Synchronous, and may run more than once. */
export type Evaluate<T> = (transaction: Transaction) => T;

/** Evaluates a request of any size, with pauses. May run more than once, and may be abandoned. */
export type EvaluateInSteps<T> = (transaction: Transaction) => Steps<T>;

/** How a request is committed. */
export interface RequestOptions {
  /** Kept in the log. */
  readonly requestId?: string | undefined;
  /** Kept in the log: who writes. */
  readonly by?: Writer | undefined;
  /**
   * The default is `strict`. `relaxed` is for what the store gets again after a crash: downloads.
   * A request with writes of its own must be strict.
   */
  readonly durability?: Durability;
}

export interface Request {
  readonly evaluate: Evaluate<unknown>;
  /** Whether `evaluate` returns steps. */
  readonly isInSteps: boolean;
  readonly options: RequestOptions;
  readonly resolve: (committed: Committed<unknown>) => void;
  readonly reject: (error: unknown) => void;
  outcome: Outcome;
}

export type Outcome =
  | { readonly kind: "waiting" }
  | { readonly kind: "done"; readonly txnId: number; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

export const WAITING: Outcome = { kind: "waiting" };

/** Answers a request whose group is committed. */
export function settle(request: Request): void {
  const { outcome } = request;
  if (outcome.kind === "done") request.resolve({ txnId: outcome.txnId, result: outcome.result });
  else if (outcome.kind === "failed") request.reject(outcome.error);
}
