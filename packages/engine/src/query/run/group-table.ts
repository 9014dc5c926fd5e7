/**
 * GroupTable: hash table from the keys of GROUP BY to groups. A single key that is a text or a
 * number, the most frequent case, is looked up without being serialized.
 */

import { normalInteger } from "@bigpeer/protocol";
import { dataKey, joinKeys } from "../value/compare.ts";
import { spendLength } from "../value/cost-meter.ts";
import { type Datum, Float } from "../value/datum.ts";

/** Approximate bytes of a number key. */
const NUMBER_BYTES = 32;

export class GroupTable<T> {
  /** All entries in insertion order. */
  readonly all: T[] = [];
  readonly #byText = new Map<string, T>();
  /** By number; any other key by its unique text. */
  readonly #byKey = new Map<string | number, T>();

  find(keys: readonly Datum[]): T | undefined {
    if (keys.length === 0) return this.all[0];
    const only = keys[0];
    if (keys.length > 1 || typeof only !== "string") return this.#byKey.get(nameOf(keys));
    spendLength(only.length);
    return this.#byText.get(only);
  }

  /** Adds an entry for keys that `find` did not find. */
  add(keys: readonly Datum[], added: T): void {
    const [only] = keys;
    if (keys.length === 1 && typeof only === "string") this.#byText.set(only, added);
    else if (keys.length > 0) this.#byKey.set(nameOf(keys), added);
    this.all.push(added);
  }
}

/** Bytes of memory that the table uses for keys. */
export function sizeInTable(keys: readonly Datum[]): number {
  const [only] = keys;
  if (keys.length === 1 && typeof only === "string") return 2 * only.length;
  const name = nameOf(keys);
  return typeof name === "number" ? NUMBER_BYTES : 2 * name.length;
}

function nameOf(keys: readonly Datum[]): string | number {
  if (keys.length > 1) return joinKeys(keys.map(dataKey));
  const [only] = keys;
  const unboxed = only instanceof Float ? only.value : only;
  const key = typeof unboxed === "bigint" ? normalInteger(unboxed) : unboxed;
  // A larger number may equal an integer stored as a bigint; NaN is excluded too.
  const isPlain = typeof key === "number" && Math.abs(key) <= Number.MAX_SAFE_INTEGER;
  return isPlain ? key : dataKey(key);
}
