/**
 * Rows: a document as the language sees it, an object with its `_id`.
 */

import { type MutableObject, setField, type Value, type ValueObject } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";

export function wholeDocument({ id, fields }: StoredDocument): ValueObject {
  const document: MutableObject = { _id: id };
  for (const name of Object.keys(fields)) setField(document, name, fields[name] as Value);
  return document;
}
