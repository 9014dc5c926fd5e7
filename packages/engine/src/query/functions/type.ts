/**
 * Type functions: return the type of a value, test for it, or cast it.
 */

import { castDatum, castTypeOf } from "../value/cast.ts";
import { type Datum, Failure, isNumeric, MISSING, type Outcome, typeOf } from "../value/datum.ts";
import { mismatch } from "../value/mismatch.ts";
import type { FunctionSpec } from "./function.ts";

const NOT_A_TYPE = new Failure(
  "expected the name of a type: integer, float, string, boolean, binary",
);

export const TYPE_FUNCTIONS: readonly FunctionSpec[] = [
  { name: "type", arity: [1, 1], nulls: "see", apply: ([datum]) => typeOf(datum) },
  { name: "json_type", arity: [1, 1], nulls: "see", apply: ([datum]) => jsonTypeOf(datum) },
  test("is_string", (datum) => typeof datum === "string"),
  test("is_number", isNumeric),
  test("is_boolean", (datum) => typeof datum === "boolean"),
  { name: "isnull", arity: [1, 1], nulls: "see", apply: ([datum]) => datum === null },
  { name: "ismissing", arity: [1, 1], nulls: "see", apply: ([datum]) => datum === MISSING },
  {
    name: "ismissingornull",
    arity: [1, 1],
    nulls: "see",
    apply: ([datum]) => datum === MISSING || datum === null,
  },
  {
    name: "cast",
    arity: [2, 2],
    nulls: "see",
    apply: ([datum, name]) => {
      if (datum === MISSING || datum === null || typeof name !== "string") {
        return castWithout(datum, name);
      }
      const type = castTypeOf(name);
      return type === undefined ? NOT_A_TYPE : castDatum(datum, type);
    },
  },
];

/** CAST with a null or MISSING argument, or a type that is not text, which always fails. */
function castWithout(datum: Datum, name: Datum): Outcome {
  if (name !== MISSING && name !== null && typeof name !== "string") {
    return mismatch("the name of a type", name);
  }
  return datum === MISSING || name === MISSING ? MISSING : null;
}

function test(name: string, holds: (datum: Datum) => boolean): FunctionSpec {
  return { name, arity: [1, 1], nulls: "pass", apply: ([datum]) => holds(datum) };
}

/** Type in JSON: integers and floats are numbers, MISSING is null. */
function jsonTypeOf(datum: Datum): string {
  const type = typeOf(datum);
  if (type === "integer" || type === "float") return "number";
  return type === "missing" ? "null" : type;
}
