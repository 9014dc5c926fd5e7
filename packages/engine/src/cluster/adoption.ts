/**
 * Adoption: lets a store that was alone follow a log of a cluster from now on, with its history and
 * its site. The log begins with what the store is; other nodes begin with a copy of it.
 */

import { assert, PeerError } from "@bigpeer/protocol";
import type { Platform, Writes } from "../platform.ts";
import { finish } from "../steps.ts";
import { openIdentity, readIdentity } from "../store/identity.ts";
import { HEAD_KEY } from "../store/keys.ts";
import { type Identity, readHead } from "../store/records.ts";
import { LOG_START, LogChain, type LogPosition } from "./log-chain.ts";
import { decodeEntry, type EntryContent, OLDEST_ENTRY_FORMAT } from "./log-entry.ts";
import { LogWriter } from "./log-writer.ts";
import type { ReplicaStorage } from "./replica-storage.ts";
import type { SharedLog } from "./shared-log.ts";

export interface AdoptionHost {
  readonly log: SharedLog;
  readonly storage: ReplicaStorage;
  readonly platform: Platform;
  readonly node: string;
  readonly wait: (attempt: number) => Promise<void>;
}

const NOTHING: Writes = new Map();

/**
 * Resolves with true when the store follows the log, with false if it did so before. May be repeated
 * after a crash. Rejects with `store.foreign` if the log is that of another store.
 */
export async function adopt(host: AdoptionHost): Promise<boolean> {
  const { storage, platform } = host;
  if (readIdentity(storage) === undefined) {
    throw new PeerError("store.foreign", "expected a store, found none");
  }
  const identity = await openIdentity(storage, platform);
  if (storage.position !== undefined) return false;
  await storage.commitLogged(NOTHING, () => beginLog(host, identity));
  return true;
}

async function beginLog(host: AdoptionHost, identity: Identity): Promise<LogPosition> {
  const { log, storage } = host;
  const { historyId, site } = identity;
  const content: EntryContent = { kind: "history", historyId, site, txnId: txnIdOf(storage) };
  const first = await log.next(0);
  if (first === undefined) {
    // Nothing is known of the versions of the other nodes.
    const writing = { ...host, entryFormat: () => OLDEST_ENTRY_FORMAT };
    return (await LogWriter.begin(writing, LOG_START, content)).last;
  }
  // An earlier attempt crashed before it wrote its position to the disk. No other node follows it yet.
  const found = decodeEntry(first.bytes).content;
  const isOwn = found.kind === "history" && found.historyId === historyId;
  if (isOwn && (await log.next(first.sequence)) === undefined) {
    assert(found.txnId === content.txnId, "a store that was not written to meanwhile");
    const chain = new LogChain(host.platform);
    finish(chain.take(first.sequence, first.bytes));
    return chain.last;
  }
  throw new PeerError("store.foreign", "the cluster has a log for this store already");
}

function txnIdOf(storage: ReplicaStorage): number {
  const snapshot = storage.snapshot();
  try {
    return readHead(snapshot.get(HEAD_KEY)).txnId;
  } finally {
    snapshot.close();
  }
}
