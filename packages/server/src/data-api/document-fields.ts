/**
 * Document fields: encodes the fields of a document as a request asks: plain values or values with
 * types (H22), attachments with or without a download URL (H39).
 */

import { type StoredDocument, typedFields } from "@bigpeer/engine/store";
import {
  isObject,
  type MutableObject,
  setField,
  type TypeMark,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { DocumentForm } from "./schemas.ts";

/** Returns the download URL of an attachment. */
type LinkOf = (attachmentId: string) => string;

export function documentFields(
  document: StoredDocument,
  form: DocumentForm,
  linkOf: LinkOf,
): ValueObject {
  const { types } = document;
  const isLinked = form.formatAttachment === true && types !== undefined;
  const fields = isLinked ? linkFields(document.fields, types, linkOf) : document.fields;
  return form.serializedAs === "latestValuesAndTypes" ? typedFields({ fields, types }) : fields;
}

function linkFields(fields: ValueObject, types: Types, linkOf: LinkOf): ValueObject {
  const linked: MutableObject = {};
  for (const name of Object.keys(fields)) {
    const mark = Object.hasOwn(types, name) ? types[name] : undefined;
    setField(linked, name, linkValue(fields[name] as Value, mark, linkOf));
  }
  return linked;
}

function linkValue(value: Value, mark: TypeMark | undefined, linkOf: LinkOf): Value {
  if (!isObject(value)) return value;
  if (typeof mark === "object") return linkFields(value, mark, linkOf);
  if (mark !== "attachment" || typeof value["id"] !== "string") return value;
  return { ...value, url: linkOf(value["id"]) };
}
