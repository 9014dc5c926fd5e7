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
import { RowMaker } from "./row-maker.ts";

/** What stands for a document in a row: one of the store, or a row of a query, which may have no id. */
export interface RowDocument {
  readonly id: Value | undefined;
  readonly fields: ValueObject;
}

const rows = new RowMaker();

export function wholeDocument({ id, fields }: RowDocument): ValueObject {
  if (id !== undefined) return rows.make(id, fields);
  const row: MutableObject = {};
  for (const name of Object.keys(fields)) setField(row, name, fields[name] as Value);
  return row;
}

const NOTHING: RowDocument = { id: undefined, fields: {} };

/** A row of a query in the place of a document. */
export function rowDocument(row: Value): RowDocument {
  return isObject(row) ? { id: getField(row, "_id"), fields: row } : NOTHING;
}
