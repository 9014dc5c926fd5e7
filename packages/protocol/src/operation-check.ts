/**
 * Operation checks: validate an operation before it is applied, and report each fault with its
 * place. Operations of a peer are checked in shape and content, those of our own code in content.
 *
 * They do not look at any document: they do not decide whether an operation has an effect.
 */

import { documentId } from "./document-id.ts";
import { PeerError } from "./error.ts";
import {
  type AttachOperation,
  type CounterType,
  type Edit,
  FIELD_TYPES,
  type IndexKey,
  type InitialOperation,
  type InsertOperation,
  type OnDocument,
  type Operation,
  type Path,
  type SetEdit,
  type TypeMark,
  type Types,
  type UploadOperation,
} from "./operation.ts";
import { type Stamp, stampOfValue } from "./stamp.ts";
import {
  checkValue,
  DEPTH_MAX,
  getField,
  isArray,
  isObject,
  levelsOf,
  normalInteger,
  type Value,
  type ValueObject,
} from "./value.ts";

/** Names of collections and of catalog records: with their prefix they must fit a storage key. */
export const NAME_SIZE_MAX = 256;

/** Keys of one index. More would hardly narrow a scan, and all of them must fit a storage key. */
export const INDEX_KEYS_MAX = 16;

/** Ids of recorded attachments, and names of their uploaders. */
export const ATTACHMENT_ID_SIZE_MAX = 128;

/**
 * What is hashed after the content of an attachment for the proof that a caller has it (H55). The
 * padding of a hash never begins with such a byte, so the proof cannot be computed from the id.
 */
export const CONTENT_PROOF = "bigpeer possession";
export const UPLOADER_SIZE_MAX = 128;

/**
 * Checks the content of an operation of our own code, and returns it with values in normal form
 * (the same object when nothing had to change). The compiler checks its shape. After this, applying
 * it cannot fail.
 */
export function checkOperation(operation: Operation): Operation {
  switch (operation.kind) {
    case "insert":
    case "initial": {
      checkDocument(operation);
      const fields = expectObject(checkValue(operation.fields, "fields"), "fields");
      if (operation.types !== undefined) checkTyped(fields, operation.types, "fields");
      return fields === operation.fields ? operation : { ...operation, fields };
    }
    case "update": {
      checkDocument(operation);
      const edits = operation.edits.map(checkOwnEdit);
      if (edits.length > 1) checkApart(edits, "update");
      const isSame = edits.every((edit, i) => edit === operation.edits[i]);
      return isSame ? operation : { ...operation, edits };
    }
    case "catalog":
      checkName(operation.section, "section");
      checkName(operation.name, "name");
      checkValue(operation.value, "value");
      return operation;
    case "create_index":
      checkIndexName(operation);
      checkIndexKeys(operation.keys);
      checkLimit(operation);
      return operation;
    case "build_index":
    case "drop_index":
      checkIndexName(operation);
      checkLimit(operation);
      return operation;
    case "clear_index":
      checkPositive(operation.number, "number");
      checkLimit(operation);
      return operation;
    case "attach":
      checkAttachmentId(operation.id);
      checkContent(operation);
      return operation;
    case "detach":
      checkAttachmentId(operation.id);
      return operation;
    case "merge":
    case "delete":
    case "evict":
    case "layer":
      checkDocument(operation);
      return operation;
    default:
      return operation;
  }
}

function checkDocument({ collection, id }: OnDocument): void {
  checkCollection(collection, "collection");
  documentId(id);
}

function checkIndexName(index: { readonly collection: string; readonly name: string }): void {
  checkCollection(index.collection, "collection");
  if (index.name === "") refuse("the name of an index", "name");
  checkName(index.name, "name");
}

function checkIndexKeys(keys: readonly IndexKey[]): void {
  if (keys.length === 0 || keys.length > INDEX_KEYS_MAX) {
    refuse(`1 to ${INDEX_KEYS_MAX} keys of an index`, "keys");
  }
  for (const [i, { path }] of keys.entries()) {
    const at = `keys[${i}].path`;
    for (const name of checkPath(path, at)) checkValue(name, at);
  }
}

