/**
 * Streams that end in the middle: what a peer then holds is partly of before and partly of now, so it
 * must not go on as if it were whole (S15).
 */

import type { ServerMessage, SyncCursor, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { PeerSubscription } from "../../src/peer/held-subscriptions.ts";
import { PeerStore } from "../../src/peer/peer-store.ts";
import { PeerSync } from "../../src/peer/peer-sync.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { Store } from "../../src/store/store.ts";
import { SyncServer } from "../../src/sync/sync-server.ts";
import { authorityOf } from "../support/caller.ts";
import { openStore, problems } from "../support/open-store.ts";
import { ALL, entryOf, FILTER, peerPair, reopen, send, welcome } from "../support/peer-pair.ts";
import { ScriptedServer, until, wholeOf } from "../support/scripted-server.ts";
import { Wire } from "../support/sync-wire.ts";
import { type TestPlatform, testPlatform } from "../support/test-platform.ts";

const TORN = new Uint8Array(16);
const QUERY = "SELECT * FROM tasks";

interface Rig {
  readonly store: PeerStore;
  readonly storage: MemoryKeyValue;
  readonly sync: PeerSync;
  readonly clock: ScriptedServer;
}

async function openPeer(dial: ScriptedServer["dial"], clock: ScriptedServer): Promise<Rig> {
  const platform: TestPlatform = { ...testPlatform(11), elapsed: () => clock.elapsed };
  const storage = new MemoryKeyValue();
  const store = await PeerStore.open(storage, platform, { appId: "app" });
  const sync = new PeerSync({
    store,
    platform,
    appId: "app",
    description: { key: "p", deviceName: "d", os: "o", sdk: "s", metadata: {} },
    dial,
    wakeIn: clock.wakeIn,
    token: async () => "key",
    onEvent: () => undefined,
  });
  return { store, storage, sync, clock };
}

function held({ store }: Rig): Value[] {
  return store.store.read((snapshot) => [...snapshot.scanIds("tasks")]);
}

function cursorOf({ store }: Rig): SyncCursor | undefined {
  return store.subscription(QUERY).cursor;
}

test("[S15] from the start of a fill there is no cursor until the fill is complete", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  const completed = [{ subscription: key, filter: FILTER, txn: 8 }];
  // Before it was ever complete there is nothing to forget, and nothing is written for it.
  const { txnId } = pair.peer.store;
  await pair.peer.begin(key, "fill");
  expect(pair.peer.store.txnId).toBe(txnId);
  await pair.peer.apply({ parts: [], outcomes: [], completed });
  await pair.peer.apply({ parts: [], outcomes: [], committed: 9 });
  await pair.peer.begin(key, "fill");
  await reopen(pair, { isCrash: true });
  await welcome(pair);
  expect(pair.peer.subscription(ALL).cursor).toBe(undefined);
  await pair.peer.apply({ parts: [], outcomes: [], completed });
  expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(FILTER);
});

test("[S15] from the start of a compare the cursor is torn until the compare is complete", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  const completed = [{ subscription: key, filter: FILTER, txn: 8 }];
  const versions = { t: "versions", filter: FILTER, list: [], range: { through: "k" } } as const;
  for (const tear of [
    () => pair.peer.begin(key, "compare"),
    // Also in a stream that began as something else.
    () => pair.peer.compare(key, versions),
  ]) {
    await pair.peer.apply({ parts: [], outcomes: [], completed });
    expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(FILTER);
    await tear();
    await reopen(pair, { isCrash: true });
    await welcome(pair);
    expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(TORN);
    expect(pair.peer.subscription(ALL).cursor?.txn).toBe(8);
  }
  await pair.peer.apply({ parts: [], outcomes: [], completed });
  expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(FILTER);
});

