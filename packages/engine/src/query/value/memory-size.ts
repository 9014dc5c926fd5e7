/**
 * Memory size: about how many bytes of memory a value takes. For bounds, not for bills.
 */

import type { Datum, PresentDatum } from "./datum.ts";
import { Float, isDatumArray } from "./datum.ts";
import { spend } from "./effort.ts";

const SCALAR_BYTES = 16;
const ENTRY_BYTES = 24;

export function memorySize(datum: Datum): number {
  switch (typeof datum) {
    case "string":
      return SCALAR_BYTES + 2 * datum.length;
    case "object":
      return datum === null ? SCALAR_BYTES : containerSize(datum);
    default:
      return SCALAR_BYTES;
  }
}

function containerSize(datum: object & PresentDatum): number {
  if (datum instanceof Uint8Array) return SCALAR_BYTES + datum.length;
  if (datum instanceof Float) return SCALAR_BYTES;
  let size = SCALAR_BYTES;
  if (isDatumArray(datum)) {
    spend(datum.length);
    for (const element of datum) size += ENTRY_BYTES + memorySize(element);
    return size;
  }
  let count = 0;
  // Twice as fast as a list of the keys: all that is enumerable in it is its own.
  for (const key in datum) {
    count++;
    size += ENTRY_BYTES + key.length + memorySize(datum[key]);
  }
  spend(count);
  return size;
}
