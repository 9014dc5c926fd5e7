/**
 * Documents of a full export: the value of each field, and the declaration of its type in a
 * statement.
 */

import {
  decodeCbor,
  isObject,
  type MutableObject,
  PeerError,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";

export interface TypedDocument {
  readonly document: ValueObject;
  /** Such as `(n COUNTER, m MAP (n COUNTER))`; empty when every type is the usual one. */
  readonly declaration: string;
}

/** Whether a line is of a full export. */
export function isTypedLine(line: ValueObject): boolean {
  const names = Object.keys(line).toSorted().join(" ");
  return (names === "fields id" || names === "fields idCbor") && isObject(line["fields"] ?? null);
}

/** Throws PeerError `value.invalid` for a line that no export has written. */
export function typedDocument(line: ValueObject): TypedDocument {
  const id = line["idCbor"] === undefined ? line["id"] : decoded(line["idCbor"]);
  const document: MutableObject = {};
  setField(document, "_id", id ?? null);
  const types = unwrapInto(document, line["fields"] as ValueObject);
  return { document, declaration: declarationOf(types) };
}

/** Returns the declarations of fields whose type is not the usual one of their value. */
function unwrapInto(target: MutableObject, fields: ValueObject): string[] {
  return Object.entries(fields).flatMap(([name, wrapped]) => {
    const [type = ""] = isObject(wrapped) ? Object.keys(wrapped) : [];
    const content = isObject(wrapped) ? wrapped[type] : undefined;
    if (content === undefined || !isObject(content)) throw invalid(name);
    if (type === "map") {
      const inner: MutableObject = {};
      const types = unwrapInto(inner, objectIn(content, name));
      setField(target, name, inner);
      return types.length === 0 ? [] : [`${quoted(name)} MAP ${declarationOf(types)}`];
    }
    const value = content["cbor"] === undefined ? content["value"] : decoded(content["cbor"]);
    setField(target, name, value ?? null);
    return typeOf(name, type, value ?? null);
  });
}

function typeOf(name: string, type: string, value: Value): string[] {
  if (type === "counter") return [`${quoted(name)} COUNTER`];
  if (type === "attachment") return [`${quoted(name)} ATTACHMENT`];
  if (type !== "register") throw invalid(name);
  return isObject(value) ? [`${quoted(name)} REGISTER`] : [];
}

function objectIn({ value = null }: ValueObject, name: string): ValueObject {
  if (isObject(value)) return value;
  throw invalid(name);
}

function declarationOf(types: readonly string[]): string {
  return types.length === 0 ? "" : `(${types.join(", ")})`;
}

function decoded(value: Value | undefined): Value {
  if (typeof value !== "string") throw invalid("cbor");
  return decodeCbor(new Uint8Array(Buffer.from(value, "base64")));
}

function invalid(name: string): PeerError {
  const message = "expected a value with its type, as a full export has it";
  return new PeerError("value.invalid", message, { at: `fields.${name}` });
}

export function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}
