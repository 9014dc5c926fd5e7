/**
 * GroupTable: finds what belongs to equal keys. Most often there is one key, a text or a number: then
 * it is looked up by itself, and no text is made of it.
 */

import { normalInteger } from "@bigpeer/protocol";
import { dataKey, joinKeys } from "../value/compare.ts";
import { type Datum, Float } from "../value/datum.ts";
import { spendLength } from "../value/effort.ts";

/** Rough bytes of a key that is a number. */
const NUMBER_BYTES = 32;

export class GroupTable<T> {
  /** In the order in which they were added. */
  readonly all: T[] = [];
  readonly #byText = new Map<string, T>();
  /** By number, and all others by a text that tells them apart. */
  readonly #byKey = new Map<string | number, T>();

  find(keys: readonly Datum[]): T | undefined {
    if (keys.length === 0) return this.all[0];
    const only = keys[0];
    if (keys.length > 1 || typeof only !== "string") return this.#byKey.get(nameOf(keys));
    spendLength(only.length);
    return this.#byText.get(only);
  }

  /** For keys of which nothing was found. */
  add(keys: readonly Datum[], added: T): void {
    const [only] = keys;
    if (keys.length === 1 && typeof only === "string") this.#byText.set(only, added);
    else if (keys.length > 0) this.#byKey.set(nameOf(keys), added);
    this.all.push(added);
  }
}

/** Bytes of memory that the table takes for keys. */
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
  // Beyond that a number may be an integer that others have as a bigint; NaN is none either.
  const isPlain = typeof key === "number" && Math.abs(key) <= Number.MAX_SAFE_INTEGER;
  return isPlain ? key : dataKey(key);
}
