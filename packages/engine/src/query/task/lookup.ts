/**
 * Lookups: reads of one document or attachment by its id, as far as the caller may see it. They are
 * so fast that they have no deadline of their own and are not recorded as requests.
 */

import { checkCollectionName, refuseUnknown } from "../command/known-collection.ts";
import { idAt } from "../command/place.ts";
import { located } from "../fault.ts";
import { Budget, inTime } from "../frame/budget.ts";
import type { Run } from "../frame/frame.ts";
import type { Authority } from "../permission/authority.ts";
import type { PermissionChecker } from "../permission/permission-checker.ts";
import type { FindByIdRequest, FindByIdResult } from "../request.ts";
import type { RunnerContext } from "./runner-context.ts";

export function findById(request: FindByIdRequest, context: RunnerContext): FindByIdResult {
  const { collection, id, isUnknownRefused, authority } = request;
  checkCollectionName(collection, "collection");
  if (authority !== undefined) {
    located("", () => authority.require([{ kind: "read", collection }]));
    if (!authority.isReadingAll) return findReadable(request, authority, context);
  }
  const wanted = idAt(id, "id");
  const snapshot = context.store.snapshot();
  try {
    const number = snapshot.collectionNumber(collection);
    if (number === undefined && isUnknownRefused === true) refuseUnknown(snapshot, collection);
    const shown = number === undefined ? undefined : snapshot.shownByKey(number, wanted.key);
    const document = shown && { id: wanted.id, fields: shown.fields, types: shown.types };
    return { id: wanted.id, document, transactionId: snapshot.txnId };
  } finally {
    snapshot.close();
  }
}

/** The collection counts as known: the caller has a rule for it. */
function findReadable(
  { collection, id }: FindByIdRequest,
  authority: Authority,
  context: RunnerContext,
): FindByIdResult {
  const wanted = idAt(id, "id");
  const { checker } = checking(authority, context);
  const snapshot = context.store.snapshot();
  try {
    const view = checker.narrow(snapshot);
    // An error would reveal that there is a document.
    const document = inTime(() => view.get(collection, wanted.id));
    return { id: wanted.id, document, transactionId: snapshot.txnId };
  } finally {
    snapshot.close();
  }
}

/**
 * Whether the caller uploaded the content, or may read a document that refers to it. A promise only
 * when there are many documents to check.
 */
export function mayReadAttachment(
  id: string,
  authority: Authority | undefined,
  context: RunnerContext,
): boolean | Promise<boolean> {
  if (authority === undefined || authority.isReadingAll) return true;
  const { checker, budget } = checking(authority, context);
  const snapshot = context.store.snapshot();
  const steps = checker.checkAttachment(id, snapshot);
  return context.slicer.take(steps, budget, snapshot, authority.credential);
}

/** A permission checker without a request in the history. */
function checking(
  authority: Authority,
  { limits, elapsed, appId, platform }: RunnerContext,
): { checker: PermissionChecker; budget: Budget } {
  const budget = new Budget({ elapsed, timeMsMax: limits.timeMs, bytesMax: limits.bytes });
  const request = { id: "", appId, startMs: platform.now() };
  const run: Run = { args: {}, platform, budget, request };
  return { checker: authority.checker(run), budget };
}
