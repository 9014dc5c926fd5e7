/**
 * Run: what stays the same while one statement runs, and Frame: what changes from row to row.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { BoundQuery } from "../syntax/tree.ts";
import type { Outcome } from "../value/datum.ts";
import type { Members } from "../value/members.ts";
import type { Budget } from "./budget.ts";
import type { Found } from "./document-view.ts";
import type { RowDocument } from "./whole-document.ts";

export interface RequestInfo {
  readonly id: string;
  readonly appId: string;
  /** Wall clock in milliseconds since 1970: one reading for the whole statement. */
  readonly startMs: number;
}

export interface Run {
  readonly args: ValueObject;
  readonly platform: Platform;
  readonly budget: Budget;
  readonly request: RequestInfo;
  /** Only where the statement holds queries. */
  readonly subqueries?: Subqueries;
}

/** Runs the queries inside of a statement. `frame` is that of the row around the query. */
export interface Subqueries {
  exists(query: BoundQuery, frame: Frame): boolean;
  members(query: BoundQuery, frame: Frame): Members;
  /** The rows of a query in FROM. */
  documents(query: BoundQuery): Found<RowDocument>;
  /**
   * Evaluates something about one row. A query in it that takes long is gone on with in pauses;
   * then `work` is called again. So it must change nothing before it has evaluated everything;
   * its warnings are taken back.
   */
  attempt<T>(work: () => T, warnings: RowWarnings): Generator<void, T, void>;
}

/** Warnings about rows, which can be taken back. */
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

/** A frame with room for so many slots, all of them MISSING. */
export function newFrame(run: Run, count: number): Frame {
  const slots: Slot[] = [];
  for (let i = 0; i < count; i++) slots.push(undefined);
  return { run, slots };
}
