/**
 * Peers and a server together, all of them real, joined by a wire in memory: what one peer writes
 * comes to the other, offline or not.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { PeerSubscription } from "../../src/peer/held-subscriptions.ts";
import { PeerStore } from "../../src/peer/peer-store.ts";
import { PeerSync } from "../../src/peer/peer-sync.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { SyncServer } from "../../src/sync/sync-server.ts";
import { GatedWire } from "../support/gated-wire.ts";
import { fieldsOf, openStore } from "../support/open-store.ts";
import { turns } from "../support/open-streams.ts";
import { ScriptedServer, until } from "../support/scripted-server.ts";
import { Wire } from "../support/sync-wire.ts";
import { type TestPlatform, testPlatform } from "../support/test-platform.ts";

interface RunningPeer {
  readonly store: PeerStore;
  readonly sync: PeerSync;
  readonly tasks: PeerSubscription;
  readonly runner: StatementRunner;
  readonly clock: ScriptedServer;
}

async function openPeer(wire: Pick<Wire, "dial">, seed: number): Promise<RunningPeer> {
  const clock = new ScriptedServer();
  const platform: TestPlatform = { ...testPlatform(seed), elapsed: () => clock.elapsed };
  const store = await PeerStore.open(new MemoryKeyValue(), platform, { appId: "app" });
  const sync = new PeerSync({
    store,
    platform,
    appId: "app",
    description: { key: `p${seed}`, deviceName: "d", os: "o", sdk: "s", metadata: {} },
    dial: wire.dial,
    wakeIn: clock.wakeIn,
    token: async () => "key",
    onEvent: () => undefined,
  });
  const tasks = sync.subscribe("SELECT * FROM tasks");
  const runner = new StatementRunner({ store: store.store, platform, appId: "app" });
  return { store, sync, tasks, runner, clock };
}

async function openAll(): Promise<{ wire: Wire; a: RunningPeer; b: RunningPeer; at: Fields }> {
  const { store, platform } = await openStore();
  const admission = { authority: undefined, credential: "key" };
  const server = new SyncServer({ store, platform, appId: "app", admit: () => admission });
  const wire = new Wire(server);
  const [a, b] = [await openPeer(wire, 11), await openPeer(wire, 22)];
  return { wire, a, b, at: (id) => fieldsOf(store, "tasks", id) };
}

type Fields = (id: Value) => Value | undefined;

function write(
  { runner }: RunningPeer,
  statement: string,
  args: ValueObject = {},
): Promise<unknown> {
  return runner.execute({ statement, args });
}

function shown({ store }: RunningPeer, id: Value): Value | undefined {
  return fieldsOf(store.store, "tasks", id);
}

async function closeAll(wire: Wire, ...peers: RunningPeer[]): Promise<void> {
  for (const { sync } of peers) await sync.close();
  wire.server.close();
}

test("[S16] a write of one peer reaches the other, and has its outcome", async () => {
  const { wire, a, b, at } = await openAll();
  a.sync.start();
  b.sync.start();
  await Promise.all([a.tasks.whenReady(), b.tasks.whenReady()]);
  await write(a, "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})");
  await until(() => shown(b, "x") !== undefined && a.store.pendingCount === 0);
  expect([shown(a, "x"), shown(b, "x"), at("x")]).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }]);
  await closeAll(wire, a, b);
});

test("[S74] [S35] a write keeps showing if its subscription ends while its outcome is under way", async () => {
  for (let arrived = 0, isOver = false; !isOver; arrived++) {
    const { store, platform } = await openStore();
    const admission = { authority: undefined, credential: "key" };
    const server = new SyncServer({ store, platform, appId: "app", admit: () => admission });
    const wire = new GatedWire(server);
    const a = await openPeer(wire, 11);
    a.sync.start();
    await a.tasks.whenReady();
    await write(a, "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})");
    await until(() => a.store.pendingCount === 0);
    wire.isOpen = false;
    await write(a, "UPDATE tasks SET n = 2 WHERE _id = 'x'");
    await write(a, "INSERT INTO tasks VALUES ({'_id': 'y', 'n': 2})");
    await until(() => fieldsOf(store, "tasks", "y") !== undefined);
    await turns();
    wire.take(arrived);
    isOver = wire.queued === 0;
    await wire.arrive(arrived);
    a.tasks.cancel();
    await wire.open();
    await until(() => a.store.pendingCount === 0);
    expect([shown(a, "x"), shown(a, "y")], `${arrived} frames`).toEqual([{ n: 2 }, { n: 2 }]);
    await a.sync.close();
    server.close();
  }
});

test.each([{ isKnown: true }, { isKnown: false }])(
  "[S74] [S35] the same holds if the subscription ends before `subscribed` (seed 22000069): $isKnown",
  async ({ isKnown }) => {
    for (let arrived = 0, isOver = false; !isOver; arrived++) {
      const { store, platform } = await openStore();
      const admission = { authority: undefined, credential: "key" };
      const server = new SyncServer({ store, platform, appId: "app", admit: () => admission });
      const wire = new GatedWire(server);
      const a = await openPeer(wire, 11);
      if (isKnown) {
        a.sync.start();
        await a.tasks.whenReady();
        await a.sync.stop();
      }
      wire.isOpen = false;
      a.sync.start();
      await sendAll(wire);
      await wire.arrive(1);
      await sendAll(wire);
      await write(a, "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})");
      await write(a, "UPDATE tasks SET n = 2 WHERE _id = 'x'");
      await sendAll(wire);
      isOver = arrived >= wire.flying;
      await wire.arrive(arrived);
      a.tasks.cancel();
      await wire.open();
      await until(() => a.store.pendingCount === 0);
      expect(shown(a, "x"), `${arrived} frames`).toEqual({ n: 2 });
      await a.sync.close();
      server.close();
    }
  },
);

/** The server says all that it has to say. */
async function sendAll(wire: GatedWire): Promise<void> {
  for (let i = 0; i < 10; i++) {
    await turns();
    wire.take(100);
  }
}

