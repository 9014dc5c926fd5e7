/**
 * Presence of a peer whose store is real, against a server that follows a script: what it says of
 * itself, and when those who watch are told of others.
 */

import type { PresenceMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Presence } from "../../src/peer/session-state.ts";
import { connect, followTasks, peerRig } from "../support/peer-rig.ts";
import { otherPeer } from "../support/peer-session-script.ts";
import { FILTER, until, wholeOf } from "../support/scripted-server.ts";

const OFFLINE: Presence = { isConnected: false, total: 0, peers: [] };

function whole(...sessions: number[]): PresenceMessage {
  const peers = sessions.map(otherPeer);
  return { t: "presence", isWhole: true, total: sessions.length, peers, gone: [] };
}

test("[S40] metadata is sent at once when connected, and again in the next hello", async () => {
  const peer = await peerRig();
  const connection = await connect(peer);
  peer.sync.setMetadata({ room: 1 });
  expect(connection.of("metadata")).toEqual([{ t: "metadata", metadata: { room: 1 } }]);
  peer.server.pass(5000);
  connection.cut();
  const next = await peer.server.accept();
  expect(next.of("hello").map(({ peer: said }) => said.metadata)).toEqual([{ room: 1 }]);
  await peer.sync.close();
});

test("[S40] metadata above 16 KB is refused, and the earlier metadata stays", async () => {
  const peer = await peerRig();
  peer.sync.setMetadata({ room: 1 });
  expect(() => peer.sync.setMetadata({ text: "x".repeat(16 * 1024) })).toThrow(
    "expected at most 16384 bytes of metadata, found 16393",
  );
  const connection = await connect(peer);
  expect(connection.of("hello").map(({ peer: said }) => said.metadata)).toEqual([{ room: 1 }]);
  await peer.sync.close();
});

test("[S41] watchers are notified soon, once for several changes, and not if nothing changed", async () => {
  const peer = await peerRig();
  const reported: Presence[] = [];
  peer.sync.watch((presence) => reported.push(presence));
  expect(reported).toEqual([]);
  peer.server.pass(50);
  expect(reported).toEqual([OFFLINE]);
  const connection = await connect(peer);
  await until(() => connection.of("watch").length === 1);
  connection.say(whole(1), { t: "presence", total: 2, peers: [otherPeer(2)], gone: [] });
  expect(reported).toHaveLength(1);
  peer.server.pass(50);
  const both = { isConnected: true, total: 2, peers: [otherPeer(1), otherPeer(2)] };
  expect(reported.slice(1)).toEqual([both]);
  expect(peer.sync.presence).toEqual(both);
  connection.say({ t: "pong", ping: 1, now: 1 });
  peer.server.pass(50);
  expect(reported).toHaveLength(2);
  await peer.sync.close();
});

test("[S41] a later watcher receives the known list, and the server is not asked again", async () => {
  const peer = await peerRig();
  const connection = await connect(peer);
  const stopFirst = peer.sync.watch(() => undefined);
  connection.say(whole(1));
  peer.server.pass(50);
  const reported: Presence[] = [];
  const stopSecond = peer.sync.watch((presence) => reported.push(presence));
  peer.server.pass(50);
  expect(reported.map(({ total }) => total)).toEqual([1]);
  stopFirst();
  stopFirst();
  expect(connection.of("watch")).toEqual([{ t: "watch", isOn: true }]);
  stopSecond();
  expect(connection.of("watch").map(({ isOn }) => isOn)).toEqual([true, false]);
  expect(peer.sync.presence).toEqual({ isConnected: true, total: 0, peers: [] });
  await peer.sync.close();
});

test("[S41] a watcher that stops receives nothing more, not even a scheduled notification", async () => {
  const peer = await peerRig();
  const reported: Presence[] = [];
  const stop = peer.sync.watch((presence) => reported.push(presence));
  stop();
  peer.server.pass(50);
  const other = peer.sync.watch(() => stopLast());
  const stopLast = peer.sync.watch((presence) => reported.push(presence));
  peer.server.pass(50);
  expect(reported).toEqual([]);
  other();
  expect(peer.server.timerCount).toBe(0);
  await peer.sync.close();
});

test("[S41] the list is empty after the connection ends, and the peer asks again on the next one", async () => {
  const peer = await peerRig();
  const reported: Presence[] = [];
  peer.sync.watch((presence) => reported.push(presence));
  const connection = await connect(peer);
  connection.say(whole(1));
  peer.server.pass(1000);
  connection.cut();
  expect(peer.sync.presence).toEqual(OFFLINE);
  peer.server.pass(50);
  expect(reported.map(({ isConnected, total }) => [isConnected, total])).toEqual([
    [true, 1],
    [false, 0],
  ]);
  const next = await peer.server.accept();
  await until(() => next.of("watch").length === 1);
  next.say(whole(2, 3));
  peer.server.pass(50);
  expect(reported.at(-1)?.peers.map(({ session }) => session)).toEqual([2, 3]);
  await peer.sync.close();
  expect(peer.server.timerCount).toBe(0);
});

test("[S41] a watcher that throws is reported, and the others are notified", async () => {
  const peer = await peerRig();
  const reported: Presence[] = [];
  peer.sync.watch(() => {
    throw new Error("a fault of the app");
  });
  peer.sync.watch((presence) => reported.push(presence));
  peer.server.pass(50);
  expect(reported).toEqual([OFFLINE]);
  expect(peer.events).toEqual([{ kind: "failed", error: new Error("a fault of the app") }]);
  await peer.sync.close();
});

test("[S43] a pong names the position of the store and the pending writes, also while the disk is slow", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  const pong = (txn: number): (number | undefined)[] => {
    connection.say({ t: "ping", now: 1, txn });
    const last = connection.of("pong").at(-1);
    return [last?.txn, last?.pending];
  };
  await until(() => pong(100)[0] === 100);
  expect(pong(100)).toEqual([100, 0]);
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})" });
  await until(() => connection.of("upload").length === 1);
  peer.disk.holdSyncs();
  connection.say({
    t: "documents",
    filter: FILTER,
    entries: [["put", "b", 101, wholeOf("b", { n: 2 }, 2)]],
    committed: 101,
  });
  expect(pong(101)).toEqual([100, 1]);
  peer.disk.releaseSyncs();
  await until(() => pong(101)[0] === 101);
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'y', 'n': 1})" });
  expect(pong(101)).toEqual([101, 2]);
  await peer.sync.close();
});
