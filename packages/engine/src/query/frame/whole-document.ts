/**
 * Rows: a document as the language sees it, an object with its `_id`.
 */

import {
  getField,
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";

/** What stands for a document in a row: one of the store, or a row of a query, which may have no id. */
export interface RowDocument {
  readonly id: Value | undefined;
  readonly fields: ValueObject;
}

export function wholeDocument({ id, fields }: RowDocument): ValueObject {
  const document: MutableObject = id === undefined ? {} : { _id: id };
  for (const name of Object.keys(fields)) setField(document, name, fields[name] as Value);
  return document;
}

const NOTHING: RowDocument = { id: undefined, fields: {} };

/** A row of a query in the place of a document. */
export function rowDocument(row: Value): RowDocument {
  return isObject(row) ? { id: getField(row, "_id"), fields: row } : NOTHING;
}
