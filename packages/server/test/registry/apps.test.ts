/**
 * Apps: made, changed and deleted, each change as a whole or not at all.
 */

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { createStore, openStore } from "@bigpeer/node";
import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { appAttachmentsFolder, appFolder, appStoreFolder } from "../../src/config/data-folder.ts";
import type { AuthProvider, AuthProviders } from "../../src/registry/auth-provider.ts";
import type { Registry } from "../../src/registry/registry.ts";
import { openRegistry } from "../support/open-registry.ts";

const AUTHOR = { actor: "ann", requestId: "r-1" };
const ID = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";

const ANONYMOUS: AuthProvider = {
  id: "00aa",
  type: "anonymous",
  permission: FULL_PERMISSIONS,
  sessionLength: 60,
  sharedToken: "let me in, please",
  isLoopbackOnly: false,
};

function titled(title: string): unknown {
  return expect.objectContaining({ name: "RegistryFault", title });
}

/** All that a change could have touched. */
function stateOf({ storeFolder: { store } }: Registry): unknown {
  return store.read((view) =>
    view.collections().map((collection) => [collection, [...view.scan(collection)]]),
  );
}

test("an app has the given name and id, or a generated id", async () => {
  const { registry, platform } = await openRegistry();
  const authProviders = { door: ANONYMOUS };
  const shop = await registry.apps.create(
    { name: "shop", id: ID.toUpperCase(), authProviders },
    AUTHOR,
  );
  expect(shop).toEqual({
    id: ID,
    name: "shop",
    settings: { isV4Strict: false, isUnknownEmpty: false },
    authProviders,
    sessionKeys: [{ id: expect.any(String), secret: expect.any(Uint8Array) }],
    createdAt: platform.nowMs,
  });
  const other = await registry.apps.create({ name: "bar" }, AUTHOR);
  expect(other.id).not.toBe(ID);
  expect(other.sessionKeys).not.toEqual(shop.sessionKeys);
  expect(registry.apps.list().map(({ name }) => name)).toEqual(["bar", "default", "shop"]);
  expect(registry.apps.named("shop")).toEqual(shop);
  expect(registry.apps.get(ID)).toEqual(shop);
});

test("each app has its own store, which exists when the app does", async () => {
  const { registry, dataDir } = await openRegistry();
  await registry.apps.create({ name: "shop" }, AUTHOR);
  const sites = new Set([registry.storeFolder.store.identity.site]);
  for (const { id } of registry.apps.list()) {
    const opened = await openStore(appStoreFolder(dataDir, id), testHost());
    sites.add(opened.store.identity.site);
    await opened.close();
  }
  expect(sites.size).toBe(3);
});

test("an app is the same object until the registry changes", async () => {
  const { registry } = await openRegistry();
  const { id } = registry.apps.named("default");
  const app = registry.apps.get(id);
  expect(registry.apps.get(id)).toBe(app);
  await registry.apps.setSettings("default", { isV4Strict: true }, AUTHOR);
  expect(registry.apps.get(id)?.settings.isV4Strict).toBe(true);
  await registry.apps.remove("default", AUTHOR);
  expect(registry.apps.get(id)).toBeUndefined();
  expect(registry.apps.get("nothing")).toBeUndefined();
});

test("invalid input is refused, and nothing is changed", async () => {
  const { registry, dataDir } = await openRegistry();
  await registry.apps.create({ name: "shop", id: ID }, AUTHOR);
  const before = stateOf(registry);
  const folders = readdirSync(join(dataDir, "apps")).toSorted();
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`p${i}`, ANONYMOUS]));
  const { apps } = registry;
  const refused: readonly [() => Promise<unknown>, string][] = [
    [() => apps.create({ name: "Shop" }, AUTHOR), "InvalidName"],
    [() => apps.create({ name: "" }, AUTHOR), "InvalidName"],
    [() => apps.create({ name: "shop" }, AUTHOR), "AppNameNotUnique"],
    [() => apps.create({ name: "other", id: ID }, AUTHOR), "AppIdNotUnique"],
    [() => apps.create({ name: "other", id: "../../etc" }, AUTHOR), "InvalidRequest"],
    [() => apps.create({ name: "other", authProviders: many }, AUTHOR), "LimitReached"],
    [() => apps.setProviders("shop", () => many, AUTHOR), "LimitReached"],
    [() => apps.setProviders("nobody", () => ({}), AUTHOR), "AppNotFound"],
    [() => apps.setSettings("nobody", {}, AUTHOR), "AppNotFound"],
    [() => apps.rotateSessionKey("nobody", AUTHOR), "AppNotFound"],
    [() => apps.remove("nobody", AUTHOR), "AppNotFound"],
    [() => apps.remove("N".repeat(5_000), AUTHOR), "AppNotFound"],
  ];
  for (const [change, title] of refused) await expect(change()).rejects.toEqual(titled(title));
  expect(() => apps.named("nobody")).toThrow(titled("AppNotFound"));
  expect(stateOf(registry)).toEqual(before);
  expect(readdirSync(join(dataDir, "apps")).toSorted()).toEqual(folders);
});

