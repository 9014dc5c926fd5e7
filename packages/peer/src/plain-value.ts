/**
 * Plain values: deep copies between the values inside a peer and the objects of its app.
 *
 * Inside, values are shared and immutable. So what an app passes in is copied before it is kept,
 * and what an app gets is copied before it is returned.
 */

import { DEPTH_MAX, setField, type Value } from "@bigpeer/protocol";

/**
 * A value of a document: JSON, with `bigint` for integers beyond 2^53 and `Uint8Array` for binary
 * data.
 *
 * @example
 * const values: PlainValue[] = ["tea", 2, 2n ** 60n, true, null, [1, 2], { size: "large" }];
 */
export type PlainValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PlainValue[]
  | PlainObject;

/**
 * An object of values: a row, a document, or a map in it.
 *
 * @example
 * const task: PlainObject = { _id: "t1", title: "Tea", tags: ["hot"] };
 * await peer.store.execute("INSERT INTO tasks DOCUMENTS (:task)", { task });
 */
export interface PlainObject {
  /** The value of a field, by its name. */
  [field: string]: PlainValue;
}

/** A copy for the app, which may change it. */
export function plainCopy(value: Value): PlainValue {
  return copyOf(value, 0) as PlainValue;
}

/**
 * A copy of what an app passed in. Undefined fields are left out, as in JSON. Other invalid values
 * stay as they are, so that later checks report them.
 */
export function ownCopy(input: unknown): unknown {
  return copyOf(input, 0);
}

function copyOf(input: unknown, depth: number): unknown {
  if (typeof input !== "object" || input === null || depth > DEPTH_MAX) return input;
  // Not with slice: that of a Buffer shares the bytes.
  if (input instanceof Uint8Array) return Uint8Array.from(input);
  if (Array.isArray(input)) return input.map((element) => copyOf(element, depth + 1));
  if (Object.getPrototypeOf(input) !== Object.prototype) return input;
  const copy: Record<string, unknown> = {};
  for (const field of Object.keys(input)) {
    const value = (input as Record<string, unknown>)[field];
    if (value !== undefined) setField(copy, field, copyOf(value, depth + 1));
  }
  return copy;
}
