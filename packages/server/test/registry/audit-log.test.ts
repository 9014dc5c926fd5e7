/**
 * The audit log: an entry for each change, none for what was refused, and no secrets.
 */

import { FULL_PERMISSIONS } from "@bigpeer/engine";
import { expect, test } from "vitest";
import type { AuditEntry } from "../../src/registry/audit-log.ts";
import type { Registry } from "../../src/registry/registry.ts";
import { openRegistry } from "../support/open-registry.ts";

const ANN = { actor: "ann", requestId: "r-1" };
const BOB = { actor: "bob" };
const ID = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";

function entriesOf({ audit }: Registry): readonly AuditEntry[] {
  return audit.list({ page: 1, size: 1_000 }).entries;
}

/** Changes of every kind. Returns the texts that must not be told. */
async function changeAll({ apps, keys, replications }: Registry): Promise<string[]> {
  await apps.create({ name: "shop", id: ID }, ANN);
  await apps.setProviders("shop", (before) => ({ ...before, door: DOOR }), ANN);
  await apps.setSettings("shop", { isV4Strict: true }, ANN);
  await apps.rotateSessionKey("shop", ANN);
  const texts = [
    await keys.create(ID, { name: "till", permissions: FULL_PERMISSIONS }, ANN),
    await keys.rotate(ID, "till", { graceSeconds: 60 }, ANN),
  ];
  await keys.replace(ID, "till", { permissions: FULL_PERMISSIONS, description: "x" }, ANN);
  await keys.remove(ID, "till", ANN);
  await replications.create(ID, { name: "north" }, ANN);
  await replications.update(ID, "north", { connections: null }, ANN);
  await replications.remove(ID, "north", ANN);
  await apps.remove("shop", BOB);
  await apps.forget(ID);
  return [...texts.map((text) => text.slice(12)), DOOR.sharedToken];
}

const DOOR = {
  type: "anonymous",
  permission: FULL_PERMISSIONS,
  sessionLength: 60,
  sharedToken: "let me in",
  isLoopbackOnly: false,
} as const;

test("every change has its entry, the newest first", async () => {
  const { registry, platform } = await openRegistry();
  const secrets = await changeAll(registry);
  const at = platform.nowMs;
  const ann = { at, actor: "ann", requestId: "r-1" };
  const app = "app/shop";
  const key = "app/shop/apiKey/till";
  const replication = "app/shop/bigPeerReplication/north";
  const entries = entriesOf(registry);
  expect(entries.toReversed()).toEqual([
    {
      at,
      actor: "server",
      action: "app.create",
      target: "app/default",
      detail: expect.any(String),
    },
    { ...ann, action: "app.create", target: app, detail: `id ${ID}` },
    { ...ann, action: "app.setProviders", target: app, detail: "providers door" },
    {
      ...ann,
      action: "app.setSettings",
      target: app,
      detail: "isV4Strict true, isUnknownEmpty false",
    },
    { ...ann, action: "app.rotateSessionKey", target: app },
    {
      ...ann,
      action: "apiKey.create",
      target: key,
      detail: expect.stringMatching(/^id [0-9a-f]{8}$/),
    },
    { ...ann, action: "apiKey.rotate", target: key, detail: "grace 60 s" },
    { ...ann, action: "apiKey.replace", target: key },
    { ...ann, action: "apiKey.delete", target: key },
    { ...ann, action: "bigPeerReplication.create", target: replication },
    { ...ann, action: "bigPeerReplication.update", target: replication, detail: "connections" },
    { ...ann, action: "bigPeerReplication.delete", target: replication },
    {
      at,
      actor: "bob",
      action: "app.delete",
      target: app,
      detail: `id ${ID}, keys 0, replications 0`,
    },
    { at, actor: "server", action: "app.purge", target: app, detail: `id ${ID}` },
  ]);
  for (const secret of secrets) expect(JSON.stringify(entries)).not.toContain(secret);
});

test("what was refused has no entry", async () => {
  const { registry } = await openRegistry();
  const before = entriesOf(registry);
  await expect(registry.apps.create({ name: "default" }, ANN)).rejects.toThrow("AppNameNotUnique");
  await expect(registry.apps.remove("nobody", ANN)).rejects.toThrow("AppNotFound");
  await registry.apps.forget(ID);
  expect(entriesOf(registry)).toEqual(before);
});

test("entries come in pages, from 1 on", async () => {
  const { registry } = await openRegistry();
  await changeAll(registry);
  const all = entriesOf(registry);
  const pages = [1, 2, 3, 4].map((page) => registry.audit.list({ page, size: 6 }));
  expect(pages.map(({ total }) => total)).toEqual([14, 14, 14, 14]);
  expect(pages.map(({ entries }) => entries.length)).toEqual([6, 6, 2, 0]);
  expect(pages.flatMap(({ entries }) => entries)).toEqual(all);
});

test("the last 10,000 entries are kept", async () => {
  const { registry } = await openRegistry();
  const { store } = registry.storeFolder;
  await store.transact((transaction) => {
    const fields = { at: 1, actor: "ann", action: "app.create", target: "app/a" };
    // The first start made the entry 1.
    const ids = Array.from({ length: 9_998 }, (_, i) => i + 2);
    transaction.apply(ids.map((id) => ({ kind: "insert", collection: "audit", id, fields })));
  });
  const change = (): Promise<unknown> => registry.apps.setSettings("default", {}, BOB);
  await change();
  expect(registry.audit.list({ page: 1, size: 1 }).total).toBe(10_000);
  await Promise.all([change(), change(), change()]);
  expect(registry.audit.list({ page: 1, size: 1 }).total).toBe(10_000);
  const ids = store.read((view) => [...view.scanIds("audit")]);
  expect([ids[0], ids.at(-1)]).toEqual([4, 10_003]);
  expect(registry.audit.list({ page: 10_000, size: 1 }).entries).toHaveLength(1);
  expect(registry.audit.list({ page: 10_001, size: 1 }).entries).toEqual([]);
});
