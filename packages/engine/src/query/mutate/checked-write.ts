/**
 * applyChecked: applies operations with permission checks before and after.
 *
 * Each document is checked as it was, and as it is afterwards inside the transaction. A denial ends
 * the request and rolls back its transaction. Every mutation of a restricted caller passes here,
 * from a statement or a command.
 */

import {
  assert,
  type DocumentOperation,
  documentId,
  getField,
  isObject,
  type TypeMark,
  unreachable,
  type Value,
} from "@bigpeer/protocol";
import { markOf } from "../../crdt/show.ts";
import type { StoredDocument, View } from "../../store/view.ts";
import type { Steps } from "../frame/steps.ts";
import { attachmentDenied, documentDenied } from "../permission/denial.ts";
import type { PermissionChecker } from "../permission/permission-checker.ts";
import type { Execution } from "../run/execution.ts";
import { joinKeys } from "../value/compare.ts";

type WriteContext = Pick<Execution, "checker" | "transaction">;

function viewOf({ transaction }: WriteContext): View {
  assert(transaction !== undefined, "a mutation inside a transaction");
  return transaction.view;
}

/** Throws unless the caller may read and write the existing document. */
export function requireWritable(
  collection: string,
  before: StoredDocument,
  { checker }: WriteContext,
): void {
  if (checker === undefined || isWritable(collection, before, checker)) return;
  throw documentDenied(collection);
}

/** Whether the caller may overwrite a document. */
export function isWritable(
  collection: string,
  before: StoredDocument,
  checker: PermissionChecker,
): boolean {
  return checker.mayRead(collection, before) && checker.mayWrite(collection, before);
}

/** Throws for a token of content that the caller neither uploaded nor may read. */
export function requireAttachment(id: string, execution: WriteContext): void {
  const { checker } = execution;
  if (checker === undefined) return;
  if (!checker.mayReadAttachment(id, viewOf(execution))) throw attachmentDenied();
}

/** Calls `apply`, which must apply the operations, between both checks. */
export function* applyChecked<T>(
  operations: readonly DocumentOperation[],
  checker: PermissionChecker,
  execution: WriteContext,
  apply: () => Steps<T>,
): Steps<T> {
  const view = viewOf(execution);
  const last = new Map<string, DocumentOperation>();
  const tokens = new Set<string>();
  for (const operation of operations) {
    const { collection, id } = operation;
    const key = joinKeys([collection, documentId(id).key]);
    const before = last.has(key) ? undefined : view.get(collection, id);
    if (before !== undefined) requireWritable(collection, before, execution);
    last.set(key, operation);
    if (!checker.authority.isReadingAll) addTokens(operation, tokens);
    yield;
  }
  // Before the write: after it, the document itself would refer to them.
  for (const token of tokens) {
    requireAttachment(token, execution);
    yield;
  }
  const result = yield* apply();
  for (const operation of last.values()) {
    yield;
    const after = imageAfter(operation, view);
    if (after === undefined || checker.mayWrite(operation.collection, after)) continue;
    throw documentDenied(operation.collection);
  }
  return result;
}

/** The visible document; if other writes hide it, the one that the operation intended. */
function imageAfter(operation: DocumentOperation, view: View): StoredDocument | undefined {
  const { kind, collection, id } = operation;
  switch (kind) {
    case "insert":
    case "initial": {
      const { fields, types } = operation;
      return view.get(collection, id) ?? { id, fields, types };
    }
    case "update":
    case "merge":
    case "layer":
      return view.get(collection, id);
    case "delete":
    case "evict":
      return undefined;
    default:
      return unreachable(kind);
  }
}

/** Adds the attachments that an operation refers to. */
export function addTokens(operation: DocumentOperation, ids: Set<string>): void {
  if (operation.kind === "insert" || operation.kind === "initial") {
    addMarked(operation.fields, operation.types, ids);
  }
  if (operation.kind !== "update") return;
  for (const edit of operation.edits) {
    if (edit.kind === "set") addMarked(edit.value, edit.types, ids);
  }
}

/** Tokens are always marked: an unmarked object is a map. */
function addMarked(value: Value | undefined, mark: TypeMark | undefined, ids: Set<string>): void {
  if (mark === undefined || !isObject(value)) return;
  if (mark === "attachment") {
    const id = getField(value, "id");
    if (typeof id === "string") ids.add(id);
  }
  if (typeof mark === "string") return;
  for (const name of Object.keys(mark)) addMarked(getField(value, name), markOf(mark, name), ids);
}
