/**
 * Schemas: compile a schema into a check of request bodies. The OpenAPI document is made from the
 * same schemas.
 *
 * The library decides whether a value matches. If it does not, schema-fault.ts finds the first
 * place and describes what was expected there.
 */

import { checkValue, isObject, PeerError, type Value } from "@bigpeer/protocol";
import { type Static, type TSchema, type TUnsafe, Type } from "typebox";
import { Compile } from "typebox/compile";
import { findFault } from "./schema-fault.ts";

export { type Static, type TSchema, type TUnsafe, Type };

/** Returns the value itself. Throws PeerError `value.invalid` with the place. */
export type Check<T> = (value: Value) => T;

/** Any JSON value. */
export const AnyValue: TUnsafe<Value> = Type.Unsafe<Value>({});

/**
 * Compiles the check of a request body, which is an object. Unknown fields are allowed unless the
 * schema forbids them.
 */
export function compileCheck<S extends TSchema>(schema: S): Check<Static<S>> {
  const validator = Compile(schema);
  return (value) => {
    if (!validator.Check(value)) throw faultOf(schema, value);
    if (isObject(value)) {
      for (const name of Object.keys(value)) checkValue(value[name], name);
    }
    return value;
  };
}

function faultOf(schema: TSchema, value: Value): PeerError {
  const { message, at } = findFault(schema, value) ?? {
    message: "expected another value",
    at: "the body",
  };
  return new PeerError("value.invalid", message, { at });
}
