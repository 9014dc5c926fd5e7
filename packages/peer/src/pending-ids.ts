/**
 * Pending ids: the documents of a result that have writes which the server has not answered.
 *
 * A row belongs to the document whose id is its field `_id`. Rows without that field, such as those
 * of GROUP BY, belong to none.
 */

import { documentId, isObject, PeerError, type Value } from "@bigpeer/protocol";

/** The documents with pending writes, followed from commit to commit. */
export interface PendingIds {
  /** Follows the store to its current state. Returns whether a write came or was answered. */
  refresh(): boolean;
  readonly isEmpty: boolean;
  has(collection: string, idKey: string): boolean;
}

/** The ids in the order of the rows, each once. */
export function pendingIdsIn(
  rows: readonly Value[],
  collections: readonly string[],
  pending: PendingIds,
): readonly Value[] {
  if (pending.isEmpty) return [];
  const found = new Map<string, Value>();
  for (const row of rows) {
    const id = isObject(row) ? row["_id"] : undefined;
    const key = id === undefined ? undefined : keyOf(id);
    if (key === undefined || found.has(key)) continue;
    if (collections.some((name) => pending.has(name, key))) found.set(key, id as Value);
  }
  return [...found.values()];
}

/** Undefined for a value that is no id: a query can name any value `_id`. */
function keyOf(id: Value): string | undefined {
  try {
    return documentId(id).key;
  } catch (error) {
    if (error instanceof PeerError) return undefined;
    throw error;
  }
}
