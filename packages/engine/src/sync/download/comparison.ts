/**
 * Comparison: answers `want`, with which a peer requests whole documents that it does not hold in
 * the version that the server named (S13, S18).
 */

import { type DocumentEntry, documentId, type Value } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import { approximateSize, type MetaRecord } from "../../store/records.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { StoredDocument } from "../../store/view.ts";
import { metaOf, wholeEntry } from "../change/document-change.ts";
import { tombstoneEntry } from "../change/link-change.ts";
import type { Stream } from "../stream/stream.ts";
import type { StreamContext } from "../stream/stream-context.ts";

export interface Answers {
  readonly entries: readonly DocumentEntry[];
  /** How many of the requested ids are answered, from the first on. */
  readonly count: number;
  readonly bytes: number;
}

/**
 * Reads the answers for one frame. An id that does not match gets `drop` for any reason, so an
 * invented id reveals nothing. A matching document that changed since it was sent is left to the
 * catch-up. If it matches only since then and soon stops, the server would not know that the peer
 * holds it.
 */
export function* readWanted(
  stream: Stream,
  snapshot: StoreSnapshot,
  { groups, limits }: StreamContext,
): Steps<Answers> {
  const { group } = stream;
  const entries: DocumentEntry[] = [];
  let bytes = 0;
  let count = 0;
  for (const wanted of stream.firstWanted(limits.pieceDocuments)) {
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
      if (isStillToSend(stream, key, meta)) continue;
      entries.push(wholeEntry("put", document, meta));
      bytes += approximateSize(document.fields) + (meta?.bytes.length ?? 0);
    }
    if (bytes >= limits.frameBytes) break;
    yield;
  }
  return { entries, count, bytes };
}

/** A link holds the document, but not how it stopped matching: it gets the current state (S51). */
function linkAnswer(
  id: Value,
  document: StoredDocument | undefined,
  isMatching: boolean,
  meta: MetaRecord | undefined,
): DocumentEntry {
  if (document !== undefined) return wholeEntry(isMatching ? "put" : "left", document, meta);
  return tombstoneEntry(id, meta) ?? ["drop", id];
}

/** Whether a catch-up still has to send the document. */
function isStillToSend(stream: Stream, idKey: string, meta: MetaRecord | undefined): boolean {
  const sentTxn = stream.sentTxn(idKey);
  return sentTxn !== undefined && meta !== undefined && meta.version > sentTxn;
}
