/**
 * Log start: compares a storage with the log of its app before the storage follows it.
 *
 * The last entry of a log is never trimmed, and every entry has the digest of the one before. This
 * shows whether the position of a storage is in this log, unless too much was trimmed.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { finish } from "../steps.ts";
import { LOG_START, LogChain, type LogPosition } from "./log-chain.ts";
import { decodeEntry, type EntryContent, isSameDigest } from "./log-entry.ts";
import type { SharedLog } from "./shared-log.ts";

export type LogHistory = Extract<EntryContent, { kind: "history" }>;

export type LogStart =
  /** Neither the storage nor the log has anything. */
  | { readonly kind: "new" }
  /** The log begins with this entry, and the storage has nothing. */
  | { readonly kind: "beginning"; readonly history: LogHistory; readonly position: LogPosition }
  /** The storage continues where it was. */
  | { readonly kind: "continued"; readonly position: LogPosition }
  /** The log has forgotten entries that the storage needs: it must begin with a copy of another. */
  | { readonly kind: "forgotten" };

/**
 * Rejects with `store.corrupt` if the storage is not of this log, or the log has lost entries, as
 * `SharedLog.next` if the log cannot be reached, and as decodeEntry.
 */
export async function findStart(
  log: SharedLog,
  platform: Pick<Platform, "sha256">,
  position: LogPosition | undefined,
  newestFormat?: number,
): Promise<LogStart> {
  if (position !== undefined) return startAt(log, platform, position, newestFormat);
  const first = await log.next(0);
  if (first === undefined) return { kind: "new" };
  const { content } = decodeEntry(first.bytes, newestFormat);
  if (content.kind !== "history" || content.txnId > 0) return { kind: "forgotten" };
  const chain = new LogChain(platform, LOG_START, newestFormat);
  finish(chain.take(first.sequence, first.bytes));
  return { kind: "beginning", history: content, position: chain.last };
}

async function startAt(
  log: SharedLog,
  { sha256 }: Pick<Platform, "sha256">,
  position: LogPosition,
  newestFormat: number | undefined,
): Promise<LogStart> {
  const { sequence, digest } = position;
  const found = await log.next(sequence - 1);
  if (found === undefined) {
    const end = await log.end();
    // The log may have been extended meanwhile.
    if (end >= sequence) return startAt(log, { sha256 }, position, newestFormat);
    throw lost(`this store has its entries up to ${sequence}, and the log ends at ${end}`);
  }
  if (found.sequence === sequence) {
    if (isSameDigest(sha256(found.bytes), digest)) return { kind: "continued", position };
    throw lost(`entry ${sequence} is another than the one in this store`);
  }
  const { previous } = decodeEntry(found.bytes, newestFormat);
  return isSameDigest(previous, digest) ? { kind: "continued", position } : { kind: "forgotten" };
}

function lost(reason: string): PeerError {
  const message = `expected the log of the cluster that this store has followed: ${reason}`;
  const hint = "see docs/cluster.md, When the log has lost entries";
  return new PeerError("store.corrupt", message, { hint });
}
