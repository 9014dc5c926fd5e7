/**
 * The audit log: an entry for each change, none for what was refused, and no secrets.
 */

import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import type { AuditEntry } from "../../src/registry/audit-log.ts";
import type { AuthProviders } from "../../src/registry/auth-provider.ts";
import type { Registry } from "../../src/registry/registry.ts";
import { openRegistry } from "../support/open-registry.ts";

const ANN = { actor: "ann", requestId: "r-1" };
const BOB = { actor: "bob" };
const ID = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";

function entriesOf({ audit }: Registry): readonly AuditEntry[] {
  return audit.list({ page: 1, size: 1_000 }).entries;
}

const DOOR = {
  id: "00aa",
  type: "anonymous",
  permission: FULL_PERMISSIONS,
  sessionLength: 60,
  sharedToken: "let me in, please",
  isLoopbackOnly: false,
} as const;

const STAFF = {
  id: "00bb",
  type: "tokenWebhook",
  webhookUrl: "https://example.com/",
  secrets: [Buffer.alloc(128, 1).toString("base64")],
} as const;

const OTHER_SECRET = Buffer.alloc(128, 2).toString("base64");

/** Changes of every kind. Returns the texts that must not be told. */
async function changeAll({ apps, keys, replications }: Registry): Promise<string[]> {
  await apps.create({ name: "shop", id: ID }, ANN);
  await apps.setProviders("shop", () => ({ door: DOOR, staff: STAFF }), ANN);
  await apps.setSettings("shop", { isV4Strict: true }, ANN);
  await apps.rotateSessionKey("shop", ANN);
  const texts = [
    await keys.create(ID, { name: "till", permissions: FULL_PERMISSIONS }, ANN),
    await keys.rotate(ID, "till", { graceSeconds: 60 }, ANN),
  ];
  await keys.replace(ID, "till", { permissions: FULL_PERMISSIONS, description: "x" }, ANN);
  await keys.remove(ID, "till", ANN);
  await replications.create(ID, { name: "north" }, ANN);
  await replications.update(ID, "north", { connections: ["north:1"] }, ANN);
  await replications.remove(ID, "north", ANN);
  await apps.remove("shop", BOB);
  await apps.restore(ID, BOB);
  await apps.remove("shop", BOB);
  await apps.forget(ID);
  return [...texts.map((text) => text.slice(12)), DOOR.sharedToken, ...STAFF.secrets];
}

test("every change has its entry, the newest first", async () => {
  const { registry, platform } = await openRegistry();
  const secrets = await changeAll(registry);
  const at = platform.nowMs;
  const ann = { at, actor: "ann", requestId: "r-1" };
  const app = "app/shop";
  const key = "app/shop/apiKey/till";
  const replication = "app/shop/bigPeerReplication/north";
  const entries = entriesOf(registry);
  const deletion = {
    at,
    actor: "bob",
    action: "app.delete",
    target: app,
    detail: `id ${ID}, keys 0, replications 0`,
  };
  const first = { at, actor: "server" };
  expect(entries.toReversed()).toEqual([
    { ...first, action: "app.create", target: "app/default", detail: expect.any(String) },
    {
      ...first,
      action: "provider.create",
      target: "app/default/provider/development",
      detail: "type anonymous",
    },
    { ...ann, action: "app.create", target: app, detail: `id ${ID}` },
    { ...ann, action: "provider.create", target: `${app}/provider/door`, detail: "type anonymous" },
    {
      ...ann,
      action: "provider.create",
      target: `${app}/provider/staff`,
      detail: "type tokenWebhook",
    },
    { ...ann, action: "app.setSettings", target: app, detail: "strictV4 true" },
    { ...ann, action: "app.rotateSessionKey", target: app },
    {
      ...ann,
      action: "apiKey.create",
      target: key,
      detail: expect.stringMatching(/^id [0-9a-f]{8}$/),
    },
    { ...ann, action: "apiKey.rotate", target: key, detail: "grace 60 s" },
    { ...ann, action: "apiKey.replace", target: key, detail: "description" },
    { ...ann, action: "apiKey.delete", target: key },
    { ...ann, action: "bigPeerReplication.create", target: replication },
    { ...ann, action: "bigPeerReplication.update", target: replication, detail: "connections" },
    { ...ann, action: "bigPeerReplication.delete", target: replication },
    deletion,
    { at, actor: "bob", action: "app.restore", target: app, detail: `id ${ID}` },
    deletion,
    { at, actor: "server", action: "app.purge", target: app, detail: `id ${ID}` },
  ]);
  for (const secret of secrets) expect(JSON.stringify(entries)).not.toContain(secret);
});

