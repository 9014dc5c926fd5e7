/**
 * What a result is about: rows, a plan, a profile or advice, and the columns of its rows.
 */

import { valueAt } from "./names.ts";
import { type PlanLine, type Profile, planLines, readProfile } from "./plan-tree.ts";
import { kindOf } from "./show-value.ts";

export interface SuggestedIndex {
  readonly collection: string;
  readonly reason: string;
  readonly statement: string;
}

export interface Advice {
  readonly existing: readonly SuggestedIndex[];
  readonly suggested: readonly SuggestedIndex[];
  /** Why nothing is suggested. */
  readonly outcome: string | undefined;
}

export interface Shown {
  readonly rows: readonly unknown[];
  readonly plan: readonly PlanLine[] | undefined;
  readonly profile: Profile | undefined;
  readonly advice: Advice | undefined;
}

export function readResult(items: readonly unknown[]): Shown {
  const last = items.at(-1);
  const profile = readProfile(last);
  if (profile !== undefined) {
    return { rows: items.slice(0, -1), plan: profile.plan, profile, advice: undefined };
  }
  const [only] = items;
  const isAlone = items.length === 1 && isObject(only) && Object.keys(only).length === 1;
  const plan = isAlone && isObject(only["plan"]) ? only["plan"] : undefined;
  const isPlan = plan !== undefined && "#operator" in plan;
  return {
    rows: items,
    plan: isPlan ? planLines(plan) : undefined,
    profile: undefined,
    advice: isAlone && isObject(only["advice"]) ? adviceOf(only["advice"]) : undefined,
  };
}

function adviceOf(advice: Readonly<Record<string, unknown>>): Advice {
  const { existingIndexes, suggestedIndexes, outcome } = advice;
  return {
    existing: (existingIndexes ?? []) as readonly SuggestedIndex[],
    suggested: (suggestedIndexes ?? []) as readonly SuggestedIndex[],
    outcome: typeof outcome === "string" ? outcome : undefined,
  };
}

/** So many columns fit a table; JSON shows the rest. */
const COLUMNS_MAX = 60;
/** Rows that decide about the columns. */
const SAMPLE_ROWS = 200;

/** Names of the columns, `_id` first. Empty if the rows are no objects. */
export function columnsOf(rows: readonly unknown[]): readonly string[] {
  const names = new Set<string>();
  for (const row of rows.slice(0, SAMPLE_ROWS)) {
    if (isObject(row)) for (const name of Object.keys(row)) names.add(name);
  }
  const all = [...names].slice(0, COLUMNS_MAX);
  return names.has("_id") ? ["_id", ...all.filter((name) => name !== "_id")] : all;
}

/** Whether all values of a column are numbers, where it has any. */
export function isNumberColumn(rows: readonly unknown[], name: string): boolean {
  const values = rows.slice(0, SAMPLE_ROWS).flatMap((row) => {
    const value = valueAt(row, [name]);
    return value === undefined || value === null ? [] : [value];
  });
  return values.length > 0 && values.every((value) => kindOf(value) === "number");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
