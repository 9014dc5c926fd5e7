/**
 * Schemas: what a body must look like, said once. From the same schema come the check of a request
 * and its description in the OpenAPI document.
 *
 * The library decides whether a value fits; when it does not, schema-fault.ts finds the first place
 * and says in a sentence what was expected there.
 */

import { checkValue, isObject, PeerError, type Value } from "@bigpeer/protocol";
import { type Static, type TSchema, type TUnsafe, Type } from "typebox";
import { Compile } from "typebox/compile";
import { findFault } from "./schema-fault.ts";

export { type Static, type TSchema, Type };

/** Returns the value itself. Throws PeerError `value.invalid`, which names the place. */
export type Check<T> = (value: Value) => T;

/** Any JSON value. */
export const AnyValue: TUnsafe<Value> = Type.Unsafe<Value>({});

/** The check of a request body, which is an object; fields that the schema does not name pass. */
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