test("of two apps with one name that are created concurrently, one is created", async () => {
  const { registry, dataDir } = await openRegistry();
  const made = await Promise.allSettled(
    Array.from({ length: 5 }, () => registry.apps.create({ name: "shop" }, AUTHOR)),
  );
  const reasons = made.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(reasons).toEqual(Array.from({ length: 4 }, () => titled("AppNameNotUnique")));
  expect(readdirSync(join(dataDir, "apps"))).toHaveLength(2);
});

test("of two apps with one id that are created concurrently, one is created", async () => {
  const { registry } = await openRegistry();
  const [first, second] = await Promise.allSettled([
    registry.apps.create({ name: "one", id: ID }, AUTHOR),
    registry.apps.create({ name: "two", id: ID }, AUTHOR),
  ]);
  expect(first.status).toBe("fulfilled");
  expect(second).toEqual({ status: "rejected", reason: titled("AppIdNotUnique") });
  expect(registry.apps.named("one").id).toBe(ID);
});

test("an empty store that a crash left is reused by the next app with this id", async () => {
  const { registry, dataDir } = await openRegistry();
  await (await createStore(appStoreFolder(dataDir, ID), testHost())).close();
  expect((await registry.apps.create({ name: "shop", id: ID }, AUTHOR)).id).toBe(ID);
});

test("an id whose folder holds data is never issued again", async () => {
  const { registry, dataDir } = await openRegistry();
  const opened = await createStore(appStoreFolder(dataDir, ID), testHost());
  await opened.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: 1, fields: {} }]);
  });
  await opened.close();
  const create = (): Promise<unknown> => registry.apps.create({ name: "shop", id: ID }, AUTHOR);
  await expect(create()).rejects.toEqual(titled("AppIdNotUnique"));
  expect(existsSync(appStoreFolder(dataDir, ID))).toBe(true);
  rmSync(appFolder(dataDir, ID), { recursive: true });
  mkdirSync(appAttachmentsFolder(dataDir, ID), { recursive: true });
  writeFileSync(join(appAttachmentsFolder(dataDir, ID), "content"), "x");
  await expect(create()).rejects.toEqual(titled("AppIdNotUnique"));
  expect(readdirSync(appAttachmentsFolder(dataDir, ID))).toEqual(["content"]);
});

test("concurrent changes of providers are each based on the previous result", async () => {
  const { registry } = await openRegistry();
  await registry.apps.create({ name: "shop" }, AUTHOR);
  const names = ["a", "b", "c", "__proto__"];
  const add =
    (name: string) =>
    (before: AuthProviders): AuthProviders => {
      return Object.fromEntries([...Object.entries(before), [name, ANONYMOUS]]);
    };
  await Promise.all(names.map((name) => registry.apps.setProviders("shop", add(name), AUTHOR)));
  expect(Object.entries(registry.apps.named("shop").authProviders)).toEqual(
    expect.arrayContaining(names.map((name) => [name, ANONYMOUS])),
  );
  const app = await registry.apps.setProviders("shop", () => ({}), AUTHOR);
  expect(app.authProviders).toEqual({});
  expect(registry.apps.named("shop").authProviders).toEqual({});
});

test("an error that a change of providers throws is passed on", async () => {
  const { registry } = await openRegistry();
  const before = stateOf(registry);
  const refuse = (): never => {
    throw new RangeError("no such provider");
  };
  await expect(registry.apps.setProviders("default", refuse, AUTHOR)).rejects.toThrow(RangeError);
  expect(stateOf(registry)).toEqual(before);
});

