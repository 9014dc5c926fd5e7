/**
 * A small peer and the store of a server, in one process and without a session between them: the test
 * carries each document, upload and outcome across by hand, so that it decides what comes when.
 */

import type { DocumentEntry, Operation, Outcome, Value } from "@bigpeer/protocol";
import { isShown } from "../../src/crdt/show.ts";
import { partsOf } from "../../src/crdt/state-parts.ts";
import { PeerStore } from "../../src/peer/peer-store.ts";
import type { OwnUpload } from "../../src/peer/sequenced-upload.ts";
import { type Crash, MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { UploadOutcome } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { openStore } from "./open-store.ts";
import { type TestPlatform, testPlatform } from "./test-platform.ts";

export const APP = "app";
export const RIGHTS = new Uint8Array([1]);
export const FILTER = new Uint8Array(16).fill(7);
export const ALL = "SELECT * FROM c";

export interface PeerPair {
  readonly server: Store;
  readonly platform: TestPlatform;
  readonly disk: MemoryDisk;
  peer: PeerStore;
  storage: MemoryKeyValue;
}

export async function peerPair(seed = 1): Promise<PeerPair> {
  const { store: server } = await openStore({}, testPlatform(seed + 1000));
  const platform = testPlatform(seed);
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  const peer = await PeerStore.open(storage, platform, { appId: APP });
  const pair = { server, platform, disk, peer, storage };
  await welcome(pair);
  return pair;
}

export async function welcome(
  { peer, server }: Pick<PeerPair, "peer" | "server">,
  rights = RIGHTS,
  offsetMs = 0,
): Promise<void> {
  await peer.welcome({ history: server.identity.historyId, app: APP, rights, offsetMs });
}

/** The peer writes, in one transaction. Returns the number of it. */
export async function write(
  { peer }: Pick<PeerPair, "peer">,
  ...operations: Operation[]
): Promise<number> {
  const { txnId } = await peer.store.transact((transaction) => transaction.apply(operations));
  return txnId;
}

/** Somebody else writes at the server, in one transaction. */
export async function serverWrite(
  { server }: Pick<PeerPair, "server">,
  ...operations: Operation[]
): Promise<void> {
  await server.transact((transaction) => transaction.apply(operations));
}

/** The counter `k` of a document, as the server has it. */
export function counterAt({ server }: Pick<PeerPair, "server">, id = "a"): Value | undefined {
  return server.read((snapshot) => snapshot.get("c", id)?.fields["k"]);
}

/** Opens the peer again on its disk, with or without a word of farewell. */
export async function reopen(pair: PeerPair, { isCrash = false } = {}): Promise<void> {
  if (isCrash) pair.disk.crash();
  else await pair.peer.close();
  pair.storage = new MemoryKeyValue(pair.disk);
  pair.peer = await PeerStore.open(pair.storage, pair.platform, { appId: APP });
}

/** Lets `count` held commits reach the disk. False when no other one waits behind them. */
export async function syncUpTo({ disk }: PeerPair, count: number): Promise<boolean> {
  for (let synced = 0, idle = 0; idle < 20; ) {
    await new Promise(setImmediate);
    idle++;
    if (disk.unsyncedCount === 0) continue;
    idle = 0;
    if (synced === count) return true;
    disk.syncNext();
    synced++;
  }
  return false;
}

/** Lets `count` held commits reach the disk, then takes the power. False when there were no more. */
export async function crashAfter(
  pair: PeerPair,
  count: number,
  crash: Crash = {},
): Promise<boolean> {
  if (!(await syncUpTo(pair, count))) return false;
  pair.disk.crash(crash);
  pair.disk.releaseSyncs();
  return true;
}

/** Lets `count` commits of `work` reach the disk, and the next one fail. False when there were no more. */
export async function failAfter(
  pair: PeerPair,
  count: number,
  work: () => Promise<unknown>,
): Promise<boolean> {
  const { disk } = pair;
  disk.holdSyncs();
  if (count === 0) disk.failNextWrite("store.full");
  const isFailed = work().then(
    () => false,
    () => true,
  );
  // The last but that one waits: what is written next comes behind it.
  if (count > 0 && (await syncUpTo(pair, count - 1))) disk.failNextWrite("store.full");
  disk.releaseSyncs();
  const found = await isFailed;
  disk.failNextWrite(undefined);
  return found;
}

/** A document of the server as it comes to a peer that may read all and follows all. */
export function entryOf(server: Store, collection: string, id: Value): DocumentEntry {
  return server.read((snapshot): DocumentEntry => {
    const { state, version } = snapshot.state(collection, id);
    if (isShown(state)) return ["put", id, version, partsOf(state)];
    if (version === 0) return ["drop", id];
    return ["deleted", id, version, state.dead.time, state.dead.site];
  });
}

/** Sends documents of a subscription to the peer, with what the server has now. */
export async function send(pair: PeerPair, key: string, ...ids: Value[]): Promise<void> {
  const entries = ids.map((id) => entryOf(pair.server, "c", id));
  const parts = [{ subscription: key, entries }];
  await pair.peer.apply({ parts, outcomes: [], committed: pair.server.txnId });
}

/** The answer of the server to an upload, with the documents that it wrote. */
export async function upload(
  { server }: Pick<PeerPair, "server">,
  sequenced: OwnUpload,
): Promise<Outcome> {
  const { site, number, digest, steps } = sequenced;
  const answer = await takeUpload(server, { site, number, digest, steps });
  if (answer.kind !== "taken") throw new Error(`the upload is ${answer.kind}`);
  const { txnId, outcome, reason } = answer.record;
  const documents = answer.documents.map(
    ({ collection, id }) => [collection, entryOf(server, collection, id)] as const,
  );
  return { site, number, kind: outcome, txn: txnId, reason, documents };
}

/** An outcome that the server would give for reasons of its own. */
export function outcomeOf(
  { site, number }: OwnUpload,
  kind: UploadOutcome,
  txn: number,
  reason = "",
): Outcome {
  return { site, number, kind, txn, reason, documents: [] };
}

export async function take(
  { peer, server }: Pick<PeerPair, "peer" | "server">,
  ...outcomes: Outcome[]
): Promise<void> {
  await peer.apply({ parts: [], outcomes, committed: server.txnId });
}

/** Uploads all that is pending, and takes the outcomes. */
export async function uploadAll(pair: PeerPair, offsetMs = 0): Promise<void> {
  await pair.peer.sequence(offsetMs, 1000);
  const outcomes: Outcome[] = [];
  for (const sequenced of pair.peer.sequenced()) outcomes.push(await upload(pair, sequenced));
  await take(pair, ...outcomes);
}
