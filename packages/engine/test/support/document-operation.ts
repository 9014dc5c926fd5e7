/**
 * Operations on documents of the collection `c`, as peers write them.
 */

import type { Edit, Operation, Value, ValueObject } from "@bigpeer/protocol";

const COLLECTION = "c";

export function insert(id: Value, fields: ValueObject = {}): Operation {
  return { kind: "insert", collection: COLLECTION, id, fields };
}

export function edit(id: Value, ...edits: readonly Edit[]): Operation {
  return { kind: "update", collection: COLLECTION, id, edits };
}

export function set(id: Value, name: string, value: Value): Operation {
  return edit(id, { kind: "set", path: [name], value });
}

/** Of the counter `k`. */
export function increment(id: Value, by: number): Operation {
  return edit(id, { kind: "increment", path: ["k"], by });
}
