/** Planted: goes through the fields of an object several times, and tells nobody. */

import { type Datum, isDatumObject } from "../../src/query/value/datum.ts";

export function rereadParts(datum: Datum): number {
  let count = 0;
  if (!isDatumObject(datum)) return count;
  for (let turn = 0; turn < 64; turn++) for (const key in datum) if (key !== "") count++;
  return count;
}