function checkLimit({ limit }: { readonly limit?: number }): void {
  if (limit !== undefined) checkPositive(limit, "limit");
}

function checkPositive(number: number, at: string): void {
  if (!Number.isSafeInteger(number) || number < 1) refuse("a positive integer", at);
}

function checkAttachmentId(id: string): void {
  if (id.length <= ATTACHMENT_ID_SIZE_MAX && /^[A-Za-z0-9_-]+$/.test(id)) return;
  refuse(`the id of a content: 1 to ${ATTACHMENT_ID_SIZE_MAX} letters, digits, - and _`, "id");
}

function checkContent({ len, by }: AttachOperation): void {
  if (!Number.isSafeInteger(len) || len < 0 || Object.is(len, -0)) refuse("a length", "len");
  if (by.length > UPLOADER_SIZE_MAX || !by.isWellFormed()) {
    refuse(`the name of an uploader of at most ${UPLOADER_SIZE_MAX} characters`, "by");
  }
}

function checkOwnEdit(edit: Edit): Edit {
  if (isRootSet(edit)) return checkRootSet(edit);
  const at = edit.path.join(".");
  for (const name of checkPath(edit.path, "path")) checkValue(name, "path");
  switch (edit.kind) {
    case "set": {
      const value = checkValue(edit.value, at);
      checkLevels(edit.path, value, at);
      if (edit.types !== undefined) checkTyped(value, edit.types, at);
      return value === edit.value || Number.isNaN(value) ? edit : { ...edit, value };
    }
    case "increment":
      checkAmount(edit.by, edit.counter ?? "counter", at);
      return edit;
    case "restart":
      checkAmount(edit.value, edit.counter ?? "counter", at);
      return edit;
    default:
      return edit;
  }
}

/** Whether an edit sets fields of the document itself. */
export function isRootSet(edit: Edit): edit is SetEdit & { readonly value: ValueObject } {
  return edit.kind === "set" && edit.path.length === 0 && isMapWrite(edit.value, edit.types);
}

function checkRootSet(edit: SetEdit): SetEdit {
  const value = checkValue(edit.value, "fields");
  if (edit.types !== undefined) checkTyped(value, edit.types, "fields");
  return value === edit.value ? edit : { ...edit, value };
}

/** A path and its value together must not be deeper than a value may be. */
function checkLevels(path: Path, value: Value, at: string): void {
  if (path.length + levelsOf(value) <= DEPTH_MAX) return;
  const expected = `at most ${DEPTH_MAX} levels`;
  refuse(path.length === 0 ? expected : `${expected} with those of the path`, at);
}

/** Refuses a value that cannot be of its declared type. */
function checkTyped(value: Value, mark: TypeMark, at: string): void {
  switch (mark) {
    case "register":
      return;
    case "counter":
    case "pn_counter":
      checkAmount(value, mark, at);
      return;
    case "attachment":
      if (!isObject(value)) refuse("an attachment token (an object)", at);
      return;
    default:
      if (!isObject(value)) return refuse("an object for a map", at);
      if (mark === "map") return;
      for (const name of Object.keys(value)) {
        const inner = getField(mark, name) as TypeMark | undefined;
        if (inner !== undefined) checkTyped(value[name] as Value, inner, `${at}.${name}`);
      }
  }
}

/** Edits of one update: more than a document has fields. They are checked without a pause. */
const EDITS_MAX = 32_768;

/** Nesting levels around a written value: of the operation, its edits and the edit. */
const LEVELS_AROUND = 3;

/** Checks an operation from outside. Throws `operation.invalid` and names the place. */
export function checkUpload(input: unknown, at: string): UploadOperation {
  const operation = expectObject(checkValue(input, at, LEVELS_AROUND), at);
  const collection = checkCollection(operation["collection"], `${at}.collection`);
  const id = expectPresent(operation["id"], `${at}.id`);
  switch (operation["kind"]) {
    case "insert":
    case "initial":
      return checkInsert(operation, operation["kind"], { collection, id }, at);
    case "update":
      return { kind: "update", collection, id, edits: checkEdits(operation["edits"], at) };
    case "delete":
      return { kind: "delete", collection, id };
    default:
      return refuse("insert, initial, update or delete", `${at}.kind`);
  }
}

