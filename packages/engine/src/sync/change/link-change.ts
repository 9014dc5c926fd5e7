/**
 * Link changes: the rules for changes that are sent to another Big Peer instead of a small peer.
 *
 * The follower keeps the documents and has followers of its own. So it gets each deletion of a
 * collection (S51), and does not get back its own changes (S53).
 */

import { type DocumentEntry, NONE, type Value } from "@bigpeer/protocol";
import { EMPTY_STATE } from "../../crdt/state.ts";
import { decodeState, META_HEAD } from "../../crdt/state-codec.ts";
import { partsOf } from "../../crdt/state-parts.ts";
import { imageBefore } from "../../store/change-log.ts";
import type { MetaRecord } from "../../store/records.ts";
import type { StoredDocument } from "../../store/view.ts";
import type { WindowDocument } from "../log/change-window.ts";
import type { Groups } from "../stream/groups.ts";
import type { StreamGroup } from "../stream/stream.ts";

/** Whether metadata belong to a visible document. */
export function isAlive({ bytes, offset }: MetaRecord): boolean {
  return ((bytes[offset] ?? 0) & META_HEAD.alive) !== 0;
}

/**
 * Entry of a deletion, without content; undefined if the document is only no longer held here. A
 * document that INITIAL ever seeded keeps that mark, so that it is not seeded again (D24).
 */
export function tombstoneEntry(id: Value, meta: MetaRecord | undefined): DocumentEntry | undefined {
  if (meta === undefined || isAlive(meta)) return undefined;
  const { dead, seeded } = decodeState(undefined, meta.bytes, meta.offset);
  if (dead === NONE) return undefined;
  const { version } = meta;
  if (!seeded) return ["deleted", id, version, dead.time, dead.site];
  return ["left", id, version, partsOf({ ...EMPTY_STATE, dead, seeded })];
}

/** Whether all changes of a document after a transaction came from the follower. */
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
 * Whether the follower has the current state, because all changes since came from it (S53). A
 * document that existed here before must also have been sent to it then.
 */
export function isEcho(
  group: StreamGroup,
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
