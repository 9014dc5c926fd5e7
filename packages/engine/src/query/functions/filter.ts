/**
 * Internal functions that the filter language compiles to. Their names are neither listed nor
 * suggested, but a statement can call them.
 */

import type { Run } from "../frame/frame.ts";
import { equalData } from "../value/compare.ts";
import { type Datum, isDatumArray, MISSING, type Outcome } from "../value/datum.ts";
import { mismatch } from "../value/mismatch.ts";
import { findText } from "../value/text-search.ts";
import type { FunctionSpec } from "./function.ts";
import { countWork } from "./growth.ts";

export const FILTER_FUNCTIONS: readonly FunctionSpec[] = [
  { name: "filter_contains", arity: [2, 2], nulls: "see", apply: contains },
];

/** Whether an array has an element or a text contains a part. Null can be an element. */
function contains([whole, part]: readonly Datum[], run: Run): Outcome {
  if (whole === MISSING || part === MISSING) return MISSING;
  if (whole === null) return null;
  if (isDatumArray(whole)) {
    countWork(run, whole.length);
    return whole.some((element) => equalData(element, part));
  }
  if (typeof whole !== "string") return mismatch("an array or text", whole);
  if (part === null) return null;
  return typeof part === "string" ? findText(whole, part) >= 0 : mismatch("text", part);
}
