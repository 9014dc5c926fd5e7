/**
 * Export line: a document as one line of JSON. The plain form is the document itself, with binary as
 * base64 text. The typed form keeps everything: each value is wrapped with its type (H22), and a
 * value that JSON cannot hold is CBOR in base64.
 */

import { type StoredDocument, typedFields } from "@bigpeer/engine/store";
import {
  encodeBase64,
  encodeCbor,
  isArray,
  isObject,
  type MutableObject,
  setField,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";

export function exportLine(document: StoredDocument, isTyped: boolean): string {
  return `${stringifyJson(isTyped ? typedForm(document) : plainForm(document))}\n`;
}

function plainForm({ id, fields }: StoredDocument): ValueObject {
  const whole: MutableObject = {};
  setField(whole, "_id", id);
  for (const name of Object.keys(fields)) setField(whole, name, fields[name] as Value);
  return whole;
}

function typedForm({ id, fields, types }: StoredDocument): ValueObject {
  const wrapped = losslessFields(typedFields({ fields, types }));
  return isLossless(id) ? { id, fields: wrapped } : { idCbor: asCbor(id), fields: wrapped };
}

function losslessFields(fields: ValueObject): ValueObject {
  const lossless: MutableObject = {};
  for (const name of Object.keys(fields)) {
    setField(lossless, name, losslessWrap(fields[name] as ValueObject));
  }
  return lossless;
}

/** `{"map": {"value": …}}` has wrapped fields itself. */
function losslessWrap(wrapped: ValueObject): ValueObject {
  const [type = ""] = Object.keys(wrapped);
  const { value = null } = wrapped[type] as ValueObject;
  if (type === "map") return { map: { value: losslessFields(value as ValueObject) } };
  return isLossless(value) ? wrapped : { [type]: { cbor: asCbor(value) } };
}

function asCbor(value: Value): string {
  return encodeBase64(encodeCbor(value));
}

/** Whether JSON can hold the value. */
function isLossless(value: Value): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (value instanceof Uint8Array) return false;
  if (isArray(value)) return value.every(isLossless);
  return !isObject(value) || Object.values(value).every(isLossless);
}
