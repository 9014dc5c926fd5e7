/**
 * Replications: what they may hold, and whose they are.
 */

import { expect, test } from "vitest";
import type { ReplicationChange, Replications } from "../../src/registry/replications.ts";
import { type OpenRegistry, openRegistry } from "../support/open-registry.ts";

const AUTHOR = { actor: "ann" };
const NORTH = {
  name: "north",
  connections: ["north.example:4040", "[::1]:4040"],
  queriesByCollection: { cars: ["true", "doors > 3"], bikes: [] },
};

interface OpenReplications extends OpenRegistry {
  readonly replications: Replications;
  readonly appId: string;
}

async function openReplications(): Promise<OpenReplications> {
  const opened = await openRegistry();
  const { apps, replications } = opened.registry;
  return { ...opened, replications, appId: apps.named("default").id };
}

function titled(title: string, detail?: string): unknown {
  const fault = { name: "RegistryFault", title };
  return expect.objectContaining(detail === undefined ? fault : { ...fault, detail });
}

test("a replication has addresses and queries, or neither", async () => {
  const { replications, appId, reopen } = await openReplications();
  const made = await replications.create(appId, NORTH, AUTHOR);
  expect(made).toEqual({ ...NORTH, appId });
  const bare = await replications.create(appId, { name: "bare", connections: null }, AUTHOR);
  expect(bare).toEqual({ name: "bare", appId, connections: [], queriesByCollection: {} });
  expect(replications.get(appId, "north")).toEqual(made);
  expect((await reopen()).replications.list(appId)).toEqual([bare, made]);
});

test("an address counts once, however it is written", async () => {
  const { replications, appId } = await openReplications();
  const connections = ["North:4040", "north:4040", "north:4041", "North:4040"];
  const made = await replications.create(appId, { name: "north", connections }, AUTHOR);
  expect(made.connections).toEqual(["North:4040", "north:4041"]);
});

test("fields that a change omits stay, and null clears", async () => {
  const { replications, appId } = await openReplications();
  await replications.create(appId, NORTH, AUTHOR);
  const update = (change: ReplicationChange): Promise<unknown> =>
    replications.update(appId, "north", change, AUTHOR);
  expect(await update({})).toEqual({ ...NORTH, appId });
  const queriesByCollection = JSON.parse('{"boats": ["true"], "__proto__": ["false"]}');
  expect(await update({ queriesByCollection })).toEqual({ ...NORTH, appId, queriesByCollection });
  expect(replications.get(appId, "north").queriesByCollection).toEqual(queriesByCollection);
  expect(await update({ connections: null })).toEqual({
    name: "north",
    appId,
    connections: [],
    queriesByCollection,
  });
  await update({ queriesByCollection: null });
  expect(replications.get(appId, "north").queriesByCollection).toEqual({});
});

test("an update to the same values makes no transaction", async () => {
  const { replications, appId, registry } = await openReplications();
  await replications.create(appId, NORTH, AUTHOR);
  const { txnId } = registry.storeFolder.store;
  const { connections, queriesByCollection } = NORTH;
  for (const change of [{}, { connections }, { connections, queriesByCollection }]) {
    await replications.update(appId, "north", change, AUTHOR);
  }
  expect(registry.storeFolder.store.txnId).toBe(txnId);
});

test("names are unique in the Big Peer, and each replication is of one app", async () => {
  const { replications, appId, registry } = await openReplications();
  const { id: other } = await registry.apps.create({ name: "shop" }, AUTHOR);
  const made = await Promise.allSettled([
    replications.create(appId, NORTH, AUTHOR),
    replications.create(other, NORTH, AUTHOR),
  ]);
  expect(made[1]).toEqual({
    status: "rejected",
    reason: titled("BigPeerReplicationNameNotUnique"),
  });
  expect(() => replications.get(other, "north")).toThrow(titled("AppNameMismatch"));
  for (const attempt of [
    replications.update(other, "north", {}, AUTHOR),
    replications.remove(other, "north", AUTHOR),
  ]) {
    await expect(attempt).rejects.toEqual(titled("AppNameMismatch"));
  }
  expect(replications.list(other)).toEqual([]);
});