test("[S15] documents of a piece are released when a repeated compare does not list them", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await pair.server.transact((transaction) =>
    transaction.apply(
      ["a", "b"].map((id) => ({ kind: "insert", collection: "c", id, fields: { n: 1 } })),
    ),
  );
  await send(pair, key, "a");
  await pair.peer.apply({
    parts: [],
    outcomes: [],
    completed: [{ subscription: key, filter: FILTER, txn: 1 }],
  });
  await pair.peer.begin(key, "compare");
  const version = Number(entryOf(pair.server, "c", "b")[2]);
  const list = [["b", version]] as const;
  const range = { after: "a", through: "b" };
  expect(await pair.peer.compare(key, { t: "versions", filter: FILTER, list, range })).toEqual([
    "b",
  ]);
  await send(pair, key, "b");
  await reopen(pair, { isCrash: true });
  await welcome(pair);
  expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(TORN);
  const first = [["a", Number(entryOf(pair.server, "c", "a")[2])]] as const;
  await pair.peer.compare(key, { t: "versions", filter: FILTER, list: first, range: {} });
  expect(pair.peer.store.read((snapshot) => [...snapshot.scanIds("c")])).toEqual(["a"]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S15] an interrupted fill starts over, without the earlier cursor", async () => {
  const server = new ScriptedServer();
  const rig = await openPeer(server.dial, server);
  const subscription = rig.sync.subscribe(QUERY);
  rig.sync.start();
  const first = await server.accept();
  await until(() => first.of("subscribe").length === 1);
  const begin = (filter: Uint8Array, mode: "fill" | "compare"): ServerMessage => {
    return { t: "subscribed", id: 1, filter, collection: "tasks", mode };
  };
  const piece: ServerMessage = {
    t: "documents",
    filter: FILTER,
    entries: [["put", "a", 90, wholeOf("a", { n: 1 })]],
    range: { through: "a" },
  };
  // Frames of a stream that this connection has not heard of yet mean nothing.
  first.say(piece, { t: "complete", filter: FILTER, txn: 99 });
  first.say(begin(FILTER, "fill"), { t: "complete", filter: FILTER, txn: 100 });
  await subscription.whenReady();
  expect(held(rig)).toEqual([]);
  expect(cursorOf(rig)?.txn).toBe(100);
  first.cut();
  server.pass(1000);
  const second = await server.accept();
  await until(() => second.of("subscribe").length === 1);
  expect(second.of("subscribe")[0]?.cursor?.txn).toBe(100);
  second.say(begin(FILTER, "fill"), piece);
  await until(() => held(rig).length === 1);
  second.cut();
  server.pass(1000);
  const third = await server.accept();
  await until(() => third.of("subscribe").length === 1);
  expect(third.of("subscribe")[0]?.cursor).toBe(undefined);
  await rig.sync.close();
});

/** A server whose one credential may read the tasks of which the rule is true. */
async function openServer(): Promise<{
  readonly server: Store;
  readonly wire: Wire;
  readonly setRule: (rule: string) => void;
}> {
  const { store, platform } = await openStore();
  let rule = "true";
  const admission = (): { authority: ReturnType<typeof authorityOf>; credential: string } => {
    const rules = { tasks: [rule] };
    return { authority: authorityOf(rules, rules), credential: "key" };
  };
  const limits = { frameBytes: 1, pieceDocuments: 5 };
  const sync = new SyncServer({ store, platform, appId: "app", admit: admission, limits });
  const wire = new Wire(sync);
  const setRule = (next: string): void => {
    rule = next;
    for (const connection of wire.connections) connection.changeRights(admission());
  };
  return { server: store, wire, setRule };
}

async function insertTasks(server: Store, kinds: readonly string[]): Promise<void> {
  await server.transact((transaction) =>
    transaction.apply(
      kinds.map((kind, id) => ({ kind: "insert", collection: "tasks", id, fields: { kind } })),
    ),
  );
}

/** Cuts the connection after so many frames of a kind. */
function cutAfter(wire: Wire, kind: ServerMessage["t"], count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    wire.isLast = ({ t }) => {
      if (t !== kind || --left > 0) return false;
      wire.isLast = () => false;
      resolve();
      return true;
    };
  });
}

async function comeBack({ clock, sync }: Rig): Promise<void> {
  await until(() => {
    clock.pass(100);
    return sync.status().phase === "open";
  });
}

