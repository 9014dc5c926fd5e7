/**
 * Task: a unit of work that runs under a budget and is recorded in the request history: a
 * statement, a filter or a batch.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { IdempotencyKey } from "../../store/remembered-answer.ts";
import { locate } from "../fault.ts";
import type { Budget } from "../frame/budget.ts";
import type { Authority } from "../permission/authority.ts";
import type { CollectionUse } from "../permission/collection-use.ts";
import type { Choosing } from "../run/choose.ts";
import type { Execution } from "../run/execution.ts";
import type { StatementOutput, Work } from "../statement/work.ts";
import type { ParameterNode } from "../syntax/tree.ts";
import type { ActiveRequest } from "../system/requests.ts";
import type { Answer } from "./answer.ts";

export interface Task<T> {
  /** Text that positions of errors refer to. */
  readonly text: string;
  /** Text that the request history shows. */
  readonly label: string;
  readonly requestType: string;
  readonly args: unknown;
  readonly timeoutMs: number | undefined;
  readonly isStrict: boolean | undefined;
  readonly requestId: string | undefined;
  readonly owner: string | undefined;
  readonly authority: Authority | undefined;
  readonly repeat: IdempotencyKey | undefined;
  /** Parses and plans, with `onParsed` called in between. Returns a promise if it takes long. */
  readonly prepare: (onParsed: () => void, budget: Budget) => Ready<T> | Promise<Ready<T>>;
}

export interface Ready<T> {
  /** Text for the request history, as the statement cache holds it; undefined if not cached. */
  readonly text?: string;
  readonly kind: string;
  readonly plan: ((choosing: Choosing) => ValueObject) | undefined;
  readonly parameters: readonly ParameterNode[];
  /** The collections that it reads and writes. */
  readonly access: readonly CollectionUse[];
  readonly work: Work<T>;
}

export interface Done<T> extends Answer<T> {
  readonly txnId: number;
  readonly isReplay: boolean;
}

/** State that the end of a task needs, also after an error. */
export interface Trace<T> {
  /** Text that positions of errors refer to. */
  readonly text: string;
  readonly active: ActiveRequest;
  readonly budget: Budget;
  readonly countOf: (result: T) => number;
}

export function complete<T>(done: Done<T>, { active, budget, countOf }: Trace<T>): Done<T> {
  active.finish({ resultCount: countOf(done.result) });
  budget.end();
  return done;
}

export function completeLater<T>(done: Promise<Done<T>>, trace: Trace<T>): Promise<Done<T>> {
  return done.then(
    (late) => complete(late, trace),
    (error: unknown) => {
      throw failed(error, trace);
    },
  );
}

/** Records the error, ends the budget and returns the error for the caller. */
export function failed<T>(error: unknown, { text, active, budget }: Trace<T>): unknown {
  const placed = locate(error, text);
  active.finish({ error: placed });
  budget.end();
  return placed;
}

export function answerOf<T>(result: T, { warnings }: Execution): Answer<T> {
  return { result, warnings: warnings.list, totalWarnings: warnings.total };
}

/** Copies field by field: a spread costs more than all else that a cached statement does here. */
export function doneWith<T>(answer: Answer<T>, txnId: number, isReplay: boolean): Done<T> {
  const { result, warnings, totalWarnings } = answer;
  return { result, warnings, totalWarnings, txnId, isReplay };
}

/** Number of rows returned or documents changed. */
export function countOfResult({ items, ids }: StatementOutput): number {
  return Math.max(items.length, ids.length);
}
