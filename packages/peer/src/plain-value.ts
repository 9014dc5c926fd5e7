/**
 * Values as an app holds them: plain objects of its own, which it may change.
 *
 * Inside, values are shared and never written to. So what an app gives is copied before it is kept,
 * and what it gets is copied before it is handed out.
 */

import { DEPTH_MAX, type Value } from "@bigpeer/protocol";

export type PlainValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PlainValue[]
  | PlainObject;

export interface PlainObject {
  [field: string]: PlainValue;
}

/** A copy for an app. */
export function plainCopy(value: Value): PlainValue {
  return copyOf(value, 0) as PlainValue;
}

/**
 * A copy of what an app gave. Fields that are undefined are left out, as JSON does. What else is no value
 * is left as it is, for those who look at it next and say what is wrong.
 */
export function ownCopy(input: unknown): unknown {
  return copyOf(input, 0);
}

function copyOf(input: unknown, depth: number): unknown {
  if (typeof input !== "object" || input === null || depth > DEPTH_MAX) return input;
  // Not with slice: that of a Buffer makes another Buffer, of the same bytes.
  if (input instanceof Uint8Array) return Uint8Array.from(input);
  if (Array.isArray(input)) return input.map((element) => copyOf(element, depth + 1));
  if (Object.getPrototypeOf(input) !== Object.prototype) return input;
  // Also a field that is named __proto__.
  return Object.fromEntries(
    Object.entries(input)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [field, copyOf(value, depth + 1)]),
  );
}
