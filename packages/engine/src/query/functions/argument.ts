/**
 * How functions read their arguments: text, counts, arrays and objects, or the failure.
 */

import { type Datum, Failure, Float, isInteger } from "../value/datum.ts";
import { mismatch } from "../value/mismatch.ts";

const NEGATIVE = new Failure("expected an integer of 0 or more");

/** An integer as a JS number; 2.0 counts as 2. Beyond 2^53 it is near enough for a position. */
export function readInteger(datum: Datum): number | Failure {
  const number = datum instanceof Float ? datum.value : datum;
  return isInteger(number) ? Number(number) : mismatch("an integer", datum);
}

/** A length, a depth, how often: an integer that is not negative. */
export function readCount(datum: Datum): number | Failure {
  const count = readInteger(datum);
  if (count instanceof Failure) return count;
  return count < 0 ? NEGATIVE : count;
}

/** The first argument that is not text, as a failure. */
export function findNotText(args: readonly Datum[]): Failure | undefined {
  for (const arg of args) if (typeof arg !== "string") return mismatch("text", arg);
  return undefined;
}
