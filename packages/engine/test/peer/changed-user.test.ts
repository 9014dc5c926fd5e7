/**
 * A device that somebody else uses from now on: what the user before had written and not heard of has
 * its effect once, whatever of it the server had taken, and nothing more is written under his site.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { PeerStore } from "../../src/peer/peer-store.ts";
import { PeerSync } from "../../src/peer/peer-sync.ts";
import type { Platform } from "../../src/platform.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Store } from "../../src/store/store.ts";
import { SyncServer } from "../../src/sync/sync-server.ts";
import { authorityOf } from "../support/caller.ts";
import { GatedWire } from "../support/gated-wire.ts";
import { fieldsOf, openStore, problems } from "../support/open-store.ts";
import { turns } from "../support/open-streams.ts";
import { ScriptedServer, until } from "../support/scripted-server.ts";
import { testPlatform } from "../support/test-platform.ts";

const INCREMENT = "UPDATE COLLECTION tasks (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = 'x'";
const INSERT = "INSERT INTO COLLECTION tasks (n COUNTER) VALUES ({'_id': 'x', 'n': 0})";

interface Device {
  server: Store;
  wire: GatedWire;
  readonly store: PeerStore;
  readonly storage: MemoryKeyValue;
  readonly sync: PeerSync;
  /** Who uses it. */
  user: string;
  write(statement: string): Promise<void>;
  /** Logs out, and somebody else in. */
  hand(user: string): Promise<void>;
  settle(): Promise<void>;
  /** The server comes back from a copy of what it has. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Nobody may write secrets. */
const RULES = { tasks: ["true"] };

function wireTo(store: Store, platform: Platform): GatedWire {
  const authority = authorityOf(RULES, RULES);
  const admit = (token: string) => ({ authority, credential: token });
  return new GatedWire(new SyncServer({ store, platform, appId: "app", admit }));
}

async function openDevice(): Promise<Device> {
  const { store: server, platform: host, storage: serverStorage } = await openStore();
  const clock = new ScriptedServer();
  const platform = { ...testPlatform(7), elapsed: () => clock.elapsed };
  const storage = new MemoryKeyValue();
  const store = await PeerStore.open(storage, platform, { appId: "app" });
  const sync = new PeerSync({
    store,
    platform,
    appId: "app",
    description: { key: "p", deviceName: "d", os: "o", sdk: "s", metadata: {} },
    dial: (handlers) => device.wire.dial(handlers),
    wakeIn: clock.wakeIn,
    token: async () => device.user,
    onEvent: () => undefined,
  });
  sync.subscribe("SELECT * FROM tasks");
  const runner = new StatementRunner({ store: store.store, platform, appId: "app" });
  const device: Device = {
    server,
    wire: wireTo(server, host),
    store,
    storage,
    sync,
    user: "ann",
    write: async (statement) => {
      await runner.execute({ statement });
    },
    hand: async (user) => {
      await sync.stop();
      device.wire.cut();
      await device.wire.open();
      device.user = user;
      sync.start();
    },
    settle: () =>
      until(() => {
        clock.pass(10);
        return store.pendingCount === 0;
      }),
    restore: async () => {
      await sync.stop();
      await device.server.close();
      await renewIdentity(serverStorage, host);
      device.server = await Store.open(serverStorage, host);
      device.wire = wireTo(device.server, host);
    },
    close: () => sync.close(),
  };
  return device;
}

function counter({ server }: Device): Value | undefined {
  return fieldsOf(server, "tasks", "x");
}

/** How many sites the server has, and how many uploads of each, by their owners. */
function sitesOf({ server }: Device): string[] {
  return server.read(({ reader }) =>
    [...reader.entries({ from: "u", to: "v" })]
      .map(({ value }) => value as { owner: string; number: number })
      .map(({ owner, number }) => `${owner} ${number}`)
      .sort(),
  );
}

test("[S80] writes under way when the user changes take effect once, wherever they were", async () => {
  const outcomes = new Set<string>();
  for (let arrived = 0, isOver = false; !isOver; arrived++) {
    const device = await openDevice();
    const { wire, sync } = device;
    sync.start();
    await device.write(INSERT);
    await device.write(INCREMENT);
    await device.settle();
    wire.shut();
    // Taken by the server, and its answers on their way, or not.
    for (let i = 0; i < 3; i++) await device.write(INCREMENT);
    await turns();
    wire.take(100);
    isOver = arrived >= wire.flying;
    await wire.arrive(arrived);
    const stopped = sync.stop();
    // Written by the user before, never sent.
    await device.write(INCREMENT);
    await stopped;
    await device.hand("bob");
    await device.settle();
    await device.write(INCREMENT);
    await device.settle();
    expect(counter(device), `${arrived} frames`).toEqual({ n: 6 });
    expect(fieldsOf(device.store.store, "tasks", "x")).toEqual({ n: 6 });
    expect(problems(device.storage)).toEqual([]);
    outcomes.add(sitesOf(device).join(", "));
    await device.close();
  }
  expect([...outcomes]).toEqual(["ann 5, bob 2"]);
});

test("[S58] [S80] users who alternate on a device write under their own sites", async () => {
  const device = await openDevice();
  device.sync.start();
  await device.write(INSERT);
  await device.settle();
  for (const [i, user] of ["bob", "ann", "bob", "ann"].entries()) {
    await device.hand(user);
    await device.write(INCREMENT);
    await device.settle();
    expect(counter(device)).toEqual({ n: i + 1 });
  }
  // A user who only reads takes none.
  await device.hand("cleo");
  await until(() => device.sync.status().phase === "open");
  expect(sitesOf(device)).toEqual(["ann 1", "ann 1", "ann 1", "bob 1", "bob 1"]);
  expect(problems(device.storage)).toEqual([]);
  await device.close();
});

test.each([{ isRestored: false }, { isRestored: true }])(
  "[S77] [S58] writes that the server took are not sent as new, even if some are not kept: restored $isRestored",
  async ({ isRestored }) => {
    const device = await openDevice();
    device.sync.start();
    await device.write(INSERT);
    await device.write(INCREMENT);
    await device.write("INSERT INTO secrets VALUES ({'_id': 'y'})");
    await device.write(INCREMENT);
    await device.settle();
    expect(device.store.refused()).toHaveLength(1);
    if (isRestored) await device.restore();
    await device.hand("bob");
    await device.write(INCREMENT);
    await device.settle();
    expect(counter(device)).toEqual({ n: 3 });
    expect(sitesOf(device)).toEqual(["ann 4", "bob 1"]);
    await device.hand("ann");
    await device.write(INCREMENT);
    await device.settle();
    expect(counter(device)).toEqual({ n: 4 });
    expect(problems(device.storage)).toEqual([]);
    await device.close();
  },
);
