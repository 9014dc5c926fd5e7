/**
 * Pending view: what shows of a document with own writes that a server has not answered yet.
 *
 * The writes are applied over the confirmed state as the server will apply them. The confirmed state
 * may have some of them already: it comes before the answer when the connection broke in between. All
 * but increments may be applied twice; of those, the sum of the site says whether it is in there.
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

/** The pending writes of one document, in their order, over its confirmed state (S34). */
export function pendingOver(
  confirmed: DocumentState,
  writes: readonly PendingWrite[],
): DocumentState {
  let state = confirmed;
  for (const { stamp, operation } of writes) {
    const left = withoutCounted(confirmed, operation, stamp);
    // What a server does with the write of another site, which has seen nothing of a stub.
    const isUnseen = isStub(state) || left.kind === "initial";
    const delta = deltaOf(isUnseen ? EMPTY_STATE : state, left, stamp);
    if (delta !== undefined) state = merge(state, delta);
  }
  return state;
}

/** The operation without the increments that are in the sums of the confirmed state. */
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

/** Sums of a site are told apart by their stamps: one as new as the increment has it. */
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
