/**
 * Comparison: the answers to what a peer wants as a whole, because it does not hold it in the version
 * that it was told of (S13, S18).
 */

import { type DocumentEntry, documentId, type Value } from "@bigpeer/protocol";
import type { Steps } from "../query/frame/steps.ts";
import { approximateSize, type MetaRecord } from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";
import type { StoredDocument } from "../store/view.ts";
import { metaOf, wholeEntry } from "./document-news.ts";
import { tombstoneEntry } from "./link-news.ts";
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
 * peer made up tells it nothing. What matches and was changed since the stream was told of it is left
 * to the catch-up: if it came to match only since, and soon matches no more, nobody would know that
 * the peer holds it.
 */
export function* readWanted(
  stream: Stream,
  snapshot: StoreSnapshot,
  { groups, limits }: StreamHost,
): Steps<Answers> {
  const { wants = [], group } = stream;
  const entries: DocumentEntry[] = [];
  let bytes = 0;
  let count = 0;
  for (const wanted of wants.slice(0, limits.pieceDocuments)) {
    count++;
    const { id, key } = documentId(wanted);
    const document = snapshot.getByKey(group.collection, key);
    const isMatching = document !== undefined && groups.index.matches(group.entry, document);
    if (group.follower !== undefined) {
      entries.push(linkAnswer(id, document, isMatching, metaOf(snapshot, group.collection, key)));
      bytes += approximateSize(document?.fields ?? null);
    } else if (!isMatching) {
      entries.push(["drop", id]);
    } else {
      const meta = metaOf(snapshot, group.collection, key);
      if (isStillToTell(stream, key, meta)) continue;
      entries.push(wholeEntry("put", document, meta));
      bytes += approximateSize(document.fields) + (meta?.bytes.length ?? 0);
    }
    if (bytes >= limits.frameBytes) break;
    yield;
  }
  return { entries, count, bytes };
}

/** A link holds it, and has not been told how it stopped matching: it is told what it is now (S51). */
function linkAnswer(
  id: Value,
  document: StoredDocument | undefined,
  isMatching: boolean,
  meta: MetaRecord | undefined,
): DocumentEntry {
  if (document !== undefined) return wholeEntry(isMatching ? "put" : "left", document, meta);
  return tombstoneEntry(id, meta) ?? ["drop", id];
}

/** Whether a catch-up is going to tell of the document. */
function isStillToTell(
  { phase, told }: Stream,
  idKey: string,
  meta: MetaRecord | undefined,
): boolean {
  const at = phase === "live" ? undefined : told?.at(idKey);
  return at !== undefined && meta !== undefined && meta.version > at;
}
