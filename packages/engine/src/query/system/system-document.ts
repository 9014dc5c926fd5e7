/**
 * Documents of system collections: made when they are read, kept nowhere.
 */

import { isObject, type TypeMark, type Value, type ValueObject } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";

/**
 * A document of facts. Its objects are registers: what is declared nowhere would otherwise be
 * invisible in strict mode.
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
