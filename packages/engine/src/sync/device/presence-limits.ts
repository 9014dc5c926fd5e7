/**
 * Presence limits: how many peers are listed, and how many bytes the lists and their changes take.
 */

import type { StreamLimits } from "../outbox/stream-limits.ts";

export interface PresenceLimits
  extends Pick<StreamLimits, "frameBytes" | "roomBytes" | "queueBytes"> {
  /** Peers in the list: those that connected first. */
  readonly listedPeers: number;
  /** Bytes of lists, and of changes, that a tick may send to all watchers. */
  readonly listBytes: number;
  readonly changeBytes: number;
  /** Unread bytes of all watchers together; beyond it each gets an equal share. */
  readonly unreadBytes: number;
}

type OwnLimits = Pick<PresenceLimits, "listedPeers" | "listBytes" | "changeBytes" | "unreadBytes">;

export const PRESENCE_LIMITS: OwnLimits = {
  listedPeers: 1000,
  listBytes: 8 * 1024 * 1024,
  changeBytes: 32 * 1024 * 1024,
  unreadBytes: 128 * 1024 * 1024,
};