/** Until nothing is on its way that could still change what is held. */
async function settled(rig: Rig, subscription: PeerSubscription, wire: Wire): Promise<void> {
  const probe = rig.sync.subscribe("SELECT * FROM tasks WHERE kind = 'none'");
  await probe.whenReady();
  // Who was ready once is so while it compares: that this is over is in its cursor.
  await until(() => cursorOf(rig)?.filter.some((byte) => byte !== 0) === true);
  await until(() => subscription.status === "ready" && rig.sync.status().waitingBytes === 0);
  expect(wire.connections.size).toBe(1);
  probe.cancel();
}

test.each([
  ["versions", 1],
  ["versions", 3],
  ["documents", 1],
  ["documents", 4],
] as const)(
  "[S15] rights granted and revoked leave no documents if a compare was interrupted after %s %i",
  async (kind, count) => {
    const { server, wire, setRule } = await openServer();
    const kinds = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? "open" : "secret"));
    await insertTasks(server, kinds);
    setRule("kind = 'open'");
    const clock = new ScriptedServer();
    const rig = await openPeer(wire.dial, clock);
    const subscription = rig.sync.subscribe(QUERY);
    rig.sync.start();
    await subscription.whenReady();
    const open = held(rig);
    expect(open.length).toBe(10);
    const isCut = cutAfter(wire, kind, count);
    setRule("true");
    await isCut;
    setRule("kind = 'open'");
    await comeBack(rig);
    await settled(rig, subscription, wire);
    expect(held(rig)).toEqual(open);
    expect(problems(rig.storage)).toEqual([]);
    await rig.sync.close();
    wire.server.close();
  },
);

test.each([1, 2, 17, 29, 30, 31])(
  "[S57] a fill cut after %i pieces continues: sent documents are not sent again, later changes are",
  async (count) => {
    const { server, wire } = await openServer();
    await insertTasks(
      server,
      Array.from({ length: 30 }, () => "open"),
    );
    const clock = new ScriptedServer();
    const rig = await openPeer(wire.dial, clock);
    const subscription = rig.sync.subscribe(QUERY);
    const isCut = cutAfter(wire, "documents", count);
    rig.sync.start();
    await isCut;
    await until(() => held(rig).length === Math.min(count, 30));
    expect(subscription.status).toBe("waiting");
    const increment = { kind: "increment", path: ["n"], by: 1 } as const;
    await server.transact((transaction) =>
      transaction.apply([
        { kind: "delete", collection: "tasks", id: 0 },
        { kind: "update", collection: "tasks", id: 1, edits: [increment] },
      ]),
    );
    const sent: string[] = [];
    wire.isLast = (message) => {
      if (message.t === "documents") sent.push(...message.entries.map((entry) => entry[0]));
      return false;
    };
    await comeBack(rig);
    await settled(rig, subscription, wire);
    // All behind the cut, and of what is before it the two that changed.
    const rest = Math.max(0, 30 - count) + (count === 1 ? 0 : 1);
    expect(sent.toSorted()).toEqual(["deleted", ...Array.from({ length: rest }, () => "put")]);
    expect(held(rig)).toEqual(Array.from({ length: 29 }, (_, i) => i + 1));
    expect(problems(rig.storage)).toEqual([]);
    await rig.sync.close();
    wire.server.close();
  },
);

test.each([1, 3])(
  "[S15] rights revoked while a fill is interrupted after %i frames leave no documents",
  async (count) => {
    const { server, wire, setRule } = await openServer();
    const kinds = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? "open" : "secret"));
    await insertTasks(server, kinds);
    const clock = new ScriptedServer();
    const rig = await openPeer(wire.dial, clock);
    const subscription = rig.sync.subscribe(QUERY);
    const isCut = cutAfter(wire, "documents", count);
    rig.sync.start();
    await isCut;
    setRule("kind = 'open'");
    await comeBack(rig);
    await settled(rig, subscription, wire);
    expect(held(rig).length).toBe(10);
    expect(problems(rig.storage)).toEqual([]);
    await rig.sync.close();
    wire.server.close();
  },
);
