/**
 * Operations: the one form in which anything changes a store.
 *
 * A request is evaluated into operations; the same list is applied, kept in the change log, carried
 * by sync and by a replicated log. Operations are plain values (they encode as such) and hold what
 * the writer meant, not the state that came of it: an increment is `by`, never a sum.
 */

import { PeerError } from "./error.ts";
import { type Stamp, stampOfValue } from "./stamp.ts";
import {
  checkValue,
  DEPTH_MAX,
  isArray,
  isObject,
  levelsOf,
  normalInteger,
  type Value,
  type ValueObject,
} from "./value.ts";

export const FIELD_TYPES = ["register", "counter", "pn_counter", "attachment", "map"] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** The type of a value where its shape does not say it: an object is a map, all else a register. */
export type TypeMark = FieldType | Types;
export type Types = { readonly [field: string]: TypeMark };

export type CounterType = "counter" | "pn_counter";
export type Path = readonly string[];

export type SetEdit = {
  readonly kind: "set";
  readonly path: Path;
  readonly value: Value;
  readonly types?: TypeMark;
};
export type UnsetEdit = { readonly kind: "unset"; readonly path: Path };
export type IncrementEdit = {
  readonly kind: "increment";
  readonly path: Path;
  readonly by: number | bigint;
  readonly counter?: CounterType;
  /** What the increment adds to, as its writer knew it; left out, the applier's own view decides. */
  readonly birth?: readonly [time: number, site: string];
};
export type RestartEdit = {
  readonly kind: "restart";
  readonly path: Path;
  readonly value: number | bigint;
  readonly counter?: CounterType;
};
export type Edit = SetEdit | UnsetEdit | IncrementEdit | RestartEdit;

type OnDocument = { readonly collection: string; readonly id: Value };

export type InsertOperation = OnDocument & {
  readonly kind: "insert";
  readonly fields: ValueObject;
  readonly types?: Types;
  /** The writer knew of a tombstone or hidden entries: all that is older dies. */
  readonly clean?: boolean;
};
export type InitialOperation = OnDocument & {
  readonly kind: "initial";
  readonly fields: ValueObject;
  readonly types?: Types;
};
export type UpdateOperation = OnDocument & {
  readonly kind: "update";
  readonly edits: readonly Edit[];
};
export type DeleteOperation = OnDocument & { readonly kind: "delete" };
/** Forgets a document here without a tombstone; never crosses to another peer. */
export type EvictOperation = OnDocument & { readonly kind: "evict" };
/** A delta or a whole state of a document from another store, with its own stamps. */
export type MergeOperation = OnDocument & { readonly kind: "merge"; readonly state: Uint8Array };

export type DocumentOperation =
  | InsertOperation
  | InitialOperation
  | UpdateOperation
  | DeleteOperation
  | EvictOperation
  | MergeOperation;

/** Puts or (null) removes a named record of the catalog. */
export type CatalogOperation = {
  readonly kind: "catalog";
  readonly section: string;
  readonly name: string;
  readonly value: Value;
};
/** Collects tombstones at or below a time; writes older than it are stale from then on. */
export type HorizonOperation = { readonly kind: "horizon"; readonly time: number };
/** Drops the change log up to a transaction, which included. */
export type TrimOperation = { readonly kind: "trim"; readonly upTo: number };

export type StoreOperation = CatalogOperation | HorizonOperation | TrimOperation;
export type Operation = DocumentOperation | StoreOperation;

/** What a small peer may upload: never states, evictions or the store's own affairs. */
export type UploadOperation =
  | InsertOperation
  | InitialOperation
  | UpdateOperation
  | DeleteOperation;

/** Names of collections and of catalog records: with their prefix they must fit a storage key. */
export const NAME_SIZE_MAX = 256;

/**
 * Checks the values of an operation that our own code made, and returns it with them in normal form
 * (the same object when nothing had to change). Its shape is the compiler's business.
 */
export function checkOperation(operation: Operation): Operation {
  switch (operation.kind) {
    case "insert":
    case "initial": {
      checkCollection(operation.collection, "collection");
      const fields = expectObject(checkValue(operation.fields, "fields"), "fields");
      return fields === operation.fields ? operation : { ...operation, fields };
    }
    case "update": {
      checkCollection(operation.collection, "collection");
      const edits = operation.edits.map(checkEditValue);
      const isSame = edits.every((edit, i) => edit === operation.edits[i]);
      return isSame ? operation : { ...operation, edits };
    }
    case "catalog":
      checkName(operation.section, "section");
      checkName(operation.name, "name");
      return operation;
    case "merge":
      checkCollection(operation.collection, "collection");
      return operation;
    default:
      return operation;
  }
}

function checkEditValue(edit: Edit): Edit {
  for (const name of edit.path) checkValue(name, "path");
  if (edit.kind !== "set") return edit;
  const value = checkValue(edit.value, edit.path.join("."));
  return value === edit.value || Number.isNaN(value) ? edit : { ...edit, value };
}

/** Checks an operation that came from outside. Throws `operation.invalid` and names the place. */
export function checkUpload(input: unknown, at: string): UploadOperation {
  const operation = expectObject(checkValue(input, at), at);
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
  const types = checkTypes(operation["types"], `${at}.types`);
  const base = { ...document, fields, ...(types === undefined ? {} : { types }) };
  if (kind === "initial") return { kind, ...base };
  return { kind, ...base, ...(operation["clean"] === true ? { clean: true } : {}) };
}

function checkEdits(input: Value | undefined, at: string): readonly Edit[] {
  if (!isArray(input) || input.length === 0) return refuse("a list of edits", `${at}.edits`);
  const edits = input.map((edit, i) => checkEdit(edit, `${at}.edits[${i}]`));
  if (edits.length > 1) checkApart(edits, at);
  return edits;
}

/** One tick cannot order two writes of a path, nor a write and one below it (one would be lost). */
function checkApart(edits: readonly Edit[], at: string): void {
  const written = new Set<string>();
  const above = new Set<string>();
  for (const [i, { path }] of edits.entries()) {
    let name = "";
    for (const [depth, field] of path.entries()) {
      name += `${field.length}:${field}`;
      const isWhole = depth === path.length - 1;
      if (written.has(name) || (isWhole && above.has(name))) {
        refuse("paths that are written once", `${at}.edits[${i}].path`);
      }
      if (isWhole) written.add(name);
      else above.add(name);
    }
  }
}

function checkEdit(input: Value, at: string): Edit {
  const edit = expectObject(input, at);
  const path = checkPath(edit["path"], `${at}.path`);
  switch (edit["kind"]) {
    case "set": {
      const value = expectPresent(edit["value"], `${at}.value`);
      if (path.length + levelsOf(value) > DEPTH_MAX) {
        refuse(`at most ${DEPTH_MAX} levels with those of the path`, `${at}.value`);
      }
      const types =
        edit["types"] === undefined ? undefined : checkMark(edit["types"], `${at}.types`);
      return { kind: "set", path, value, ...(types === undefined ? {} : { types }) };
    }
    case "unset":
      return { kind: "unset", path };
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

function checkPath(input: Value | undefined, at: string): Path {
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
  const mark = checkMark(input, at);
  return typeof mark === "string" ? refuse("types by field", at) : mark;
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
