/**
 * The upsert command: INSERT … ON ID CONFLICT DO UPDATE of one document, without a statement. The
 * overrides are the declarations that such a statement would have. Without one an object is a map,
 * also when it looks like a token.
 */

import {
  assert,
  checkValue,
  equalValues,
  getField,
  isObject,
  type MutableObject,
  PeerError,
  setField,
  type TypeMark,
  type Types,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { type InsertPlan, insertDocuments } from "../mutate/insert.ts";
import type { Execution } from "../run/execution.ts";
import { describeType } from "../value/mismatch.ts";
import { type AttachmentToken, attachmentToken, checkUploaded } from "./attachment-token.ts";
import type { TypeOverride, UpsertCommand, UpsertResult } from "./command.ts";
import { counterAmount } from "./field-edit.ts";
import { checkCollectionName } from "./known-collection.ts";
import { idAt, within } from "./place.ts";
import type { CommandContext } from "./selection.ts";

export function prepareUpsert(
  command: UpsertCommand,
  { at }: CommandContext,
): (execution: Execution) => UpsertResult {
  const { collection } = command;
  checkCollectionName(collection, `${at}.collection`);
  const value = checkValue(command.value, `${at}.value`);
  if (!isObject(value)) {
    const message = `expected a document (an object), found ${describeType(value)}`;
    throw new PeerError("value.invalid", message, { at: `${at}.value` });
  }
  const { document, types, tokens } = overridden(withId(value, command.id, at), command, at);
  const typing = { isStrict: false, types };
  const plan: InsertPlan = {
    collection,
    typing,
    isInitial: false,
    conflict: "update",
    isReturning: false,
    isTokenInferred: false,
    at: 0,
  };
  return (execution) => {
    for (const token of tokens) checkUploaded(token, execution);
    const { ids } = within(`${at}.value`, () => insertDocuments(plan, [document], execution));
    const [id] = ids;
    assert(id !== undefined, "an upsert that writes its document");
    return { method: "upsert", id };
  };
}

/** The document with its id in it, if it has one. */
function withId(value: ValueObject, id: Value | undefined, at: string): ValueObject {
  const inside = getField(value, "_id");
  const own = inside === undefined ? undefined : idAt(inside, `${at}.value._id`).id;
  if (id === undefined) return value;
  const given = idAt(id, `${at}.id`).id;
  if (own === undefined) return { ...value, _id: given };
  if (equalValues(own, given)) return value;
  const message = "expected the same id as in `value._id`";
  throw new PeerError("id.invalid", message, { at: `${at}.id` });
}

interface Overridden {
  readonly document: ValueObject;
  readonly types: Types | undefined;
  readonly tokens: readonly AttachmentToken[];
}

/** The overrides, each of them checked against its value. */
function overridden(
  value: ValueObject,
  { valueTypeOverrides: overrides = {} }: UpsertCommand,
  at: string,
): Overridden {
  const names = Object.keys(overrides);
  if (names.length === 0) return { document: value, types: undefined, tokens: [] };
  const document: MutableObject = { ...value };
  const types: { [field: string]: TypeMark } = {};
  const tokens: AttachmentToken[] = [];
  for (const name of names) {
    const type = overrides[name] as TypeOverride;
    const field = name === "_id" ? undefined : getField(value, name);
    if (field === undefined) {
      const message = "expected the name of a field of `value`";
      throw new PeerError("value.invalid", message, { at: `${at}.valueTypeOverrides.${name}` });
    }
    setField(types, name, type);
    const token = checkOverride(field, type, `${at}.value.${name}`);
    if (token === undefined) continue;
    tokens.push(token);
    setField(document, name, token.value);
  }
  return { document, types, tokens };
}

function checkOverride(field: Value, type: TypeOverride, at: string): AttachmentToken | undefined {
  switch (type) {
    case "register":
      return undefined;
    case "counter":
      counterAmount(field, at);
      return undefined;
    case "attachment":
      return attachmentToken(field, at);
    default:
      return unreachable(type);
  }
}
