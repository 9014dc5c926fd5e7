/**
 * Members: the values that a query, an argument or a written list gives for IN.
 *
 * They are asked for once for each row, so a long list of one simple type has a table. What IN makes
 * of them is the same as with a list that is written.
 */

import type { Value } from "@bigpeer/protocol";
import { dataKey, KEY_STEPS } from "./compare.ts";
import type { Datum } from "./datum.ts";
import { spend } from "./effort.ts";

export interface Members {
  readonly values: readonly Value[];
  /** Whether a value is among them, where a table can tell; null where a null leaves it open. */
  readonly find?: (datum: Datum) => boolean | null | undefined;
}

/** Shorter lists are looked through as quickly. */
const TABLE_LENGTH_MIN = 8;

/** Rough bytes of an entry, without its key. */
const ENTRY_BYTES = 48;

/** `take` counts the memory of the table. */
export function membersOf(values: readonly Value[], take: (bytes: number) => void): Members {
  const type = typeOf(values);
  if (type === undefined || values.length < TABLE_LENGTH_MIN) return { values };
  const keys = new Set<string>();
  let hasNull = false;
  for (const value of values) {
    spend(KEY_STEPS);
    if (value === null) {
      hasNull = true;
      continue;
    }
    const key = dataKey(value);
    if (keys.has(key)) continue;
    take(ENTRY_BYTES + 2 * key.length);
    keys.add(key);
  }
  const find = (datum: Datum): boolean | null | undefined => {
    if (typeof datum !== type || Number.isNaN(datum)) return undefined;
    if (keys.has(dataKey(datum))) return true;
    return hasNull ? null : false;
  };
  return { values, find };
}

/** A run, as far as it matters here. */
interface TableOwner {
  readonly budget: { take(bytes: number): void };
}

/** By run: lists that were asked before, and their tables once they are asked again. */
const TABLES = new WeakMap<object, WeakMap<readonly Datum[], Members | null>>();

/**
 * Of a list that comes again, as an argument does for each document; undefined for the first time. It
 * is kept for one run: before the next one, its owner may have changed the list.
 */
export function tableOf(run: TableOwner, values: readonly Datum[]): Members | undefined {
  if (values.length < TABLE_LENGTH_MIN) return undefined;
  const tables = TABLES.get(run) ?? new WeakMap<readonly Datum[], Members | null>();
  TABLES.set(run, tables);
  const known = tables.get(values);
  if (known === undefined) {
    tables.set(values, null);
    return undefined;
  }
  if (known !== null) return known;
  const members = membersOf(values as readonly Value[], (bytes) => run.budget.take(bytes));
  tables.set(values, members);
  return members;
}

/** The one simple type that all of them have, nulls aside. */
function typeOf(values: readonly Value[]): "string" | "number" | undefined {
  let type: "string" | "number" | undefined;
  for (const value of values) {
    if (value === null) continue;
    const found = typeof value;
    if ((found !== "string" && found !== "number") || Number.isNaN(value)) return undefined;
    if (type !== undefined && type !== found) return undefined;
    type = found;
  }
  return type;
}
