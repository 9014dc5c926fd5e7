/**
 * Presence frames: encodes `presence` messages from peers that are already encoded, so that a peer
 * is encoded once for all watchers.
 */

import { ByteWriter, encodeCbor } from "@bigpeer/protocol";
import { writeArrayHead } from "../outbox/frame.ts";

const MAP = 0xa0;
const T = encodeCbor("t");
const PRESENCE = encodeCbor("presence");
const IS_WHOLE = encodeCbor("isWhole");
const TRUE = encodeCbor(true);
const TOTAL = encodeCbor("total");
const PEERS = encodeCbor("peers");
const GONE = encodeCbor("gone");

/** Shared by all, because encoding is synchronous. */
const scratch = new ByteWriter(64 * 1024);

export interface PresenceContent {
  readonly isWhole: boolean;
  readonly total: number;
  /** Encoded peers. */
  readonly peers: readonly Uint8Array[];
  readonly gone: readonly number[];
}

export function presenceFrame({ isWhole, total, peers, gone }: PresenceContent): Uint8Array {
  scratch.reset();
  scratch.byte(MAP | (isWhole ? 5 : 4));
  scratch.raw(T);
  scratch.raw(PRESENCE);
  if (isWhole) {
    scratch.raw(IS_WHOLE);
    scratch.raw(TRUE);
  }
  scratch.raw(TOTAL);
  scratch.raw(encodeCbor(total));
  scratch.raw(PEERS);
  writeArrayHead(scratch, peers.length);
  for (const peer of peers) scratch.raw(peer);
  scratch.raw(GONE);
  scratch.raw(encodeCbor(gone));
  return scratch.finish();
}
