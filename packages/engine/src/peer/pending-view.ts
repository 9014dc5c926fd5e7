/**
 * Pending view: computes a document with pending writes applied over its confirmed state.
 *
 * The writes are applied as the server will apply them. The confirmed state may already contain
 * some of them, if the connection broke before their outcome. All writes but increments are
 * idempotent. For an increment, the stamp of the site's sum shows whether it is included.
 */

import type { IncrementEdit, Stamp, UploadOperation } from "@bigpeer/protocol";
import { deltaOf, findNode } from "../crdt/edit.ts";
import { isStub } from "../crdt/evict.ts";
import { merge } from "../crdt/merge.ts";
import { counterOf, type DocumentState, EMPTY_STATE } from "../crdt/state.ts";

export interface PendingWrite {
  readonly stamp: Stamp;
  readonly operation: UploadOperation;
}

/** Applies the pending writes of one document, in order, over its confirmed state (S34). */
export function pendingOver(
  confirmed: DocumentState,
  writes: readonly PendingWrite[],
): DocumentState {
  let state = confirmed;
  for (const { stamp, operation } of writes) {
    const left = withoutCounted(confirmed, operation, stamp);
    // As a server applies the write of another site, which has seen nothing of a stub.
    const isUnseen = isStub(state) || left.kind === "initial";
    const delta = deltaOf(isUnseen ? EMPTY_STATE : state, left, stamp);
    if (delta !== undefined) state = merge(state, delta);
  }
  return state;
}

/** The operation without increments that the sums of the confirmed state include. */
function withoutCounted(
  confirmed: DocumentState,
  operation: UploadOperation,
  stamp: Stamp,
): UploadOperation {
  if (operation.kind !== "update") return operation;
  const edits = operation.edits.filter(
    (edit) => edit.kind !== "increment" || !isCounted(confirmed, edit, stamp),
  );
  return edits.length === operation.edits.length ? operation : { ...operation, edits };
}

/** Whether a sum of the site is as new as the increment, and so includes it. */
function isCounted(confirmed: DocumentState, edit: IncrementEdit, stamp: Stamp): boolean {
  const { node } = findNode(confirmed, edit.path);
  const [time, site] = edit.birth ?? [];
  const adds = counterOf(node, edit.counter ?? "counter")?.adds ?? [];
  return adds.some(
    (add) =>
      add.birth.time === time &&
      add.birth.site === site &&
      add.stamp.site === stamp.site &&
      add.stamp.time >= stamp.time,
  );
}
