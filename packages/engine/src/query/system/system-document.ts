/**
 * System documents: rows of system collections, generated on read and never stored.
 */

import { isObject, type TypeMark, type Value, type ValueObject } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";

/**
 * Makes a document. Its objects are registers: an undeclared map would be invisible in strict mode.
 */
export function systemDocument(id: Value, fields: ValueObject): StoredDocument {
  let types: { [name: string]: TypeMark } | undefined;
  for (const [name, value] of Object.entries(fields)) {
    if (!isObject(value)) continue;
    types ??= {};
    types[name] = "register";
  }
  return { id, fields, types };
}
