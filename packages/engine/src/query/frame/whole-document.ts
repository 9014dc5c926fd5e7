/**
 * Rows: a document as the language sees it, an object with its `_id`.
 */

import { getField, isObject, type Value, type ValueObject } from "@bigpeer/protocol";

/** What stands for a document in a row: one of the store, or a row of a query, which may have no id. */
export interface RowDocument {
  readonly id: Value | undefined;
  readonly fields: ValueObject;
}

export function wholeDocument({ id, fields }: RowDocument): ValueObject {
  // A spread keeps a field named `__proto__` a plain field, and is the quickest copy there is.
  return id === undefined ? { ...fields } : { _id: id, ...fields };
}

const NOTHING: RowDocument = { id: undefined, fields: {} };

/** A row of a query in the place of a document. */
export function rowDocument(row: Value): RowDocument {
  return isObject(row) ? { id: getField(row, "_id"), fields: row } : NOTHING;
}