test("settings that are not given stay unchanged", async () => {
  const { registry } = await openRegistry();
  const { apps } = registry;
  const strict = { isV4Strict: true, isUnknownEmpty: false };
  expect(await apps.setSettings("default", { isV4Strict: true }, AUTHOR)).toEqual(strict);
  const both = { isV4Strict: true, isUnknownEmpty: true };
  expect(await apps.setSettings("default", { isUnknownEmpty: true }, AUTHOR)).toEqual(both);
  expect(apps.named("default").settings).toEqual(both);
});

test("a new session key signs, and the previous one still verifies", async () => {
  const { registry } = await openRegistry();
  const { apps } = registry;
  const [first] = apps.named("default").sessionKeys;
  await apps.rotateSessionKey("default", AUTHOR);
  const [second, kept] = apps.named("default").sessionKeys;
  expect(kept).toEqual(first);
  expect(second).not.toEqual(first);
  await apps.rotateSessionKey("default", AUTHOR);
  expect(apps.named("default").sessionKeys).toEqual([expect.anything(), second]);
});

test("an app is deleted with its keys and its replications, and those of others stay", async () => {
  const { registry, platform } = await openRegistry();
  const { apps, keys, replications } = registry;
  const shop = await apps.create({ name: "shop" }, AUTHOR);
  const other = apps.named("default");
  const given = { name: "till", permissions: FULL_PERMISSIONS };
  const gone = await keys.create(shop.id, given, AUTHOR);
  const stays = await keys.create(other.id, given, AUTHOR);
  await replications.create(shop.id, { name: "north" }, AUTHOR);
  await replications.create(other.id, { name: "south" }, AUTHOR);
  expect(await apps.remove("shop", AUTHOR)).toEqual(shop);
  expect(keys.find(gone)).toBeUndefined();
  expect(keys.find(stays)?.appId).toBe(other.id);
  expect(keys.list(shop.id)).toEqual([]);
  expect(replications.list(shop.id)).toEqual([]);
  expect(replications.list(other.id)).toHaveLength(1);
  expect(apps.deleted()).toEqual([{ id: shop.id, name: "shop", deletedAt: platform.nowMs }]);
});

test("the name of a deleted app is free at once, its id when its data is gone", async () => {
  const { registry, dataDir } = await openRegistry();
  const { apps } = registry;
  await apps.create({ name: "shop", id: ID }, AUTHOR);
  await apps.remove("shop", AUTHOR);
  const again = await apps.create({ name: "shop" }, AUTHOR);
  expect(again.id).not.toBe(ID);
  await expect(apps.create({ name: "bar", id: ID }, AUTHOR)).rejects.toEqual(
    titled("AppIdNotUnique"),
  );
  expect(existsSync(appStoreFolder(dataDir, ID))).toBe(true);
  rmSync(appFolder(dataDir, ID), { recursive: true });
  await apps.forget(ID);
  await apps.forget(ID);
  expect(apps.deleted()).toEqual([]);
  expect((await apps.create({ name: "bar", id: ID }, AUTHOR)).id).toBe(ID);
});

test("a deleted app can be restored with its providers, settings and sessions", async () => {
  const { registry, reopen } = await openRegistry();
  const { apps, keys, replications } = registry;
  await apps.create({ name: "shop", id: ID, authProviders: { door: ANONYMOUS } }, AUTHOR);
  await apps.setSettings("shop", { isV4Strict: true }, AUTHOR);
  await apps.rotateSessionKey("shop", AUTHOR);
  const text = await keys.create(ID, { name: "till", permissions: FULL_PERMISSIONS }, AUTHOR);
  await replications.create(ID, { name: "north" }, AUTHOR);
  const before = await apps.remove("shop", AUTHOR);
  expect(apps.get(ID)).toBeUndefined();
  expect(await apps.restore(ID.toUpperCase(), AUTHOR)).toEqual(before);
  expect(apps.deleted()).toEqual([]);
  expect(apps.named("shop")).toEqual(before);
  expect([keys.find(text), keys.list(ID), replications.list(ID)]).toEqual([undefined, [], []]);
  expect((await reopen()).apps.named("shop")).toEqual(before);
});

