/**
 * The registry as a whole: the first start, later ones, what was lost, and folders of the version
 * before it knew more than names.
 */

import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { verify } from "@bigpeer/engine/store";
import { createStore, readStore } from "@bigpeer/node";
import type { ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { type TestPlatform, testPlatform } from "../../../engine/test/support/test-platform.ts";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { registryFolder } from "../../src/config/data-folder.ts";
import { appOf } from "../../src/registry/app.ts";
import { Registry } from "../../src/registry/registry.ts";
import { openRegistry } from "../support/open-registry.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const GOLDEN = fileURLToPath(new URL("../golden/format-1", import.meta.url));
const DAY_MS = 86_400_000;
const AUTHOR = { actor: "ann" };

test("the first start creates one app named default, the next one finds it", async () => {
  const { registry, dataDir, reopen } = await openRegistry();
  const apps = registry.apps.list();
  expect(apps).toEqual([
    {
      id: expect.stringMatching(UUID),
      name: "default",
      settings: { isV4Strict: false, isUnknownEmpty: false },
      authProviders: {
        development: {
          id: expect.stringMatching(/^[0-9a-f]{16}$/),
          type: "anonymous",
          permission: FULL_PERMISSIONS,
          sessionLength: 604_800,
          sharedToken: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
          isLoopbackOnly: true,
        },
      },
      sessionKeys: [
        { id: expect.stringMatching(/^[0-9a-f]{16}$/), secret: expect.any(Uint8Array) },
      ],
      createdAt: expect.any(Number),
    },
  ]);
  expect(apps[0]?.sessionKeys[0]?.secret).toHaveLength(32);
  const again = await reopen();
  expect(again.apps.list()).toEqual(apps);
  expect(readdirSync(join(dataDir, "apps"))).toEqual([apps[0]?.id]);
});

test("listeners receive which apps and keys a change affected, and nothing about uses", async () => {
  const { registry } = await openRegistry();
  const [app] = registry.apps.list();
  const appId = app?.id ?? "";
  const reported: string[][] = [];
  const stop = registry.onChange(
    ({ appIds, keyIds }) => void reported.push([...appIds, ...keyIds]),
  );
  const permissions = FULL_PERMISSIONS;
  const text = await registry.keys.create(appId, { name: "till", permissions }, AUTHOR);
  const keyId = text.slice(3, 11);
  await registry.apps.setSettings("default", { isV4Strict: true }, AUTHOR);
  // What is so already is no change, and neither is the use of a key.
  await registry.apps.setSettings("default", { isV4Strict: true }, AUTHOR);
  registry.keys.find(text);
  await registry.keys.flushUses();
  await registry.apps.remove("default", AUTHOR);
  expect(reported).toEqual([[keyId], [appId], [appId, keyId]]);
  stop();
  await registry.apps.restore(appId, AUTHOR);
  expect(reported).toHaveLength(3);
});

test("a deleted app does not come back at the next start", async () => {
  const { registry, reopen } = await openRegistry();
  const { id } = await registry.apps.remove("default", AUTHOR);
  await registry.apps.forget(id);
  const again = await reopen();
  expect(again.apps.list()).toEqual([]);
  expect(again.apps.deleted()).toEqual([]);
});

test("changes are the same after a restart", async () => {
  const { registry, reopen } = await openRegistry();
  const { id } = await registry.apps.create({ name: "shop" }, AUTHOR);
  const text = await registry.keys.create(
    id,
    { name: "till", permissions: FULL_PERMISSIONS },
    AUTHOR,
  );
  const given = {
    name: "north",
    connections: ["north:4040"],
    queriesByCollection: { cars: ["true"] },
  };
  await registry.replications.create(id, given, AUTHOR);
  const before = stateOf(registry, id);
  const again = await reopen();
  expect(stateOf(again, id)).toEqual(before);
  expect(again.keys.find(text)?.appId).toBe(id);
});

function stateOf({ apps, keys, replications, audit }: Registry, appId: string): unknown {
  return [
    apps.list(),
    keys.list(appId),
    replications.list(appId),
    audit.list({ page: 1, size: 100 }),
  ];
}

test("a lost registry is reported, not created again", async () => {
  const dataDir = temporaryFolder();
  await (await Registry.open(dataDir, testHost())).close();
  rmSync(join(dataDir, "registry"), { recursive: true });
  await expect(Registry.open(dataDir, testHost())).rejects.toMatchObject({
    code: "store.corrupt",
    message: `expected the registry of the apps in ${join(dataDir, "registry")}, found none`,
  });
});

test("an id that is not a UUID never becomes the name of a folder", async () => {
  const { registry } = await openRegistry();
  await insertApp(registry, "../../etc", { name: "x" });
  const { apps } = registry;
  expect(apps.names().map(({ name }) => name)).toEqual(["default"]);
  expect(apps.list().map(({ name }) => name)).toEqual(["default"]);
  expect(() => apps.named("x")).toThrow("AppNotFound");
  expect(apps.get("../../etc")).toBeUndefined();
});

test("an app that cannot be read is an error for its callers, and breaks no other", async () => {
  const { registry, lines } = await openRegistry();
  const { apps } = registry;
  const id = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";
  await insertApp(registry, id, { name: "broken", authProviders: { door: { type: "magic" } } });
  const corrupt = expect.objectContaining({ code: "store.corrupt" });
  expect(() => apps.named("broken")).toThrow(corrupt);
  expect(() => apps.get(id)).toThrow(corrupt);
  expect(apps.named("default").name).toBe("default");
  expect(apps.names().map(({ name }) => name)).toEqual(["broken", "default"]);
  expect(lines).toEqual([]);
  expect(apps.list().map(({ name }) => name)).toEqual(["default"]);
  expect(lines).toEqual([
    expect.stringContaining(
      `error failed to read the app ${id} (run bigpeer verify): expected auth providers in the`,
    ),
  ]);
  await apps.create({ name: "shop" }, AUTHOR);
  expect(apps.count).toBe(3);
});

async function insertApp(
  { storeFolder: { store } }: Registry,
  id: string,
  fields: ValueObject,
): Promise<void> {
  await store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "apps", id, fields }]);
  });
}

