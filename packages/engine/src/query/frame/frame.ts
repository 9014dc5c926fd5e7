/**
 * Run and Frame: evaluation context of a statement, and the variables of its current row.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { BoundQuery } from "../syntax/tree.ts";
import type { Outcome } from "../value/datum.ts";
import type { Members } from "../value/members.ts";
import type { Budget } from "./budget.ts";
import type { Found } from "./document-view.ts";
import type { IndexReads } from "./index-uses.ts";
import type { RowDocument } from "./whole-document.ts";

export interface RequestInfo {
  readonly id: string;
  readonly appId: string;
  /** Wall clock in milliseconds since 1970, read once for the whole statement. */
  readonly startMs: number;
  /** Counts the indexes that the request reads; undefined where no one counts them. */
  readonly indexReads?: IndexReads | undefined;
}

export interface Run {
  readonly args: ValueObject;
  readonly platform: Platform;
  readonly budget: Budget;
  readonly request: RequestInfo;
  /** Present only if the statement contains subqueries. */
  readonly subqueries?: Subqueries;
}

/** Runs the subqueries of a statement. `frame` is the frame of the row around the subquery. */
export interface Subqueries {
  exists(query: BoundQuery, frame: Frame): boolean;
  members(query: BoundQuery, frame: Frame): Members;
  /** The rows of a subquery in FROM. */
  documents(query: BoundQuery): Found<RowDocument>;
  /**
   * Evaluates `work` about one row. If a subquery in it takes long, it continues in pauses and
   * `work` is called again. So `work` must have no effect before it has evaluated everything; its
   * warnings are rolled back.
   */
  attempt<T>(work: () => T, warnings: RowWarnings): Generator<void, T, void>;
}

/** Warnings about rows, with rollback to a mark. */
export interface RowWarnings {
  mark(): number;
  rewind(mark: number): void;
}

/** A document of a FROM term (undefined where an outer join found none), or a value. */
export type Slot = RowDocument | Outcome;

export interface Frame {
  readonly run: Run;
  readonly slots: Slot[];
}

/** A compiled expression. */
export type Evaluate = (frame: Frame) => Outcome;

/** A frame of `count` slots, all of them MISSING. */
export function newFrame(run: Run, count: number): Frame {
  const slots: Slot[] = [];
  for (let i = 0; i < count; i++) slots.push(undefined);
  return { run, slots };
}
