/**
 * How functions read their arguments: text, counts, arrays and objects, or the failure.
 */

import {
  type Datum,
  Failure,
  Float,
  isDatumArray,
  isDatumObject,
  isInteger,
  isNumeric,
} from "../value/datum.ts";
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

export function notText(datum: Datum): Failure | undefined {
  return typeof datum === "string" ? undefined : mismatch("text", datum);
}

export function notNumber(datum: Datum): Failure | undefined {
  return isNumeric(datum) ? undefined : mismatch("a number", datum);
}

export function notInteger(datum: Datum): Failure | undefined {
  const integer = readInteger(datum);
  return integer instanceof Failure ? integer : undefined;
}

export function notCount(datum: Datum): Failure | undefined {
  const count = readCount(datum);
  return count instanceof Failure ? count : undefined;
}

export function notArray(datum: Datum): Failure | undefined {
  return isDatumArray(datum) ? undefined : mismatch("an array", datum);
}

export function notObject(datum: Datum): Failure | undefined {
  return isDatumObject(datum) ? undefined : mismatch("an object", datum);
}

export function notKey(datum: Datum): Failure | undefined {
  return typeof datum === "string" ? undefined : mismatch("text for the key", datum);
}

export function notBoolean(datum: Datum): Failure | undefined {
  return typeof datum === "boolean" ? undefined : mismatch("a boolean", datum);
}

/** The first argument that is not text, as a failure. */
export function findNotText(args: readonly Datum[]): Failure | undefined {
  for (const arg of args) if (typeof arg !== "string") return mismatch("text", arg);
  return undefined;
}
