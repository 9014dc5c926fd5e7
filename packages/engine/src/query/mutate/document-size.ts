/**
 * checkDocumentSize: computes how large a document would be after a write, and enforces the limits.
 *
 * The size is that of the visible fields with the id, in bytes of CBOR. Most writes are far from
 * every limit, as the sum of old and added bytes shows. Only the others are tried on a copy of the
 * state.
 */

import {
  type Edit,
  isArray,
  isObject,
  type Path,
  type Stamp,
  stringifyJson,
  TIME_MAX,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { deltaOf, type StateOperation } from "../../crdt/edit.ts";
import { merge } from "../../crdt/merge.ts";
import { show } from "../../crdt/show.ts";
import { DOCUMENT_FIELDS_MAX, DOCUMENT_STAMPS_MAX, DOCUMENT_VALUES_MAX } from "../../limits.ts";
import type { Steps } from "../../steps.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { StoredDocument } from "../../store/view.ts";
import { evaluationFault } from "../fault.ts";
import type { DocumentView } from "../frame/document-view.ts";
import type { Warnings } from "../run/warnings.ts";
import { byteLength } from "../value/text-length.ts";

/** An operation of a statement, with the document before it. */
export interface Write {
  readonly operation: StateOperation;
  readonly before: StoredDocument | undefined;
}

/** Later than every other write. */
export const LAST: Stamp = { time: TIME_MAX, site: "ffffffffffffffff" };

/** Sizes in bytes: above `soft` a write causes a warning, above `hard` it is refused. */
export interface SizeLimits {
  readonly soft: number;
  readonly hard: number;
}

/** Number of fields and values of a document; see limits.ts. */
export interface Parts {
  readonly fields: number;
  readonly values: number;
}

/** The size of the fields of a document, and their number if it may be too large. */
export interface Extent {
  readonly size: number;
  readonly parts: Parts;
}

/** A value takes at least one byte, a field two: a smaller document cannot exceed the counts. */
const SIZE_WITHOUT_COUNT = Math.min(DOCUMENT_VALUES_MAX, DOCUMENT_FIELDS_MAX * 2);

const FEW: Parts = { fields: 0, values: 0 };

/** Approximate bytes of an operation. */
export function sizeOfWrite({ operation }: Write): number {
  return encodedSize(operation.id) + operationSize(operation);
}

/** Whether a write of `added` bytes leaves a document far from all limits. */
export function isFarFromLimits({ before }: Write, added: number, limits: SizeLimits): boolean {
  const room = Math.min(limits.soft, limits.hard, SIZE_WITHOUT_COUNT) - added;
  return room >= 0 && (before === undefined || encodedSize(before.fields) <= room);
}

/**
 * Refuses a write that makes a document too large, and warns of one that makes it large; `added` is
 * its size. Each pass over the document is one step.
 */
export function* checkDocumentSize(
  write: Write,
  added: number,
  limits: SizeLimits,
  { transaction, warnings }: SizeContext,
): Steps<void> {
  const { operation, before } = write;
  transaction.expectLarge();
  yield;
  const found = before === undefined ? NOTHING : extentOf(before.fields);
  yield;
  const isSmall = found.size + added <= Math.min(limits.soft, limits.hard);
  if (isSmall && isWithin(sum(found.parts, operationParts(operation, added)))) return;
  yield;
  const after = yield* resultOf(operation, transaction.view);
  yield;
  checkExtentChange({ id: operation.id, before: found, after }, limits, warnings);
}

/** Context of a size check. */
export interface SizeContext {
  readonly transaction: Pick<Transaction, "view" | "expectLarge">;
  readonly warnings: Warnings;
}

const NOTHING: Extent = { size: 0, parts: FEW };

/** A document before and after a write. */
export interface ExtentChange {
  readonly id: Value;
  readonly before: Extent;
  readonly after: Extent;
}

/** The same for a write whose result is known. */
export function checkExtentChange(
  { id, before, after }: ExtentChange,
  limits: SizeLimits,
  warnings: Warnings,
): void {
  const size = after.size + encodedSize(id);
  // A document that arrived too large may still be made smaller.
  if (size > limits.hard && after.size > before.size) {
    const limit = `its size is ${size} bytes and exceeds limit of ${limits.hard} bytes`;
    throw tooLarge(id, limit);
  }
  const { fields } = after.parts;
  const values = Math.ceil(after.parts.values);
  if (fields > DOCUMENT_FIELDS_MAX && fields > before.parts.fields) {
    throw tooLarge(id, `expected at most ${DOCUMENT_FIELDS_MAX} fields, found ${fields}`);
  }
  if (values > DOCUMENT_VALUES_MAX && values > before.parts.values) {
    throw tooLarge(id, `expected at most ${DOCUMENT_VALUES_MAX} values, found ${values}`);
  }
  if (size > limits.soft) {
    const limit = `exceeds the soft limit of ${limits.soft} bytes`;
    warnings.add(`the document is large: its size is ${size} bytes and ${limit}`, id);
  }
}

/** Refuses a write that leaves too much invisible state in a document. Call it after the write. */
export function checkStamps({ outgrown }: Pick<Transaction, "outgrown">): void {
  if (outgrown === undefined) return;
  const what = "fields and counts of sites in a document, those included that were removed lately";
  const expected = `expected at most ${DOCUMENT_STAMPS_MAX} ${what}, found ${outgrown}`;
  throw evaluationFault(`${expected}; use several documents, or delete it and insert it again`);
}

function tooLarge(id: Value, why: string): Error {
  return evaluationFault(`the document ${stringifyJson(id)} is too large: ${why}`);
}

export function extentOf(fields: ValueObject): Extent {
  const size = encodedSize(fields);
  return { size, parts: size <= SIZE_WITHOUT_COUNT ? FEW : partsOf(fields) };
}

/** The extent of the fields that an operation would leave. */
function* resultOf(operation: StateOperation, view: Pick<DocumentView, "state">): Steps<Extent> {
  const { state } = view.state(operation.collection, operation.id);
  yield;
  const delta = deltaOf(state, operation, LAST);
  yield;
  const merged = delta === undefined ? state : merge(state, delta);
  yield;
  const after = show(merged);
  yield;
  return after === undefined ? NOTHING : extentOf(after.fields);
}

function isWithin({ fields, values }: Parts): boolean {
  return fields <= DOCUMENT_FIELDS_MAX && values <= DOCUMENT_VALUES_MAX;
}

function sum(a: Parts, b: Parts): Parts {
  return { fields: a.fields + b.fields, values: a.values + b.values };
}

/** Upper bound of the parts that an operation adds; `size` is that of the operation. */
function operationParts(operation: StateOperation, size: number): Parts {
  if (size <= SIZE_WITHOUT_COUNT / 2) return { fields: size / 2, values: size };
  switch (operation.kind) {
    case "insert":
    case "initial":
      return partsOf(operation.fields);
    case "update":
      return operation.edits.map(editParts).reduce(sum, FEW);
    case "delete":
      return FEW;
    default:
      return unreachable(operation);
  }
}

function editParts(edit: Edit): Parts {
  const { length } = edit.path;
  const path = { fields: length, values: length };
  if (edit.kind !== "set") return path;
  return sum(
    path,
    isObject(edit.value) ? partsOf(edit.value) : { fields: 0, values: valuesOf(edit.value) },
  );
}

function partsOf(fields: ValueObject): Parts {
  return { fields: fieldsOf(fields), values: valuesOf(fields) };
}

/** Fields of maps: an array with all its contents merges as one value. */
function fieldsOf(value: ValueObject): number {
  let count = 0;
  for (const name in value) {
    const field = value[name] as Value;
    count += isObject(field) ? 1 + fieldsOf(field) : 1;
  }
  return count;
}

/** So many scalars in an array count as one value: processing them is fast. */
const ELEMENTS_PER_VALUE = 10;

/** Values inside a value. */
function valuesOf(value: Value): number {
  return elementsOf(value) / ELEMENTS_PER_VALUE;
}

function elementsOf(value: Value): number {
  if (!isCompound(value)) return 0;
  let count = 0;
  if (isArray(value)) {
    for (const element of value) {
      count += isCompound(element) ? ELEMENTS_PER_VALUE + elementsOf(element) : 1;
    }
  } else for (const name in value) count += ELEMENTS_PER_VALUE + elementsOf(value[name] as Value);
  return count;
}

function isCompound(value: Value): value is readonly Value[] | ValueObject {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array);
}

