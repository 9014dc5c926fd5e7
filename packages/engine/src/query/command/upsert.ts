/**
 * The upsert command of the data API: inserts one document or merges it into the existing one, as
 * INSERT … ON ID CONFLICT DO UPDATE does.
 *
 * `valueTypeOverrides` take the place of the type declarations of such a statement. Without an
 * override an object is stored as a map, even if it looks like an attachment token.
 */

import {
  assert,
  checkValue,
  type DocumentId,
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
import type { Steps } from "../frame/steps.ts";
import { givenDocument, type InsertPlan, withoutId, writeGiven } from "../mutate/insert.ts";
import type { Execution } from "../run/execution.ts";
import { describeType } from "../value/mismatch.ts";
import { type AttachmentToken, attachmentToken, checkUploaded } from "./attachment-token.ts";
import type { TypeOverride, UpsertCommand, UpsertResult } from "./command.ts";
import { counterAmount } from "./field-edit.ts";
import { checkCollectionName } from "./known-collection.ts";
import { idAt, placed } from "./place.ts";
import type { CommandContext, PreparedCommand } from "./selection.ts";

export function prepareUpsert(
  command: UpsertCommand,
  { at }: CommandContext,
): PreparedCommand<UpsertResult> {
  const { collection } = command;
  checkCollectionName(collection, `${at}.collection`);
  const value = checkValue(command.value, `${at}.value`);
  if (!isObject(value)) {
    const message = `expected a document (an object), found ${describeType(value)}`;
    throw new PeerError("value.invalid", message, { at: `${at}.value` });
  }
  const id = idOf(value, command.id, at);
  const given = getField(value, "_id") === undefined ? value : (withoutId(value) as ValueObject);
  const { fields, types, tokens } = overridden(given, command, at);
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
  const upsert = { at, id, fields, tokens, plan };
  return { run: (execution) => runUpsert(upsert, execution) };
}

interface PreparedUpsert {
  readonly at: string;
  readonly id: DocumentId | undefined;
  readonly fields: ValueObject;
  readonly tokens: readonly AttachmentToken[];
  readonly plan: InsertPlan;
}

/** Not a closure: V8 makes a hidden class for the steps of each new generator function. */
function* runUpsert(upsert: PreparedUpsert, execution: Execution): Steps<UpsertResult> {
  const { at, id, fields, tokens, plan } = upsert;
  for (const token of tokens) checkUploaded(token, execution);
  try {
    const document = givenDocument(id, fields, plan, execution);
    const { ids } = yield* writeGiven(plan, [document], execution);
    const [written] = ids;
    assert(written !== undefined, "an upsert that writes its document");
    return { method: "upsert", id: written };
  } catch (error) {
    throw placed(error, `${at}.value`);
  }
}

/** The id given beside the document or in it, if any. */
function idOf(value: ValueObject, id: Value | undefined, at: string): DocumentId | undefined {
  const inside = getField(value, "_id");
  const own = inside === undefined ? undefined : idAt(inside, `${at}.value._id`);
  if (id === undefined) return own;
  const given = idAt(id, `${at}.id`);
  if (own === undefined || own.key === given.key) return given;
  const message = "expected the same id as in `value._id`";
  throw new PeerError("id.invalid", message, { at: `${at}.id` });
}

interface Overridden {
  readonly fields: ValueObject;
  readonly types: Types | undefined;
  readonly tokens: readonly AttachmentToken[];
}

/** Applies the type overrides after checking each against its value. */
function overridden(
  value: ValueObject,
  { valueTypeOverrides: overrides = {} }: UpsertCommand,
  at: string,
): Overridden {
  const names = Object.keys(overrides);
  if (names.length === 0) return { fields: value, types: undefined, tokens: [] };
  const fields: MutableObject = { ...value };
  const types: { [field: string]: TypeMark } = {};
  const tokens: AttachmentToken[] = [];
  for (const name of names) {
    const type = overrides[name] as TypeOverride;
    const field = getField(value, name);
    if (field === undefined) {
      const message = "expected the name of a field of `value`";
      throw new PeerError("value.invalid", message, { at: `${at}.valueTypeOverrides.${name}` });
    }
    setField(types, name, type);
    const token = checkOverride(field, type, `${at}.value.${name}`);
    if (token === undefined) continue;
    tokens.push(token);
    setField(fields, name, token.value);
  }
  return { fields, types, tokens };
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
