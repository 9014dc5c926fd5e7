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

/** What one look at the log shows. */
type Look =
  | LogStart
  /** The log ends before the position of the storage. */
  | { readonly kind: "shorter"; readonly sequence: number; readonly end: number };

export interface LogStartHost {
  readonly log: SharedLog;
  readonly platform: Pick<Platform, "sha256">;
  /** As in decodeEntry. */
  readonly newestFormat?: number | undefined;
}

/** With waits of up to a second, about ten seconds: NATS takes up to nine to settle a new leader. */
const LOOKS_MAX = 15;

/**
 * As findStart, for a storage that is being opened. A leader of the log that has just begun may not
 * know its last entries yet: a log that seems to end before the position, or to be empty though it
 * must not be, is looked at again for some seconds. `wait` resolves after some time, longer after
 * more attempts in a row.
 */
export async function awaitStart(
  host: LogStartHost & { readonly wait: (attempt: number) => Promise<void> },
  position: LogPosition | undefined,
  isEmptyAllowed: boolean,
): Promise<LogStart> {
  for (let attempt = 1; ; attempt++) {
    const found = await look(host, position);
    const isDoubtful = found.kind === "shorter" || (found.kind === "new" && !isEmptyAllowed);
    if (!isDoubtful || attempt >= LOOKS_MAX) return startOf(found);
    await host.wait(attempt);
  }
}

/**
 * Rejects with `store.corrupt` if the storage is not of this log, or the log has lost entries, as
 * `SharedLog.next` if the log cannot be reached, and as decodeEntry.
 */
export async function findStart(
  host: LogStartHost,
  position: LogPosition | undefined,
): Promise<LogStart> {
  return startOf(await look(host, position));
}

function startOf(found: Look): LogStart {
  if (found.kind !== "shorter") return found;
  const { sequence, end } = found;
  throw lost(`this store has its entries up to ${sequence}, and the log ends at ${end}`);
}

async function look(host: LogStartHost, position: LogPosition | undefined): Promise<Look> {
  if (position !== undefined) return lookAt(host, position);
  const { log, platform, newestFormat } = host;
  const first = await log.next(0);
  if (first === undefined) return { kind: "new" };
  const { content } = decodeEntry(first.bytes, newestFormat);
  if (content.kind !== "history" || content.txnId > 0) return { kind: "forgotten" };
  const chain = new LogChain(platform, LOG_START, newestFormat);
  finish(chain.take(first.sequence, first.bytes));
  return { kind: "beginning", history: content, position: chain.last };
}

async function lookAt(host: LogStartHost, position: LogPosition): Promise<Look> {
  const { log, platform, newestFormat } = host;
  const { sequence, digest } = position;
  const found = await log.next(sequence - 1);
  if (found === undefined) {
    const end = await log.end();
    // The log may have been extended meanwhile.
    if (end >= sequence) return lookAt(host, position);
    return { kind: "shorter", sequence, end };
  }
  if (found.sequence === sequence) {
    if (isSameDigest(platform.sha256(found.bytes), digest)) return { kind: "continued", position };
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
