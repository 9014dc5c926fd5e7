/**
 * Run: what stays the same while one statement runs, and Frame: what changes from row to row.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { StoredDocument } from "../../store/view.ts";
import type { Outcome } from "../value/datum.ts";
import type { Budget } from "./budget.ts";

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
}

/** A document of a FROM term (undefined where an outer join found none), or a value. */
export type Slot = StoredDocument | Outcome;

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
