/**
 * Argument readers: read and check arguments of functions (text, integer, count, array, object) and
 * return a Failure for a wrong type.
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

/** Reads an integer as a JS number; 2.0 counts as 2. Inexact beyond 2^53, enough for a position. */
export function readInteger(datum: Datum): number | Failure {
  const number = datum instanceof Float ? datum.value : datum;
  return isInteger(number) ? Number(number) : mismatch("an integer", datum);
}

/** Reads an integer of 0 or more: a length, a depth or a number of times. */
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

/** Failure for the first argument that is not text. */
export function findNotText(args: readonly Datum[]): Failure | undefined {
  for (const arg of args) if (typeof arg !== "string") return mismatch("text", arg);
  return undefined;
}