test("a removed replication is not found, and its name is free", async () => {
  const { replications, appId } = await openReplications();
  await replications.create(appId, NORTH, AUTHOR);
  await replications.remove(appId, "north", AUTHOR);
  const missing = titled("BigPeerReplicationNotFound");
  expect(() => replications.get(appId, "north")).toThrow(missing);
  expect(() => replications.get(appId, "n".repeat(5_000))).toThrow(missing);
  await expect(replications.update(appId, "north", {}, AUTHOR)).rejects.toEqual(missing);
  await expect(replications.remove(appId, "north", AUTHOR)).rejects.toEqual(missing);
  expect(await replications.create(appId, { name: "north" }, AUTHOR)).toEqual({
    name: "north",
    appId,
    connections: [],
    queriesByCollection: {},
  });
});

test("invalid input is refused with its place, and nothing is changed", async () => {
  const { replications, appId, registry } = await openReplications();
  const before = await replications.create(appId, NORTH, AUTHOR);
  const { txnId } = registry.storeFolder.store;
  const refused: readonly [ReplicationChange, unknown][] = [
    [{ connections: ["a:1", "b"] }, titled("InvalidRequest")],
    [
      { queriesByCollection: { cars: ["true", "doors >"] } },
      expect.objectContaining({
        title: "InvalidRequest",
        detail: expect.stringMatching(/^expected .* at queriesByCollection\.cars\[1\], line 1/),
      }),
    ],
    [
      { queriesByCollection: { "": ["true"] } },
      titled("InvalidRequest", 'expected the name of a collection at queriesByCollection[""]'),
    ],
    [
      { queriesByCollection: { "system:data_sync_info": ["true"] } },
      titled(
        "InvalidRequest",
        "expected a collection of documents, found one of the system" +
          ' at queriesByCollection["system:data_sync_info"]',
      ),
    ],
    [
      { queriesByCollection: { "my-cars": ["doors >"] } },
      expect.objectContaining({
        title: "InvalidRequest",
        detail: expect.stringMatching(/ at queriesByCollection\["my-cars"\]\[0\], line 1/),
      }),
    ],
    [
      { connections: Array.from({ length: 101 }, (_, i) => `a:${i + 1}`) },
      titled("InvalidRequest", "expected at most 100 addresses at connections"),
    ],
    [
      { queriesByCollection: { cars: Array.from({ length: 1_001 }, () => "true") } },
      titled("InvalidRequest", "expected at most 1000 queries at queriesByCollection"),
    ],
  ];
  for (const [change, fault] of refused) {
    await expect(replications.update(appId, "north", change, AUTHOR)).rejects.toEqual(fault);
    const given = { ...change, name: "south" };
    await expect(replications.create(appId, given, AUTHOR)).rejects.toEqual(fault);
  }
  const create = replications.create(appId, { name: "North" }, AUTHOR);
  await expect(create).rejects.toEqual(titled("InvalidName"));
  const nobody = replications.create("nobody", { name: "south" }, AUTHOR);
  await expect(nobody).rejects.toEqual(titled("AppNotFound"));
  expect(replications.list(appId)).toEqual([before]);
  expect(registry.storeFolder.store.txnId).toBe(txnId);
});

test("an app has at most 100 replications", async () => {
  const { replications, appId } = await openReplications();
  const made = await Promise.allSettled(
    Array.from({ length: 101 }, (_, i) => replications.create(appId, { name: `r${i}` }, AUTHOR)),
  );
  const refused = made.filter(({ status }) => status === "rejected");
  expect(refused).toEqual([{ status: "rejected", reason: titled("LimitReached") }]);
});
