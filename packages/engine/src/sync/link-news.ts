/**
 * Link news: what another Big Peer that follows documents is told otherwise than a small peer.
 *
 * It keeps what it was sent, and is followed itself. So it hears of each deletion of a collection,
 * whatever the document was (S51), and is not told what it has told us (S53).
 */

import { type DocumentEntry, NONE, type Value } from "@bigpeer/protocol";
import { EMPTY_STATE } from "../crdt/state.ts";
import { decodeState, META_HEAD } from "../crdt/state-codec.ts";
import { partsOf } from "../crdt/state-parts.ts";
import { imageBefore } from "../store/change-log.ts";
import type { MetaRecord } from "../store/records.ts";
import type { StoredDocument } from "../store/view.ts";
import type { WindowDocument } from "./change-window.ts";
import type { Group, Groups } from "./group.ts";

/** Whether metadata are those of a document that shows. */
export function isAlive({ bytes, offset }: MetaRecord): boolean {
  return ((bytes[offset] ?? 0) & META_HEAD.alive) !== 0;
}

/**
 * That a document was deleted, and nothing of what it was. Undefined where it is only no longer held.
 * What was ever seeded says so for ever, or it would be seeded again where the delete is forgotten (D24).
 */
export function tombstoneEntry(id: Value, meta: MetaRecord | undefined): DocumentEntry | undefined {
  if (meta === undefined || isAlive(meta)) return undefined;
  const { dead, seeded } = decodeState(undefined, meta.bytes, meta.offset);
  if (dead === NONE) return undefined;
  const { version } = meta;
  if (!seeded) return ["deleted", id, version, dead.time, dead.site];
  return ["left", id, version, partsOf({ ...EMPTY_STATE, dead, seeded })];
}

/** Whether all that happened to a document after a transaction came from the store that follows. */
export function isFrom(
  follower: string | undefined,
  { changes }: WindowDocument,
  since: number,
): boolean {
  if (follower === undefined) return false;
  for (const { txnId, record } of changes) {
    if (txnId <= since) return true;
    if (record.via !== follower) return false;
  }
  return true;
}

/**
 * Whether a store has all there is to be told of a document, because what is new of it came from there.
 * What was here before, it has only if it was told of it then; else the document is as new to it.
 */
export function isEcho(
  group: Group,
  document: WindowDocument,
  { after, since }: { readonly after: StoredDocument | undefined; readonly since: number },
  { index }: Groups,
): boolean {
  if (!isFrom(group.follower, document, since)) return false;
  let fields = after?.fields;
  let previous = 0;
  for (const change of document.changes) {
    if (change.txnId <= since) break;
    fields = imageBefore(change.before, fields);
    previous = change.previous;
  }
  if (previous === 0) return true;
  const { id } = document;
  return fields !== undefined && index.matches(group.entry, { id, fields, types: undefined });
}
