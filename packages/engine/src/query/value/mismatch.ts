/**
 * The words for the type of a value, and the failure of one of the wrong type.
 *
 * A row may fail like this for every document of a collection, so each failure is made once.
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

/** The type of a datum as a message says it. */
export function describeType(datum: Datum): string {
  return DESCRIPTIONS[typeOf(datum)];
}

const failures = new Map<string, Failure>();

/** `expected` is a fixed text of ours; nothing that comes from a document may be in it. */
export function mismatch(expected: string, found: Datum): Failure {
  const reason = `expected ${expected}, found ${describeType(found)}`;
  let failure = failures.get(reason);
  if (failure === undefined) {
    failure = new Failure(reason);
    failures.set(reason, failure);
  }
  return failure;
}
