/**
 * The failure of a value of the wrong type: what was expected, and what was found.
 *
 * A row may fail like this for every document of a collection, so each failure is made once.
 */

import { type Datum, type DatumType, Failure, typeOf } from "./datum.ts";

const FOUND: Readonly<Record<DatumType, string>> = {
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

const failures = new Map<string, Failure>();

/** `expected` is a fixed text of ours; nothing that comes from a document may be in it. */
export function mismatch(expected: string, found: Datum): Failure {
  const reason = `expected ${expected}, found ${FOUND[typeOf(found)]}`;
  let failure = failures.get(reason);
  if (failure === undefined) {
    failure = new Failure(reason);
    failures.set(reason, failure);
  }
  return failure;
}