function operationSize(operation: StateOperation): number {
  switch (operation.kind) {
    case "insert":
    case "initial":
      return encodedSize(operation.fields);
    case "update":
      return operation.edits.reduce((size, edit) => size + editSize(edit), 0);
    case "delete":
      return 0;
    default:
      return unreachable(operation);
  }
}

function editSize(edit: Edit): number {
  switch (edit.kind) {
    case "set":
      return pathSize(edit.path) + encodedSize(edit.value);
    case "unset":
      return 0;
    case "increment":
    case "restart":
      return pathSize(edit.path) + headSize(Number.MAX_SAFE_INTEGER);
    default:
      return unreachable(edit);
  }
}

/** The names, and the head of a map for each. */
function pathSize(path: Path): number {
  return path.reduce((size, name) => size + encodedSize(name) + 1, 0);
}

/** Bytes of a value in CBOR; every float counts as the longest one. */
export function encodedSize(value: Value): number {
  if (typeof value === "string") return textSize(value);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) return 9;
    return headSize(value < 0 ? -1 - value : value);
  }
  if (typeof value === "boolean" || value === null) return 1;
  return typeof value === "bigint" ? 9 : containerSize(value);
}

function containerSize(value: Uint8Array | readonly Value[] | ValueObject): number {
  if (value instanceof Uint8Array) return headSize(value.length) + value.length;
  if (isArray(value)) {
    let size = headSize(value.length);
    for (const element of value) size += encodedSize(element);
    return size;
  }
  return fieldsSize(value);
}

function fieldsSize(fields: ValueObject): number {
  let size = 0;
  let count = 0;
  for (const name in fields) {
    size += textSize(name) + encodedSize(fields[name] as Value);
    count++;
  }
  return size + headSize(count);
}

function textSize(text: string): number {
  const size = byteLength(text);
  return size + headSize(size);
}

function headSize(argument: number): number {
  if (argument < 24) return 1;
  if (argument < 0x100) return 2;
  if (argument < 0x10000) return 3;
  return argument < 0x100000000 ? 5 : 9;
}
