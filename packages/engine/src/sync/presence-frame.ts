/**
 * Frames of `presence` as bytes, made from peers that were encoded before: what is told of a peer is
 * encoded once, however many are told of it.
 */

import { ByteWriter, encodeCbor } from "@bigpeer/protocol";
import { writeArrayHead } from "./frame.ts";

const MAP = 0xa0;
const T = encodeCbor("t");
const PRESENCE = encodeCbor("presence");
const IS_WHOLE = encodeCbor("isWhole");
const TRUE = encodeCbor(true);
const TOTAL = encodeCbor("total");
const PEERS = encodeCbor("peers");
const GONE = encodeCbor("gone");

/** One for all: encoding is synchronous. */
const scratch = new ByteWriter(64 * 1024);

export interface PresenceContent {
  readonly isWhole: boolean;
  readonly total: number;
  /** Each as it is encoded. */
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