/** What the newest entries say after one change: action, target and detail of each. */
async function reportedOf(registry: Registry, change: () => Promise<unknown>): Promise<string[]> {
  const { total } = registry.audit.list({ page: 1, size: 1 });
  await change();
  const added = entriesOf(registry).slice(0, -total);
  return added.toReversed().map(({ action, target, detail = "" }) => {
    return `${action} ${target} ${detail}`.trim();
  });
}

test("a change of providers has an entry for each changed one, with the changed fields", async () => {
  const { registry } = await openRegistry();
  const { apps } = registry;
  await apps.create({ name: "shop" }, ANN);
  const set = (providers: AuthProviders): Promise<string[]> =>
    reportedOf(registry, () => apps.setProviders("shop", () => providers, ANN));
  const door = "app/shop/provider/door";
  const staff = "app/shop/provider/staff";
  expect(await set({ door: DOOR })).toEqual([`provider.create ${door} type anonymous`]);
  expect(await set({ door: { ...DOOR, sessionLength: 61, sharedToken: "x".repeat(16) } })).toEqual([
    `provider.replace ${door} sessionLength, sharedToken`,
  ]);
  expect(await set({ door: STAFF, staff: STAFF })).toEqual([
    `provider.replace ${door} type, permission, sessionLength, loopbackOnly, sharedToken, ` +
      "webhookUrl, secrets",
    `provider.create ${staff} type tokenWebhook`,
  ]);
  expect(await set({ staff: { ...STAFF, secrets: [OTHER_SECRET, ...STAFF.secrets] } })).toEqual([
    `provider.delete ${door}`,
    `provider.rotateSecret ${staff}`,
  ]);
});

