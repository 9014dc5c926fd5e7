/**
 * Known collections: the data API rejects the name of a collection that never had a document or an
 * index, because it is most likely a typo. A collection is known as of the state that the request
 * reads.
 */

import { NAME_SIZE_MAX, PeerError } from "@bigpeer/protocol";
import type { DocumentView } from "../frame/document-view.ts";
import { nearestCollection } from "../frame/near-collection.ts";
import { cutName } from "../unknown-name.ts";

/** Throws for a name that no collection can have: it does not fit into a storage key. */
export function checkCollectionName(name: string, at: string): void {
  if (name !== "" && name.length <= NAME_SIZE_MAX && name.isWellFormed()) return;
  const expected = `the name of a collection, text of at most ${NAME_SIZE_MAX} characters`;
  throw new PeerError("value.invalid", `expected ${expected}`, { at });
}

export function refuseUnknown(view: DocumentView, name: string, at?: string): void {
  if (view.collectionNumber(name) === undefined) throw unknownCollection(view, name, at);
}

function unknownCollection(view: DocumentView, name: string, at: string | undefined): PeerError {
  const near = nearestCollection(view, name);
  const hint = near === undefined ? undefined : `did you mean ${quoted(near)}?`;
  const message = `unknown collection ${quoted(name)}`;
  return new PeerError("query.collection", message, { ...(at !== undefined && { at }), hint });
}

function quoted(name: string): string {
  return `"${cutName(name)}"`;
}
