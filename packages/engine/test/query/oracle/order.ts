/**
 * The slow obvious evaluator: the order of two rows.
 */
import { compareValues, type Value } from "@bigpeer/protocol";
import type { OrderTerm } from "../../../src/query/syntax/tree.ts";

/** Below 0, 0 or above 0; `a` and `b` are the keys of two rows, one for each term. */
export function compareKeys(
  a: readonly (Value | undefined)[],
  b: readonly (Value | undefined)[],
  orderBy: readonly OrderTerm[],
): number {
  for (const [i, { isDescending, nulls }] of orderBy.entries()) {
    const order = compareValues(a[i], b[i]);
    if (order === 0) continue;
    const [isNoneA, isNoneB] = [(a[i] ?? null) === null, (b[i] ?? null) === null];
    if (nulls !== undefined && isNoneA !== isNoneB) return isNoneA === (nulls === "first") ? -1 : 1;
    return isDescending ? -order : order;
  }
  return 0;
}
