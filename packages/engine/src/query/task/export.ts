/**
 * Export: hands out all documents of a collection that the caller may read, as of one transaction,
 * in the order of their ids. Nothing is held in memory: the receiver may let it wait.
 *
 * It runs in time slices on one snapshot, which it renews as long as it goes forward. A receiver that
 * keeps it waiting for a minute ends the snapshot, so it must not wait for a slow client.
 */

import { waitFor } from "../../steps.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { StoredDocument } from "../../store/view.ts";
import { checkCollectionName, refuseUnknown } from "../command/known-collection.ts";
import { located } from "../fault.ts";
import { Budget } from "../frame/budget.ts";
import { Pace } from "../frame/pace.ts";
import type { Steps } from "../frame/steps.ts";
import type { ExportRequest, ExportResult } from "../request.ts";
import type { RunnerContext } from "./runner-context.ts";

export async function exportDocuments(
  request: ExportRequest,
  context: RunnerContext,
): Promise<ExportResult> {
  const { collection, authority, isUnknownRefused } = request;
  checkCollectionName(collection, "collection");
  if (authority !== undefined) {
    located("", () => authority.require([{ kind: "read", collection }]));
  }
  const { elapsed, limits, appId, platform, slicer } = context;
  const budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: limits.bytes });
  const snapshot = context.store.snapshot();
  let isHeld = false;
  try {
    const { txnId } = snapshot;
    if (isUnknownRefused === true && authority?.isReadingAll !== false) {
      refuseUnknown(snapshot, collection);
    }
    const run = { args: {}, platform, budget, request: { id: "", appId, startMs: platform.now() } };
    const view = authority === undefined ? snapshot : authority.checker(run).narrow(snapshot);
    const steps = handOut(view.scan(collection), request, { budget, snapshot });
    isHeld = true;
    const count = await slicer.take(steps, budget, snapshot, request.owner);
    return { count, transactionId: txnId };
  } finally {
    if (!isHeld) snapshot.close();
  }
}

function* handOut(
  documents: Iterable<StoredDocument | undefined>,
  { onDocument }: ExportRequest,
  { budget, snapshot }: { readonly budget: Budget; readonly snapshot: StoreSnapshot },
): Steps<number> {
  const pace = new Pace(budget);
  let count = 0;
  for (const document of documents) {
    budget.step();
    if (document !== undefined) {
      count++;
      const full = onDocument(document);
      if (full !== undefined) yield* waitFor(full);
    }
    if (!pace.isPauseDue()) continue;
    snapshot.renew();
    yield;
  }
  return count;
}
