/**
 * Comparison: the answers to what a peer wants as a whole, because it does not hold it in the version
 * that it was told of (S13, S18).
 */

import { type DocumentEntry, documentId } from "@bigpeer/protocol";
import type { Steps } from "../query/frame/steps.ts";
import { approximateSize } from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";
import { metaOf, wholeEntry } from "./document-news.ts";
import type { Stream } from "./stream.ts";
import type { StreamHost } from "./stream-host.ts";

export interface Answers {
  readonly entries: readonly DocumentEntry[];
  /** How many of the wanted ids they are for: the first ones. */
  readonly count: number;
  readonly bytes: number;
}

/**
 * As much as one frame takes. What does not match, whatever the reason, is dropped: so an id that a
 * peer made up tells it nothing.
 */
export function* readWanted(
  { wants = [], group }: Stream,
  snapshot: StoreSnapshot,
  { groups, limits }: StreamHost,
): Steps<Answers> {
  const entries: DocumentEntry[] = [];
  let bytes = 0;
  for (const wanted of wants.slice(0, limits.pieceDocuments)) {
    const { id, key } = documentId(wanted);
    const document = snapshot.getByKey(group.collection, key);
    if (document === undefined || !groups.index.matches(group.entry, document)) {
      entries.push(["drop", id]);
    } else {
      const meta = metaOf(snapshot, group.collection, key);
      entries.push(wholeEntry("put", document, meta));
      bytes += approximateSize(document.fields) + (meta?.bytes.length ?? 0);
    }
    if (bytes >= limits.frameBytes) break;
    yield;
  }
  return { entries, count: entries.length, bytes };
}
