/**
 * Attachments in a view: what a store knows of the contents that are kept beside it, and which
 * documents refer to them. Only stores that keep contents need it.
 */

import { ATTACHMENT_ID_SIZE_MAX, idOfKey, TIME_MAX, type Value } from "@bigpeer/protocol";
import {
  attachmentKey,
  attachmentOfKey,
  attachmentRange,
  COLLECTIONS,
  orphanRange,
  readOrphanKey,
  readReferenceKey,
  referenceRange,
  referencesBehind,
  referencesFrom,
} from "./keys.ts";
import type { AttachmentRecord } from "./records.ts";
import { nameOfKey, type View } from "./view.ts";

export interface StoredAttachment {
  readonly len: number;
  /** The last few uploaders. */
  readonly by: readonly string[];
  /** Whether no document refers to it. */
  readonly isOrphan: boolean;
}

export interface AttachmentReference {
  readonly collection: string;
  readonly id: Value;
}

export interface OrphanedAttachment {
  readonly id: string;
  /** Since when no document refers to it. */
  readonly time: number;
}

/** The record of an attachment that is kept beside the store; undefined when there is none. */
export function attachmentOf({ reader }: View, id: string): StoredAttachment | undefined {
  const record = hasRoomInKey(id) ? reader.get(attachmentKey(id)) : undefined;
  if (record === undefined) return undefined;
  const { len, by, orphanedAt } = record as AttachmentRecord;
  return { len, by, isOrphan: orphanedAt !== undefined };
}

/** The documents that refer to an attachment, even if its content is not here. */
export function* attachmentReferences(
  { reader }: View,
  id: string,
  limit: number = Number.POSITIVE_INFINITY,
): Iterable<AttachmentReference> {
  if (limit <= 0 || !hasRoomInKey(id)) return;
  const names = new Map<number, string>();
  for (const { key, value } of reader.entries(COLLECTIONS)) {
    names.set(value as number, nameOfKey(key));
  }
  let found = 0;
  for (const key of reader.keys(referenceRange(id))) {
    const { collection, idKey } = readReferenceKey(key);
    yield { collection: names.get(collection) ?? "", id: idOfKey(idKey) };
    if (++found >= limit) return;
  }
}

/** Whether a document of one of these collections refers to an attachment. */
export function isReferredFrom(view: View, id: string, collections: Iterable<string>): boolean {
  if (!hasRoomInKey(id)) return false;
  for (const collection of collections) {
    const number = view.collectionNumber(collection);
    if (number === undefined) continue;
    for (const _ of view.reader.keys(referencesFrom(id, number))) return true;
  }
  return false;
}

/** Attachments that documents refer to, here or not, after `after`, in the order of ids. */
export function* referredAttachments(view: View, after?: string): Iterable<string> {
  let last = firstReferred(view, after);
  while (last !== undefined) {
    yield last;
    last = firstReferred(view, last);
  }
}

/** One lookup for each attachment: it may have very many references, which are skipped. */
function firstReferred({ reader }: View, after: string | undefined): string | undefined {
  for (const key of reader.keys(referencesBehind(after))) {
    return readReferenceKey(key).attachment;
  }
  return undefined;
}

/** Attachments without a reference since a time at or before `upToTime`, oldest first. */
export function orphanedAttachments(
  { reader }: View,
  upToTime: number,
  limit: number,
): OrphanedAttachment[] {
  const orphans: OrphanedAttachment[] = [];
  if (upToTime < 0 || limit <= 0) return orphans;
  for (const key of reader.keys(orphanRange(Math.min(upToTime, TIME_MAX)))) {
    const { attachment, time } = readOrphanKey(key);
    orphans.push({ id: attachment, time });
    if (orphans.length >= limit) break;
  }
  return orphans;
}

/** All attachments that are kept beside the store, or those after `after`, by id. */
export function* storedAttachments(
  { reader }: View,
  after?: string,
): Iterable<{ readonly id: string; readonly len: number }> {
  for (const { key, value } of reader.entries(attachmentRange(after))) {
    yield { id: attachmentOfKey(key), len: (value as AttachmentRecord).len };
  }
}

/** Whether a record or reference of it can exist: a longer id might not fit a key. */
function hasRoomInKey(id: string): boolean {
  return id.length <= ATTACHMENT_ID_SIZE_MAX;
}
