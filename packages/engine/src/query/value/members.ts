/**
 * Members: the list on the right side of IN, from a subquery, an argument or a literal.
 *
 * IN searches the list for each row, so a long list of one simple type gets a hash table. The
 * result of IN is the same with and without it.
 */

import type { Value } from "@bigpeer/protocol";
import { dataKey, KEY_STEPS } from "./compare.ts";
import { spend } from "./cost-meter.ts";
import type { Datum } from "./datum.ts";

export interface Members {
  readonly values: readonly Value[];
  /** Whether the list has a value; null if a null leaves it open, undefined if not known. */
  readonly find?: (datum: Datum) => boolean | null | undefined;
}

/** Minimum length for a table: shorter lists are scanned as fast. */
const TABLE_LENGTH_MIN = 8;

/** Approximate bytes of an entry, without its key. */
const ENTRY_BYTES = 48;

/** Makes the members of a list; `take` is charged the memory of the table. */
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

/** The part of a Run that is needed here. */
interface TableOwner {
  readonly budget: { take(bytes: number): void };
}

/** For each run: lists seen once (null), and tables of lists seen again. */
const TABLES = new WeakMap<object, WeakMap<readonly Datum[], Members | null>>();

/**
 * Table of a list that IN sees again, as an argument for each document; undefined the first time.
 * It lives for one run: before the next one, the owner may have changed the list.
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

/** The simple type that all values share, apart from nulls. */
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