test("the entry of a change of settings, a key or a replication has the changed fields", async () => {
  const { registry } = await openRegistry();
  const { apps, keys, replications } = registry;
  const { id } = apps.named("default");
  const settings = { isV4Strict: true, isUnknownEmpty: true };
  expect(await reportedOf(registry, () => apps.setSettings("default", settings, ANN))).toEqual([
    "app.setSettings app/default strictV4 true, unknownCollectionsAreEmpty true",
  ]);
  expect(
    await reportedOf(registry, () =>
      apps.setSettings("default", { ...settings, isV4Strict: false }, ANN),
    ),
  ).toEqual(["app.setSettings app/default strictV4 false"]);
  await keys.create(id, { name: "till", permissions: FULL_PERMISSIONS, description: "x" }, ANN);
  const content = {
    permissions: { ...FULL_PERMISSIONS, remoteQuery: false },
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
  expect(await reportedOf(registry, () => keys.replace(id, "till", content, ANN))).toEqual([
    "apiKey.replace app/default/apiKey/till permissions, description, expiresAt",
  ]);
  await replications.create(id, { name: "north" }, ANN);
  const change = { connections: ["a:1"], queriesByCollection: { cars: ["true"] } };
  expect(await reportedOf(registry, () => replications.update(id, "north", change, ANN))).toEqual([
    "bigPeerReplication.update app/default/bigPeerReplication/north connections, queriesByCollection",
  ]);
});

test("a call that changes nothing has no entry, and makes no transaction", async () => {
  const { registry } = await openRegistry();
  const { apps, keys, replications } = registry;
  const { id, settings } = apps.named("default");
  const till = { name: "till", permissions: FULL_PERMISSIONS };
  await keys.create(id, till, ANN);
  await replications.create(id, { name: "north" }, ANN);
  const { txnId } = registry.storeFolder.store;
  const reported = await reportedOf(registry, async () => {
    await apps.setSettings("default", {}, ANN);
    await apps.setSettings("default", settings, ANN);
    await apps.setProviders("default", (before) => ({ ...before }), ANN);
    await keys.replace(id, "till", till, ANN);
    await replications.update(id, "north", { connections: null }, ANN);
    await apps.forget(ID);
  });
  expect(reported).toEqual([]);
  expect(registry.storeFolder.store.txnId).toBe(txnId);
});

test("a refused change has no entry", async () => {
  const { registry } = await openRegistry();
  const before = entriesOf(registry);
  await expect(registry.apps.create({ name: "default" }, ANN)).rejects.toThrow("AppNameNotUnique");
  await expect(registry.apps.remove("nobody", ANN)).rejects.toThrow("AppNotFound");
  await registry.apps.forget(ID);
  expect(entriesOf(registry)).toEqual(before);
});

test("entries have pages, from 1 on", async () => {
  const { registry } = await openRegistry();
  await changeAll(registry);
  const all = entriesOf(registry);
  const pages = [1, 2, 3, 4].map((page) => registry.audit.list({ page, size: 7 }));
  expect(pages.map(({ total }) => total)).toEqual([18, 18, 18, 18]);
  expect(pages.map(({ entries }) => entries.length)).toEqual([7, 7, 4, 0]);
  expect(pages.flatMap(({ entries }) => entries)).toEqual(all);
});

test.runIf(isFullSize)("the last 10,000 entries are kept", async () => {
  const { registry } = await openRegistry();
  const { store } = registry.storeFolder;
  await store.transact((transaction) => {
    const fields = { at: 1, actor: "ann", action: "app.create", target: "app/a" };
    // The first start made the entries 1 and 2.
    const ids = Array.from({ length: 9_997 }, (_, i) => i + 3);
    transaction.apply(ids.map((id) => ({ kind: "insert", collection: "audit", id, fields })));
  });
  const change = (): Promise<unknown> => registry.apps.rotateSessionKey("default", BOB);
  await change();
  expect(registry.audit.list({ page: 1, size: 1 }).total).toBe(10_000);
  await Promise.all([change(), change(), change()]);
  expect(registry.audit.list({ page: 1, size: 1 }).total).toBe(10_000);
  const ids = store.read((view) => [...view.scanIds("audit")]);
  expect([ids[0], ids.at(-1)]).toEqual([4, 10_003]);
  expect(registry.audit.list({ page: 10_000, size: 1 }).entries).toHaveLength(1);
  expect(registry.audit.list({ page: 10_001, size: 1 }).entries).toEqual([]);
});

test("[M32] runs have their own log, displace no change entry, and do not notify registry listeners", async () => {
  const { registry } = await openRegistry();
  await registry.apps.create({ name: "shop", id: ID }, ANN);
  const changes = entriesOf(registry);
  const app = registry.apps.get(ID);
  const audited = { action: "remote.execute", target: "app/shop", detail: "2 peers: SELECT" };
  for (let i = 0; i < 3; i++) await registry.record(ANN, audited, "runs");
  expect(registry.runs.list({ page: 1, size: 2 })).toEqual({
    entries: Array.from({ length: 2 }, () => ({ at: expect.any(Number), ...ANN, ...audited })),
    total: 3,
  });
  expect(entriesOf(registry)).toEqual(changes);
  // What is remembered of apps stays the very same.
  expect(registry.apps.get(ID)).toBe(app);
});
