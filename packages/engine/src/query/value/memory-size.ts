/**
 * Memory size: estimates the bytes of memory that a value takes, for limits.
 */

import { spend } from "./cost-meter.ts";
import type { Datum, PresentDatum } from "./datum.ts";
import { Float, isDatumArray } from "./datum.ts";

const SCALAR_BYTES = 16;
const ENTRY_BYTES = 24;

/**
 * Fixed bytes of an object and an array (Node 20): an object has room for four fields, a growing
 * array for seventeen elements, used or not.
 */
const OBJECT_BYTES = 64;
const ARRAY_BYTES = 160;

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
  if (isDatumArray(datum)) {
    let size = ARRAY_BYTES;
    spend(datum.length);
    for (let i = 0; i < datum.length; i++) size += ENTRY_BYTES + memorySize(datum[i]);
    return size;
  }
  let size = OBJECT_BYTES;
  let count = 0;
  // Listing the keys would take longer than all else.
  for (const key in datum) {
    count++;
    size += ENTRY_BYTES + key.length + memorySize(datum[key]);
  }
  spend(count);
  return size;
}
