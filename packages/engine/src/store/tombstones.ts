/**
 * Tombstones: finds documents whose floor (delete or UNSET) a horizon may collect.
 */

import type { Reader } from "../platform.ts";
import { metaKey, readTombstoneKey, type TombstoneKey, tombstoneRange } from "./keys.ts";
import { readMetaRecord } from "./records.ts";

/**
 * Documents with a floor at or below `time`. Skips a document whose last change is still in the
 * log: a peer behind that change would miss what the floor ended.
 */
export function* collectableTombstones(
  reader: Reader,
  time: number,
  floor: number,
  limit: number,
): Iterable<TombstoneKey> {
  let found = 0;
  for (const key of reader.keys(tombstoneRange(time))) {
    const tombstone = readTombstoneKey(key);
    const record = reader.get(metaKey(tombstone.collection, tombstone.idKey));
    if (record === undefined || readMetaRecord(record).version > floor) continue;
    yield tombstone;
    if (++found === limit) return;
  }
}
