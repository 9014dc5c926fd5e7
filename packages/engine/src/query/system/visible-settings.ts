/**
 * visibleSettings: filters the settings for a caller who may not read the whole store. In
 * `user_collection_sync_scopes` only collections with a read rule of the caller remain.
 */

import { isObject, setField, type Value, type ValueObject } from "@bigpeer/protocol";
import type { DocumentView } from "../frame/document-view.ts";

interface Caller {
  readonly view: Pick<DocumentView, "collectionNumber">;
  /** The store; undefined for a caller who may not read all of it. */
  readonly store: unknown;
}

/** Filters `values`, which are by parameter name. */
export function visibleSettings(values: ValueObject, { view, store }: Caller): ValueObject {
  const scopes = values["user_collection_sync_scopes"];
  if (store !== undefined || !isObject(scopes)) return values;
  const visible: { [collection: string]: Value } = {};
  for (const [collection, scope] of Object.entries(scopes)) {
    if (view.collectionNumber(collection) !== undefined) setField(visible, collection, scope);
  }
  return { ...values, user_collection_sync_scopes: visible };
}
