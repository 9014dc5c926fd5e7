/**
 * A server that was restored may lack what a peer had uploaded under a site that it has left since. A
 * case that the simulator found.
 */

import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { lastUploadOf } from "../../src/store/taken-upload.ts";
import { openStore } from "../support/open-store.ts";
import { APP, type PeerPair, peerPair, RIGHTS, reopen, uploadAll } from "../support/peer-pair.ts";
import { testPlatform } from "../support/test-platform.ts";

async function write({ peer }: PeerPair, id: string): Promise<void> {
  const insert: Operation = { kind: "insert", collection: "c", id, fields: { n: 1 } };
  await peer.store.transact((transaction) => transaction.apply([insert]));
}

/** A peer that has uploaded under two sites, and a server that has nothing of it. */
async function movedPeer(): Promise<{ pair: PeerPair; former: string }> {
  const pair = await peerPair();
  await write(pair, "a");
  await uploadAll(pair);
  const former = pair.peer.site;
  await write(pair, "b");
  const [second] = await pair.peer.sequence(0, 1);
  await pair.peer.fork(former, second?.number ?? 0);
  await uploadAll(pair);
  const { store: server } = await openStore({}, testPlatform(77));
  return { pair: { ...pair, server }, former };
}

async function greet({ peer, server }: PeerPair): Promise<void> {
  await peer.welcome({ history: server.identity.historyId, app: APP, rights: RIGHTS, offsetMs: 0 });
}

test("[S30] a peer also asks a restored server for its former sites, and offers what the server lacks", async () => {
  const { pair, former } = await movedPeer();
  await greet(pair);
  const { peer, server } = pair;
  expect(await peer.reoffer(peer.site, lastUploadOf(server, peer.site))).toBe(former);
  expect(await peer.reoffer(former, lastUploadOf(server, former))).toBe(undefined);
  expect(peer.sequenced().map(({ site }) => site === former)).toEqual([true, false]);
  await uploadAll(pair);
  const found = server.read((snapshot) => [...snapshot.scanIds("c")]);
  expect(found).toEqual(["a", "b"]);
  // On the next connection everything is known.
  await greet(pair);
  expect(await peer.reoffer(peer.site, lastUploadOf(server, peer.site))).toBe(undefined);
});

test("[S30] an unanswered question is asked again", async () => {
  const { pair, former } = await movedPeer();
  await greet(pair);
  await pair.peer.reoffer(pair.peer.site, 0);
  await reopen(pair, { isCrash: true });
  await greet(pair);
  expect(await pair.peer.reoffer(pair.peer.site, 0)).toBe(former);
});
