/**
 * Type mismatches: names of types for messages, and the failure of a value of the wrong type.
 *
 * An expression may fail for every document of a collection, so each failure is created once.
 */

import { type Datum, type DatumType, Failure, typeOf } from "./datum.ts";

const DESCRIPTIONS: Readonly<Record<DatumType, string>> = {
  missing: "nothing",
  null: "null",
  boolean: "a boolean",
  integer: "an integer",
  float: "a float",
  string: "text",
  binary: "binary",
  array: "an array",
  object: "an object",
};

/** Name of the type of a datum, for messages. */
export function describeType(datum: Datum): string {
  return DESCRIPTIONS[typeOf(datum)];
}

const failures = new Map<string, Failure>();

/** Failure of a wrong type. `expected` is a constant: it must contain no text of a document. */
export function mismatch(expected: string, found: Datum): Failure {
  const reason = `expected ${expected}, found ${describeType(found)}`;
  let failure = failures.get(reason);
  if (failure === undefined) {
    failure = new Failure(reason);
    failures.set(reason, failure);
  }
  return failure;
}
