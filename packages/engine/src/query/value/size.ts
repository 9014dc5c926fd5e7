/**
 * Size: about how many bytes of memory a value takes. For bounds, not for bills.
 */

import type { Datum, PresentDatum } from "./datum.ts";
import { Float, isDatumArray } from "./datum.ts";

const SCALAR_BYTES = 16;
const ENTRY_BYTES = 24;

export function sizeOf(datum: Datum): number {
  switch (typeof datum) {
    case "string":
      return SCALAR_BYTES + 2 * datum.length;
    case "object":
      return datum === null ? SCALAR_BYTES : sizeOfContainer(datum);
    default:
      return SCALAR_BYTES;
  }
}

function sizeOfContainer(datum: object & PresentDatum): number {
  if (datum instanceof Uint8Array) return SCALAR_BYTES + datum.length;
  if (datum instanceof Float) return SCALAR_BYTES;
  let size = SCALAR_BYTES;
  if (isDatumArray(datum)) {
    for (const element of datum) size += ENTRY_BYTES + sizeOf(element);
    return size;
  }
  for (const key in datum) size += ENTRY_BYTES + key.length + sizeOf(datum[key]);
  return size;
}