test("an app is not restored if its name is taken, or its data is removed or being removed", async () => {
  const { registry, dataDir, platform } = await openRegistry();
  const { apps } = registry;
  const restore = (id: string): Promise<unknown> => apps.restore(id, AUTHOR);
  for (const id of [ID, "default", "", "../../etc", apps.named("default").id]) {
    await expect(restore(id)).rejects.toEqual(titled("AppNotFound"));
  }
  await apps.create({ name: "shop", id: ID }, AUTHOR);
  await apps.remove("shop", AUTHOR);
  await apps.create({ name: "shop" }, AUTHOR);
  await expect(restore(ID)).rejects.toEqual(titled("AppNameNotUnique"));
  const [deleted] = apps.deleted();
  expect(await apps.beginRemoval(ID, 1)).toBe(false);
  platform.nowMs += 1;
  expect(await apps.beginRemoval(ID, 1)).toBe(true);
  expect(await apps.beginRemoval(ID, 1)).toBe(true);
  expect(apps.deleted()).toEqual([{ ...deleted, isBeingRemoved: true }]);
  await apps.remove("shop", AUTHOR);
  await expect(restore(ID)).rejects.toEqual(titled("AppNotFound"));
  await apps.forget(ID);
  await expect(restore(ID)).rejects.toEqual(titled("AppNotFound"));
  expect(await apps.beginRemoval(ID, 0)).toBe(false);
  const [other] = apps.deleted();
  rmSync(appFolder(dataDir, other?.id ?? ""), { recursive: true });
  await expect(restore(other?.id ?? "")).rejects.toEqual(titled("AppNotFound"));
});

test("an app that an earlier version deleted is restored with a new session key", async () => {
  const { registry } = await openRegistry();
  const { apps, storeFolder } = registry;
  await apps.create({ name: "shop", id: ID }, AUTHOR);
  await apps.remove("shop", AUTHOR);
  await storeFolder.store.transact((transaction) => {
    const fields = { name: "shop", deletedAt: 1 };
    const collection = "deleted_apps";
    transaction.apply([{ kind: "insert", collection, id: ID, fields, clean: true }]);
  });
  const { sessionKeys } = await apps.restore(ID, AUTHOR);
  expect(sessionKeys).toHaveLength(1);
  expect(apps.named("shop").sessionKeys).toEqual(sessionKeys);
});

test("of a concurrent removal of data and a restore, one happens", async () => {
  const { registry } = await openRegistry();
  const { apps } = registry;
  await apps.create({ name: "shop", id: ID }, AUTHOR);
  for (const isFirst of [true, false]) {
    await apps.remove("shop", AUTHOR);
    const begin = (): Promise<unknown> => apps.beginRemoval(ID, 0);
    const restore = (): Promise<unknown> => apps.restore(ID, AUTHOR);
    const [first, second] = await Promise.allSettled(
      (isFirst ? [restore, begin] : [begin, restore]).map((each) => each()),
    );
    expect(first?.status).toBe("fulfilled");
    if (isFirst) expect(second).toEqual({ status: "fulfilled", value: false });
    else expect(second).toEqual({ status: "rejected", reason: titled("AppNotFound") });
  }
});

test("an app is found by its name, and all are listed and counted, in each state", async () => {
  const { registry } = await openRegistry();
  const { apps } = registry;
  const shop = await apps.create(
    { name: "shop", id: ID, authProviders: { door: ANONYMOUS } },
    AUTHOR,
  );
  expect(apps.find("shop")).toEqual(shop);
  expect(apps.find("shop")).toBe(apps.get(ID));
  expect([apps.find("nobody"), apps.find("No name")]).toEqual([undefined, undefined]);
  const { id } = apps.named("default");
  expect(apps.names()).toEqual([
    { id, name: "default" },
    { id: ID, name: "shop" },
  ]);
  expect(apps.names()).toBe(apps.names());
  expect(apps.count).toBe(2);
  await apps.remove("default", AUTHOR);
  expect(apps.names()).toEqual([{ id: ID, name: "shop" }]);
  expect([apps.count, apps.find("default")]).toEqual([1, undefined]);
});

test("nothing is added to an app that is deleted concurrently", async () => {
  const { registry } = await openRegistry();
  const { apps, keys, replications } = registry;
  const { id } = apps.named("default");
  const [removed, key, replication] = await Promise.allSettled([
    apps.remove("default", AUTHOR),
    keys.create(id, { name: "till", permissions: FULL_PERMISSIONS }, AUTHOR),
    replications.create(id, { name: "north" }, AUTHOR),
  ]);
  expect(removed.status).toBe("fulfilled");
  expect([key, replication]).toEqual(
    Array.from({ length: 2 }, () => ({ status: "rejected", reason: titled("AppNotFound") })),
  );
  expect(keys.list(id)).toEqual([]);
});
