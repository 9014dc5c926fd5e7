/**
 * Task: anything that runs under a budget and leaves a trace: a statement, a filter, a batch.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { RepeatKey } from "../../store/remembered-answer.ts";
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
  /** What its faults have their places in. */
  readonly text: string;
  /** What the trace shows. */
  readonly label: string;
  readonly requestType: string;
  readonly args: unknown;
  readonly timeoutMs: number | undefined;
  readonly isStrict: boolean | undefined;
  readonly requestId: string | undefined;
  readonly owner: string | undefined;
  readonly authority: Authority | undefined;
  readonly repeat: RepeatKey | undefined;
  /** `onParsed` is called when the text was read and is planned now. A promise when it takes long. */
  readonly prepare: (onParsed: () => void, budget: Budget) => Ready<T> | Promise<Ready<T>>;
}

export interface Ready<T> {
  /** What the trace shows, as it is kept for the next time; undefined when it is not. */
  readonly text?: string;
  readonly kind: string;
  readonly plan: ((choosing: Choosing) => ValueObject) | undefined;
  readonly parameters: readonly ParameterNode[];
  /** The collections that it names. */
  readonly access: readonly CollectionUse[];
  readonly work: Work<T>;
}

export interface Done<T> extends Answer<T> {
  readonly txnId: number;
  readonly isRepeated: boolean;
}

/** What is left to do when a task is over, be it with an error. */
export interface Trace<T> {
  /** What its faults have their places in. */
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

/** What the caller is told of an error. */
export function failed<T>(error: unknown, { text, active, budget }: Trace<T>): unknown {
  const placed = locate(error, text);
  active.finish({ error: placed });
  budget.end();
  return placed;
}

export function answerOf<T>(result: T, { warnings }: Execution): Answer<T> {
  return { result, warnings: warnings.list, totalWarnings: warnings.total };
}

/** Spelt out: a spread costs more than all else that a repeated statement passes here. */
export function doneWith<T>(answer: Answer<T>, txnId: number, isRepeated: boolean): Done<T> {
  const { result, warnings, totalWarnings } = answer;
  return { result, warnings, totalWarnings, txnId, isRepeated };
}

/** Rows that were given, or documents that were changed. */
export function countOfResult({ items, ids }: StatementOutput): number {
  return Math.max(items.length, ids.length);
}
