/**
 * applyChecked: applies operations with permission checks before and after.
 *
 * Each document is checked as it was, and as it is afterwards inside the transaction. A denial ends
 * the request and rolls back its transaction. Every mutation of a restricted caller passes here,
 * from a statement or a command.
 */

import { type DocumentOperation, documentId, unreachable } from "@bigpeer/protocol";
import { addTokens } from "../../store/attachment-tokens.ts";
import type { StoredDocument, View } from "../../store/view.ts";
import type { Steps } from "../frame/steps.ts";
import { joinKeys } from "../value/compare.ts";
import type { DocumentChecks } from "./caller-rules.ts";
import { documentDenied } from "./denial.ts";

/** Calls `apply`, which must apply the operations to `view`, between both checks. */
export function* applyChecked<T>(
  checker: DocumentChecks,
  view: View,
  operations: readonly DocumentOperation[],
  apply: () => Steps<T>,
): Steps<T> {
  const last = new Map<string, DocumentOperation>();
  const tokens = new Set<string>();
  for (const operation of operations) {
    const { collection, id } = operation;
    const key = joinKeys([collection, documentId(id).key]);
    const before = last.has(key) ? undefined : view.get(collection, id);
    if (before !== undefined) checker.requireWritable(collection, before);
    last.set(key, operation);
    if (!checker.authority.isReadingAll) addTokens(operation, tokens);
    yield;
  }
  // Before the write: after it, the document itself would refer to them.
  for (const token of tokens) {
    checker.requireAttachment(token, view);
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
