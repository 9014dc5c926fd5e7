/**
 * DELETE, TOMBSTONE and EVICT: turns selected documents into operations. A delete leaves a
 * tombstone that replicates to other peers; an eviction removes the document only from this store.
 */

import { documentId } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import type { Frame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { MutationOutcome } from "../run/execution.ts";
import type { RemoveStatement } from "../syntax/tree.ts";
import { applyOperations, type MutationContext, transactionOf } from "./application.ts";

export interface RemovePlan {
  readonly collection: string;
  /** The slot of the document in a row. */
  readonly slot: number;
  readonly method: RemoveStatement["method"];
}

export function* removeDocuments(
  plan: RemovePlan,
  rows: readonly Frame[],
  execution: MutationContext,
): Steps<MutationOutcome> {
  const transaction = transactionOf(execution);
  const { collection } = plan;
  const removed = new Map<string, StoredDocument>();
  for (const [i, row] of rows.entries()) {
    if (i > 0) yield;
    execution.run.budget.step();
    const document = row.slots[plan.slot] as StoredDocument;
    const { key } = documentId(document.id);
    // Reads the document, since the removal depends on it; rows may repeat a document.
    if (transaction.get(collection, document.id) !== undefined) removed.set(key, document);
  }
  const documents = [...removed.values()];
  const ids = documents.map(({ id }) => id);
  const kind = plan.method === "evict" ? "evict" : "delete";
  yield* applyOperations(
    ids.map((id) => ({ kind, collection, id })),
    execution,
  );
  return { ids, documents };
}