test("[S24] offline writes of both peers reach both, and counters are exact", async () => {
  const { wire, a, b, at } = await openAll();
  a.sync.start();
  b.sync.start();
  await write(a, "INSERT INTO COLLECTION tasks (n COUNTER) VALUES ({'_id': 'x', 'n': 10})");
  await until(() => shown(b, "x") !== undefined && a.store.pendingCount === 0);
  await a.sync.stop();
  await b.sync.stop();
  const increment = "UPDATE COLLECTION tasks (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = 'x'";
  for (let i = 0; i < 100; i++) {
    await write(a, increment);
    await write(b, increment);
  }
  expect([shown(a, "x"), shown(b, "x")]).toEqual([{ n: 110 }, { n: 110 }]);
  a.sync.start();
  b.sync.start();
  await until(() => a.store.pendingCount === 0 && b.store.pendingCount === 0);
  const sum = (fields: Value | undefined): boolean => JSON.stringify(fields) === '{"n":210}';
  await until(() => sum(shown(a, "x")) && sum(shown(b, "x")) && sum(at("x")));
  await closeAll(wire, a, b);
});

test("[S25] connections that are cut at any moment lose nothing and repeat nothing", async () => {
  const { wire, a, b, at } = await openAll();
  a.sync.start();
  b.sync.start();
  await write(a, "INSERT INTO COLLECTION tasks (n COUNTER) VALUES ({'_id': 'x', 'n': 0})");
  await until(() => shown(b, "x") !== undefined);
  const increment = "UPDATE COLLECTION tasks (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = 'x'";
  for (let i = 0; i < 60; i++) {
    await write(i % 2 === 0 ? a : b, increment);
    if (i % 7 === 3) {
      wire.cutAll();
      for (const { clock } of [a, b]) clock.pass(2000);
    }
  }
  const isDone = (): boolean => {
    for (const { clock } of [a, b]) clock.pass(10);
    const all = [shown(a, "x"), shown(b, "x"), at("x")].map((fields) => JSON.stringify(fields));
    return all.every((fields) => fields === '{"n":60}');
  };
  await until(isDone);
  // What an upload did may show before its outcome comes.
  await until(() => a.store.pendingCount + b.store.pendingCount === 0);
  expect(isDone()).toBe(true);
  await closeAll(wire, a, b);
});

test("[S21] a subscription that ended and starts again continues from its cursor", async () => {
  const { wire, a, b } = await openAll();
  a.sync.start();
  b.sync.start();
  await Promise.all([a.tasks.whenReady(), b.tasks.whenReady()]);
  await write(a, "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})");
  await until(() => shown(b, "x") !== undefined);
  b.tasks.cancel();
  await write(a, "INSERT INTO tasks VALUES ({'_id': 'y', 'n': 1})");
  await until(() => a.store.pendingCount === 0);
  expect([shown(b, "x"), shown(b, "y")]).toEqual([{ n: 1 }, undefined]);
  const again = b.sync.subscribe("SELECT * FROM tasks");
  await again.whenReady();
  expect([shown(b, "x"), shown(b, "y")]).toEqual([{ n: 1 }, { n: 1 }]);
  // Ended and taken up in one breath: it stays followed.
  again.cancel();
  const last = b.sync.subscribe("SELECT * FROM tasks");
  await last.whenReady();
  await write(a, "INSERT INTO tasks VALUES ({'_id': 'z', 'n': 1})");
  await until(() => shown(b, "z") !== undefined);
  await closeAll(wire, a, b);
});

test("[S37] an evicted document comes back on the next connection, or with a new subscription", async () => {
  const { wire, a, b } = await openAll();
  a.sync.start();
  b.sync.start();
  await Promise.all([a.tasks.whenReady(), b.tasks.whenReady()]);
  await write(a, "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1}), ({'_id': 'y', 'n': 1})");
  await until(() => shown(b, "y") !== undefined);
  await write(b, "EVICT FROM tasks WHERE _id = 'x'");
  // It stays away as long as nobody asks, also when others come.
  await write(a, "UPDATE tasks SET n = 2 WHERE _id = 'y'");
  await until(() => JSON.stringify(shown(b, "y")) === '{"n":2}');
  expect(shown(b, "x")).toBe(undefined);
  await b.sync.stop();
  b.sync.start();
  await until(() => shown(b, "x") !== undefined);
  await write(b, "EVICT FROM tasks WHERE _id = 'x'");
  b.tasks.cancel();
  const again = b.sync.subscribe("SELECT * FROM tasks");
  await again.whenReady();
  expect(shown(b, "x")).toEqual({ n: 1 });
  await closeAll(wire, a, b);
});