test("the store of the registry verifies clean after changes of every type", async () => {
  const { registry, dataDir } = await openRegistry();
  const { id } = await registry.apps.create({ name: "shop" }, AUTHOR);
  await registry.keys.create(id, { name: "till", permissions: FULL_PERMISSIONS }, AUTHOR);
  await registry.keys.rotate(id, "till", { graceSeconds: 10 }, AUTHOR);
  await registry.replications.create(id, { name: "north" }, AUTHOR);
  await registry.apps.setSettings("shop", { isV4Strict: true }, AUTHOR);
  await registry.apps.remove("shop", AUTHOR);
  await registry.close();
  const report = await readStore(registryFolder(dataDir), (view) => verify(view.reader));
  expect(report.problems).toEqual([]);
});

interface FirstVersion {
  readonly dataDir: string;
  readonly appId: string;
  /** Of a key. */
  readonly text: string;
  readonly platform: TestPlatform;
  readonly open: () => Promise<Registry>;
}

/** A folder of the first version, with a key as it wrote them. */
async function firstVersion(): Promise<FirstVersion> {
  const dataDir = join(temporaryFolder(), "data");
  cpSync(GOLDEN, dataDir, { recursive: true });
  const platform = testPlatform();
  const host = { ...testHost(), platform };
  const opened = await createStore(registryFolder(dataDir), host);
  const [app] = opened.store.read((view) => [...view.scan("apps")].map(appOf));
  if (app === undefined) throw new Error("expected an app");
  expect(app.sessionKeys).toEqual([]);
  const text = `bp_0a1b2c3d_${"x".repeat(43)}`;
  const permissions = {
    read: { everything: true },
    write: { everything: true },
    remoteQuery: true,
  };
  const hash = host.platform.sha256(new Uint8Array(Buffer.from(text)));
  const fields = { appId: app.id, hash, permissions, createdAt: 1 };
  await opened.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "api_keys", id: "0a1b2c3d", fields }]);
  });
  await opened.close();
  const open = (): Promise<Registry> => Registry.open(dataDir, host);
  return { dataDir, appId: app.id, text, platform, open };
}

test("an app of the first version gets a session key, once, and a key gets a name", async () => {
  const { appId, text, open } = await firstVersion();
  const registry = await open();
  const app = registry.apps.named("default");
  expect(app).toEqual({
    id: appId,
    name: "default",
    settings: { isV4Strict: false, isUnknownEmpty: false },
    authProviders: {},
    sessionKeys: [{ id: expect.any(String), secret: expect.any(Uint8Array) }],
    createdAt: 0,
  });
  expect(registry.keys.find(text)).toEqual({
    id: "0a1b2c3d",
    name: "key-0a1b2c3d",
    appId,
    permissions: FULL_PERMISSIONS,
    until: Number.POSITIVE_INFINITY,
  });
  expect(registry.keys.get(appId, "key-0a1b2c3d").createdAt).toBe(1);
  await registry.close();
  const again = await open();
  expect(again.apps.named("default")).toEqual(app);
  await again.close();
});

test("a registry of the first version can be read while its clock is not confirmed", async () => {
  const { appId, text, platform, open } = await firstVersion();
  platform.nowMs += 40 * DAY_MS;
  const registry = await open();
  expect(registry.apps.named("default").id).toBe(appId);
  expect(registry.keys.find(text)?.appId).toBe(appId);
  expect(registry.keys.list(appId).map(({ name }) => name)).toEqual(["key-0a1b2c3d"]);
  const created = registry.apps.create({ name: "shop" }, AUTHOR);
  await expect(created).rejects.toMatchObject({ code: "clock.ahead" });
  await registry.close();
});
