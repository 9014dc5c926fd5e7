/**
 * Document size: how large a document would be after a write, and whether that is allowed.
 *
 * The size is that of the visible fields with the id, in bytes of CBOR. Most writes are far from any
 * limit, as the sum of what is there and what is written shows; only for the others the write is
 * tried out on a copy of the state.
 */

import {
  type Edit,
  isArray,
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
import type { StoredDocument } from "../../store/view.ts";
import { evaluationFault } from "../fault.ts";
import type { DocumentView } from "../frame/document-view.ts";
import type { Warnings } from "../run/execution.ts";
import { byteLength } from "../value/text-length.ts";

/** An operation of a statement, with the document that it finds. */
export interface Write {
  readonly operation: StateOperation;
  readonly before: StoredDocument | undefined;
}

/** Later than every other write. */
export const LAST: Stamp = { time: TIME_MAX, site: "ffffffffffffffff" };

/** Sizes in bytes: beyond `soft` a write is warned of, beyond `hard` it is refused. */
export interface SizeLimits {
  readonly soft: number;
  readonly hard: number;
}

/**
 * Refuses a write that makes a document too large, and warns of one that makes it large. Returns
 * about how many bytes the operation holds.
 */
export function checkDocumentSize(
  { operation, before }: Write,
  limits: SizeLimits,
  view: Pick<DocumentView, "state">,
  warnings: Warnings,
): number {
  const sizeBefore = before === undefined ? 0 : encodedSize(before.fields);
  const idSize = encodedSize(operation.id);
  const added = idSize + operationSize(operation);
  if (sizeBefore + added <= Math.min(limits.soft, limits.hard)) return added;
  const change = { id: operation.id, before: sizeBefore, after: resultSize(operation, view) };
  checkSizeChange(change, limits, warnings);
  return added;
}

/** Sizes of the fields of a document before and after a write. */
export interface SizeChange {
  readonly id: Value;
  readonly before: number;
  readonly after: number;
}

/** The same for a write whose outcome is known already. */
export function checkSizeChange(
  { id, before, after }: SizeChange,
  limits: SizeLimits,
  warnings: Warnings,
): void {
  const size = after + encodedSize(id);
  // What came too large from elsewhere may still be made smaller.
  if (size > limits.hard && after > before) {
    const which = `the document ${stringifyJson(id)} is too large`;
    const limit = `its size is ${size} bytes and exceeds limit of ${limits.hard} bytes`;
    throw evaluationFault(`${which}: ${limit}`);
  }
  if (size > limits.soft) {
    const limit = `exceeds the soft limit of ${limits.soft} bytes`;
    warnings.add(`the document is large: its size is ${size} bytes and ${limit}`, id);
  }
}

/** The size of the fields that an operation would leave. */
function resultSize(operation: StateOperation, view: Pick<DocumentView, "state">): number {
  const { state } = view.state(operation.collection, operation.id);
  const delta = deltaOf(state, operation, LAST);
  const after = show(delta === undefined ? state : merge(state, delta));
  return after === undefined ? 0 : encodedSize(after.fields);
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

/** Bytes of a value in CBOR; a float counts as the longest one. */
export function encodedSize(value: Value): number {
  switch (typeof value) {
    case "boolean":
      return 1;
    case "number":
      if (!Number.isSafeInteger(value)) return 9;
      return headSize(value < 0 ? -1 - value : value);
    case "bigint":
      return 9;
    case "string":
      return textSize(value);
    default:
      return value === null ? 1 : containerSize(value);
  }
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
