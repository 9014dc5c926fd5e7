/**
 * TaskKind: one kind of request to the runner (a statement, a find, a batch of writes), described
 * once: how its requests are recorded, prepared and answered. A Task does so for one request.
 */

import type { CollectionUse } from "../permission/collection-use.ts";
import type { WriteOptions } from "../request.ts";
import type { PlanOutline } from "../run/plan-explainer.ts";
import type { QueryType, Work } from "../statement/work.ts";
import type { ParameterNode } from "../syntax/tree.ts";
import type { Settings } from "../system/settings.ts";
import type { Done } from "./answer.ts";
import type { Preparation } from "./prepared-texts.ts";
import type { RunnerContext } from "./runner-context.ts";

/** The options that all requests of the runner have in common; each kind leaves some of them out. */
export interface TaskRequest extends WriteOptions {
  /** An object with a value for each parameter. */
  readonly args?: unknown;
  readonly isStrict?: boolean | undefined;
}

export interface TaskKind<R extends TaskRequest, T, Result> {
  /** Kind of the request in the request history. */
  readonly requestType: string;
  /** Whether strict mode and the warnings about probable mistakes apply: for statements only. */
  readonly isStatement: boolean;
  /** Text that positions of errors refer to. */
  textOf(request: R): string;
  /** Text that the request history shows. */
  labelOf(request: R): string;
  /** Parses and plans. Returns a promise only if that takes long. */
  prepare(
    request: R,
    preparation: Preparation,
    context: RunnerContext,
  ): Ready<T> | Promise<Ready<T>>;
  /** Number of rows returned or documents changed, for the request history. */
  countOf(result: T): number;
  resultOf(done: Done<T>, ready: Ready<T>): Result;
}

/** A prepared request. */
export interface Ready<T> {
  /** Text for the request history, the same string for equal requests; undefined if not cached. */
  readonly text?: string;
  readonly kind: string;
  readonly queryType: QueryType;
  readonly plan: PlanOutline | undefined;
  readonly parameters: readonly ParameterNode[];
  /** The collections that it reads and writes. */
  readonly access: readonly CollectionUse[];
  readonly work: Work<T>;
}

/** Whether strict mode is on for a request, by the settings at the time of the call. */
export function isStrictFor(
  { isStatement }: { readonly isStatement: boolean },
  request: TaskRequest,
  settings: Settings,
): boolean {
  return isStatement && (request.isStrict ?? settings.isStrict);
}
