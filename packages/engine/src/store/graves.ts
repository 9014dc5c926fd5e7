/**
 * Tombstones: finds documents whose floor (delete or UNSET) a horizon may collect.
 */

import type { Reader } from "../platform.ts";
import { type GraveKey, graveRange, metaKey, readGraveKey } from "./keys.ts";
import { readMetaRecord } from "./records.ts";

/**
 * Documents with a floor at or below `time`. Skips a document whose last change is still in the
 * log: a peer behind that change would miss what the floor ended.
 */
export function* collectableGraves(
  reader: Reader,
  time: number,
  floor: number,
  limit: number,
): Iterable<GraveKey> {
  let found = 0;
  for (const key of reader.keys(graveRange(time))) {
    const grave = readGraveKey(key);
    const record = reader.get(metaKey(grave.collection, grave.idKey));
    if (record === undefined || readMetaRecord(record).version > floor) continue;
    yield grave;
    if (++found === limit) return;
  }
}