export function checkCollection(input: unknown, at: string): string {
  if (typeof input !== "string" || input === "") return refuse("the name of a collection", at);
  return checkName(input, at);
}

function checkName(input: string, at: string): string {
  if (input.length <= NAME_SIZE_MAX && input.isWellFormed()) return input;
  return refuse(`a name of at most ${NAME_SIZE_MAX} characters`, at);
}

function checkInsert(
  operation: ValueObject,
  kind: "insert" | "initial",
  document: OnDocument,
  at: string,
): InsertOperation | InitialOperation {
  const fields = expectObject(operation["fields"], `${at}.fields`);
  checkLevels([], fields, `${at}.fields`);
  const types = checkTypes(operation["types"], `${at}.types`);
  if (types !== undefined) checkTyped(fields, types, `${at}.fields`);
  const base = { ...document, fields, ...(types === undefined ? {} : { types }) };
  if (kind === "initial") return { kind, ...base };
  return { kind, ...base, ...(operation["clean"] === true ? { clean: true } : {}) };
}

function checkEdits(input: Value | undefined, at: string): readonly Edit[] {
  if (!isArray(input) || input.length === 0 || input.length > EDITS_MAX) {
    return refuse(`a list of 1 to ${EDITS_MAX} edits`, `${at}.edits`);
  }
  const edits = input.map((edit, i) => checkEdit(edit, `${at}.edits[${i}]`));
  if (edits.length > 1) checkApart(edits, at);
  return edits;
}

/**
 * Refuses two writes to one place: one tick cannot order them, and one would be lost. A map and a
 * write below it go together; a value and a write below it do not.
 */
function checkApart(edits: readonly Edit[], at: string): void {
  const values = new Set<string>();
  const maps = new Set<string>();
  for (const [i, edit] of edits.entries()) {
    const place = `${at}.edits[${i}].path`;
    const isValue = edit.kind !== "set" || !isMapWrite(edit.value, edit.types);
    const name = notePath(edit.path, { values, maps, isValue }, place);
    if (edit.kind === "set" && !isValue) noteMap(name, edit, { values, maps }, place);
  }
}

interface WrittenPlaces {
  readonly values: Set<string>;
  readonly maps: Set<string>;
}

function isMapWrite(value: Value, mark: TypeMark | undefined): value is ValueObject {
  return isObject(value) && (mark === undefined || mark === "map" || typeof mark === "object");
}

/** Notes a path and the maps above it; refuses a place written before. Returns its name. */
function notePath(path: Path, written: WrittenPlaces & { isValue: boolean }, at: string): string {
  let name = "";
  for (const [depth, field] of path.entries()) {
    name += `${field.length}:${field}`;
    const isEnd = depth === path.length - 1;
    notePlace(name, isEnd && written.isValue, written, at);
  }
  return name;
}

function notePlace(name: string, isValue: boolean, written: WrittenPlaces, at: string): void {
  const isTaken = written.values.has(name) || (isValue && written.maps.has(name));
  if (isTaken) refuse("paths that are written once", at);
  (isValue ? written.values : written.maps).add(name);
}

function noteMap(name: string, edit: SetEdit, written: WrittenPlaces, at: string): void {
  const visit = (value: Value, mark: TypeMark | undefined, above: string): void => {
    if (!isMapWrite(value, mark)) return;
    for (const field of Object.keys(value)) {
      const inner = `${above}${field.length}:${field}`;
      const innerMark =
        typeof mark === "object" ? (getField(mark, field) as TypeMark | undefined) : undefined;
      const innerValue = value[field] as Value;
      notePlace(inner, !isMapWrite(innerValue, innerMark), written, at);
      visit(innerValue, innerMark, inner);
    }
  };
  visit(edit.value, edit.types, name);
}

function checkDeclared(input: Value | undefined, at: string): { isDeclared?: true } {
  if (input === undefined) return {};
  return input === true ? { isDeclared: true } : refuse("true or nothing", at);
}

