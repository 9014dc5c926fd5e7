/**
 * Told settings: the settings as one caller sees them. What names collections names only those that he
 * has a rule for.
 */

import { isObject, setField, type Value, type ValueObject } from "@bigpeer/protocol";
import type { DocumentView } from "../frame/document-view.ts";

interface Caller {
  readonly view: Pick<DocumentView, "collectionNumber">;
  /** Undefined for a caller who may not read all of it. */
  readonly store: unknown;
}

/** `values`: by the names of their parameters. */
export function toldSettings(values: ValueObject, { view, store }: Caller): ValueObject {
  const scopes = values["user_collection_sync_scopes"];
  if (store !== undefined || !isObject(scopes)) return values;
  const told: { [collection: string]: Value } = {};
  for (const [collection, scope] of Object.entries(scopes)) {
    if (view.collectionNumber(collection) !== undefined) setField(told, collection, scope);
  }
  return { ...values, user_collection_sync_scopes: told };
}
