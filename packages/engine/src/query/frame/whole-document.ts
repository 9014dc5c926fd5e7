/**
 * Row documents: a document as the query language sees it, one object with its `_id`.
 */

import { getField, isObject, type Value, type ValueObject } from "@bigpeer/protocol";

/** A document in a row: a stored one, or a row of a subquery, which may have no id. */
export interface RowDocument {
  readonly id: Value | undefined;
  readonly fields: ValueObject;
}

export function wholeDocument({ id, fields }: RowDocument): ValueObject {
  // A spread keeps a field named `__proto__` a plain field, and is the fastest copy.
  return id === undefined ? { ...fields } : { _id: id, ...fields };
}

const NOTHING: RowDocument = { id: undefined, fields: {} };

/** A row of a subquery in the place of a document. */
export function rowDocument(row: Value): RowDocument {
  return isObject(row) ? { id: getField(row, "_id"), fields: row } : NOTHING;
}