function checkEdit(input: Value, at: string): Edit {
  const edit = expectObject(input, at);
  if (edit["kind"] === "set") return checkSet(edit, at);
  const path = checkPath(edit["path"], `${at}.path`);
  switch (edit["kind"]) {
    case "unset":
      return { kind: "unset", path, ...checkDeclared(edit["isDeclared"], `${at}.isDeclared`) };
    case "increment": {
      const counter = checkCounter(edit["counter"], `${at}.counter`);
      const by = checkAmount(edit["by"], counter, `${at}.by`);
      const birth =
        edit["birth"] === undefined ? {} : { birth: checkBirth(edit["birth"], `${at}.birth`) };
      return { kind: "increment", path, by, counter, ...birth };
    }
    case "restart": {
      const counter = checkCounter(edit["counter"], `${at}.counter`);
      const value = checkAmount(edit["value"], counter, `${at}.value`);
      return { kind: "restart", path, value, counter };
    }
    default:
      return refuse("set, unset, increment or restart", `${at}.kind`);
  }
}

function checkSet(edit: ValueObject, at: string): SetEdit {
  const isOfRoot = isArray(edit["path"]) && edit["path"].length === 0;
  const path = isOfRoot ? [] : checkPath(edit["path"], `${at}.path`);
  const value = expectPresent(edit["value"], `${at}.value`);
  checkLevels(path, value, `${at}.value`);
  const types = edit["types"] === undefined ? undefined : checkMarks(edit["types"], `${at}.types`);
  if (types !== undefined) checkTyped(value, types, `${at}.value`);
  if (isOfRoot && !isMapWrite(value, types)) refuse("a path of field names", `${at}.path`);
  return { kind: "set", path, value, ...(types === undefined ? {} : { types }) };
}

function checkPath(input: Value | Path | undefined, at: string): Path {
  if (!isArray(input) || input.length === 0) return refuse("a path of field names", at);
  for (const name of input) if (typeof name !== "string") refuse("a path of field names", at);
  if (input.length > DEPTH_MAX) refuse(`a path of at most ${DEPTH_MAX} fields`, at);
  return input as Path;
}

function checkCounter(input: Value | undefined, at: string): CounterType {
  if (input === undefined) return "counter";
  return input === "counter" || input === "pn_counter" ? input : refuse("a counter type", at);
}

/** A COUNTER counts in integers, a PN_COUNTER in any finite number. */
export function checkAmount(
  input: Value | undefined,
  counter: CounterType,
  at: string,
): number | bigint {
  if (typeof input === "bigint")
    return counter === "counter" ? normalInteger(input) : Number(input);
  if (typeof input === "number" && Number.isFinite(input)) {
    if (counter === "pn_counter") return input;
    if (Number.isSafeInteger(input)) return input + 0; // -0 is no integer of its own
    if (Number.isInteger(input) && Math.abs(input) < 2 ** 63) return BigInt(input);
  }
  return refuse(counter === "counter" ? "an integer" : "a number", at);
}

function checkBirth(input: Value | undefined, at: string): readonly [number, string] {
  const stamp: Stamp = stampOfValue(input, at);
  return [stamp.time, stamp.site];
}

function checkTypes(input: Value | undefined, at: string): Types | undefined {
  if (input === undefined) return undefined;
  const mark = checkMarks(input, at);
  return typeof mark === "string" ? refuse("types by field", at) : mark;
}

/** Type marks mirror the fields, so they are at most as deep. */
function checkMarks(input: Value, at: string): TypeMark {
  checkLevels([], input, at);
  return checkMark(input, at);
}

function checkMark(input: Value, at: string): TypeMark {
  if (typeof input === "string") {
    return FIELD_TYPES.find((type) => type === input) ?? refuse("a field type", at);
  }
  const types = expectObject(input, at);
  for (const field of Object.keys(types)) checkMark(types[field] as Value, `${at}.${field}`);
  return types as Types;
}

function expectObject(input: Value | undefined, at: string): ValueObject {
  return isObject(input) ? input : refuse("an object", at);
}

function expectPresent(input: Value | undefined, at: string): Value {
  return input === undefined ? refuse("a value", at) : input;
}

function refuse(expected: string, at: string): never {
  throw new PeerError("operation.invalid", `expected ${expected}`, { at });
}
