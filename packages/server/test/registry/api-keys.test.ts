/**
 * API keys: what they look like, what is kept of them, which texts open something and for how long.
 */

import { FULL_PERMISSIONS, type Permissions } from "@bigpeer/engine/query";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { ApiKeys, type KnownKey } from "../../src/registry/api-keys.ts";
import { RegistryStore } from "../../src/registry/registry-store.ts";
import { type OpenRegistry, openRegistry } from "../support/open-registry.ts";

const AUTHOR = { actor: "ann" };
const TILL = { name: "till", permissions: FULL_PERMISSIONS };

/** What the text of a key opens that was made as TILL: its id is in it. */
function keyOfText(text: string, appId: string, until = Number.POSITIVE_INFINITY): KnownKey {
  return { id: text.slice(3, 11), name: TILL.name, appId, permissions: TILL.permissions, until };
}
const CARS: Permissions = {
  read: { everything: false, queriesByCollection: { cars: ["colour == 'blue'"] } },
  write: { everything: false, queriesByCollection: {} },
  remoteQuery: false,
};

interface OpenKeys extends OpenRegistry {
  readonly keys: ApiKeys;
  readonly appId: string;
}

async function openKeys(): Promise<OpenKeys> {
  const opened = await openRegistry();
  const { apps, keys } = opened.registry;
  return { ...opened, keys, appId: apps.named("default").id };
}

function titled(title: string): unknown {
  return expect.objectContaining({ name: "RegistryFault", title });
}

/** The text with its character at `index` replaced by another one. */
function change(text: string, index: number): string {
  return text.slice(0, index) + (text[index] === "a" ? "b" : "a") + text.slice(index + 1);
}

test("[H15] a key has a prefix, a lookup id, and 256 random bits", async () => {
  const { keys } = await openKeys();
  const texts = Array.from({ length: 50 }, () => keys.draw());
  for (const text of texts) expect(text).toMatch(/^bp_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/);
  expect(new Set(texts.map((text) => text.slice(-43))).size).toBe(50);
});

test("a drawn text opens nothing before it is added", async () => {
  const { keys, appId } = await openKeys();
  expect(keys.isUnused).toBe(true);
  const text = keys.draw();
  expect(keys.find(text)).toBeUndefined();
  expect(keys.isUnused).toBe(true);
  await keys.add(text, { appId, permissions: FULL_PERMISSIONS });
  const id = text.slice(3, 11);
  expect(keys.find(text)).toEqual({ ...keyOfText(text, appId), name: `key-${id}` });
  expect(keys.get(appId, `key-${id}`).id).toBe(id);
});

test("a registry that ever had a key is not unused, even if the key was deleted", async () => {
  const { keys, appId, reopen } = await openKeys();
  await keys.create(appId, TILL, AUTHOR);
  await keys.remove(appId, "till", AUTHOR);
  expect(keys.isUnused).toBe(false);
  expect((await reopen()).keys.isUnused).toBe(false);
});

test("[H2] a text that differs anywhere opens nothing", async () => {
  const { keys, appId } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  for (let i = 0; i < text.length; i++)
    expect(keys.find(change(text, i)), `at ${i}`).toBeUndefined();
  const others = ["", text.slice(0, -1), `${text}a`, ` ${text}`, `${text}\n`, text.slice(0, 11)];
  for (const other of others) expect(keys.find(other)).toBeUndefined();
});

test("[H15] only the SHA-256 of a key is stored", async () => {
  const { keys, appId, registry, platform } = await openKeys();
  const text = await keys.create(appId, { ...TILL, description: "in the hall" }, AUTHOR);
  const { store } = registry.storeFolder;
  const found = store.read((view) => view.get("api_keys", text.slice(3, 11)));
  expect(found?.fields).toEqual({
    appId,
    name: "till",
    permissions: {
      remoteQuery: true,
      read: { everything: true, queriesByCollection: {} },
      write: { everything: true, queriesByCollection: {} },
    },
    hash: nodePlatform.sha256(new Uint8Array(Buffer.from(text))),
    description: "in the hall",
    createdAt: platform.nowMs,
  });
});

test("a key whose id is taken is neither drawn nor added", async () => {
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  const draws = [1, 2, 1, 3, 4].values();
  const random = (size: number): Uint8Array => new Uint8Array(size).fill(draws.next().value ?? 0);
  const keys = new ApiKeys(new RegistryStore(store), { ...nodePlatform, random });
  const key = { appId: "any", permissions: FULL_PERMISSIONS };
  const first = keys.draw();
  expect(first.slice(3, 11)).toBe("01010101");
  await keys.add(first, key);
  expect(keys.draw().slice(3, 11)).toBe("03030303");
  await expect(keys.add(first, key)).rejects.toMatchObject({ code: "operation.refused" });
  await expect(keys.add("bp_1", key)).rejects.toMatchObject({ code: "value.invalid" });
});

test("a key is shown without its text", async () => {
  const { keys, appId, platform } = await openKeys();
  const expiresAt = platform.nowMs + 1_000;
  const text = await keys.create(appId, { name: "till", permissions: CARS, expiresAt }, AUTHOR);
  await keys.create(appId, { ...TILL, name: "app", description: "all" }, AUTHOR);
  const till = {
    id: text.slice(3, 11),
    appId,
    name: "till",
    permissions: CARS,
    expiresAt,
    createdAt: platform.nowMs,
  };
  expect(keys.get(appId, "till")).toEqual(till);
  expect(keys.list(appId)).toEqual([
    {
      id: expect.any(String),
      appId,
      name: "app",
      permissions: FULL_PERMISSIONS,
      description: "all",
      createdAt: platform.nowMs,
    },
    till,
  ]);
});

test("invalid input is refused, and nothing is changed", async () => {
  const { keys, appId, registry, platform } = await openKeys();
  await keys.create(appId, TILL, AUTHOR);
  const { store } = registry.storeFolder;
  const before = store.txnId;
  const now = platform.nowMs;
  const other = { ...TILL, name: "other" };
  const wrong: Permissions = {
    ...CARS,
    read: { everything: false, queriesByCollection: { cars: ["colour =="] } },
  };
  const nobody = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";
  const refused: readonly [() => Promise<unknown>, string][] = [
    [() => keys.create(appId, TILL, AUTHOR), "ApiKeyNameNotUnique"],
    [() => keys.create(appId, { ...TILL, name: "Till" }, AUTHOR), "InvalidName"],
    [() => keys.create(nobody, TILL, AUTHOR), "AppNotFound"],
    [() => keys.create(appId, { ...other, expiresAt: now }, AUTHOR), "InvalidApiKeyExpiryDate"],
    [
      () => keys.create(appId, { ...other, expiresAt: now + 0.5 }, AUTHOR),
      "InvalidApiKeyExpiryDate",
    ],
    [
      () => keys.create(appId, { ...other, description: "x".repeat(1_001) }, AUTHOR),
      "InvalidRequest",
    ],
    [() => keys.create(appId, { ...other, permissions: wrong }, AUTHOR), "InvalidRequest"],
    [
      () => keys.replace(appId, "till", { ...TILL, expiresAt: 1 }, AUTHOR),
      "InvalidApiKeyExpiryDate",
    ],
    [() => keys.replace(appId, "other", TILL, AUTHOR), "ApiKeyNotFound"],
    [() => keys.rotate(appId, "other", {}, AUTHOR), "ApiKeyNotFound"],
    [() => keys.rotate(appId, "till", { graceSeconds: -1 }, AUTHOR), "InvalidRequest"],
    [() => keys.rotate(appId, "till", { graceSeconds: 1.5 }, AUTHOR), "InvalidRequest"],
    [() => keys.rotate(appId, "till", { graceSeconds: 2_592_001 }, AUTHOR), "InvalidRequest"],
    [() => keys.remove(appId, "other", AUTHOR), "ApiKeyNotFound"],
    [() => keys.remove(nobody, "till", AUTHOR), "ApiKeyNotFound"],
  ];
  for (const [attempt, title] of refused) await expect(attempt()).rejects.toEqual(titled(title));
  expect(() => keys.get(appId, "other")).toThrow(titled("ApiKeyNotFound"));
  expect(store.txnId).toBe(before);
});

test("an error in permissions has the place in them, and what was expected", async () => {
  const { keys, appId } = await openKeys();
  const read = { everything: false, queriesByCollection: { cars: ["true", "colour =="] } } as const;
  const given = { name: "till", permissions: { ...CARS, read } };
  await expect(keys.create(appId, given, AUTHOR)).rejects.toMatchObject({
    title: "InvalidRequest",
    detail: expect.stringMatching(
      /^expected .* at permissions\.read\.queriesByCollection\.cars\[1\], line 1, column 10/,
    ),
  });
});

test("two apps may have keys of one name; one app may not, not even concurrently", async () => {
  const { keys, appId, registry } = await openKeys();
  const other = await registry.apps.create({ name: "shop" }, AUTHOR);
  await keys.create(other.id, TILL, AUTHOR);
  const made = await Promise.allSettled(
    Array.from({ length: 3 }, () => keys.create(appId, TILL, AUTHOR)),
  );
  expect(made.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(keys.get(appId, "till").id).not.toBe(keys.get(other.id, "till").id);
});

test.runIf(isFullSize)("an app has at most 1,000 keys", async () => {
  const { keys, appId } = await openKeys();
  const names = Array.from({ length: 1_001 }, (_, i) => `key-${i}`);
  const made = await Promise.allSettled(
    names.map((name) => keys.create(appId, { ...TILL, name }, AUTHOR)),
  );
  const refused = made.filter(({ status }) => status === "rejected");
  expect(refused).toEqual([{ status: "rejected", reason: titled("LimitReached") }]);
});

test("a key is the same object until the registry changes", async () => {
  const { keys, appId } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  const found = keys.find(text);
  expect(keys.find(text)).toBe(found);
  await keys.replace(appId, "till", { permissions: CARS }, AUTHOR);
  expect(keys.find(text)).toEqual({ ...(found as KnownKey), permissions: CARS });
});

test("a removed key opens nothing from then on", async () => {
  const { keys, appId } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  expect(keys.find(text)).toEqual(keyOfText(text, appId));
  await keys.remove(appId, "till", AUTHOR);
  expect(keys.find(text)).toBeUndefined();
  expect(keys.list(appId)).toEqual([]);
});

test("a key works until it expires, and no millisecond longer", async () => {
  const { keys, appId, platform } = await openKeys();
  const expiresAt = platform.nowMs + 5_000;
  const text = await keys.create(appId, { ...TILL, expiresAt }, AUTHOR);
  platform.nowMs = expiresAt - 1;
  expect(keys.find(text)).toEqual(keyOfText(text, appId, expiresAt));
  platform.nowMs = expiresAt;
  expect(keys.find(text)).toBeUndefined();
  expect(keys.get(appId, "till").lastUsedAt).toBe(expiresAt - 1);
});

test("a replaced key keeps its name and its text, and loses everything else that is not given", async () => {
  const { keys, appId, platform } = await openKeys();
  const expiresAt = platform.nowMs + 5_000;
  const given = { ...TILL, expiresAt, description: "in the hall" };
  const text = await keys.create(appId, given, AUTHOR);
  const { id, createdAt } = keys.get(appId, "till");
  platform.nowMs += 10;
  const replaced = await keys.replace(appId, "till", { permissions: CARS }, AUTHOR);
  expect(replaced).toEqual({ id, appId, name: "till", createdAt, permissions: CARS });
  expect(keys.get(appId, "till")).toEqual(replaced);
  platform.nowMs = expiresAt;
  expect(keys.find(text)?.permissions).toEqual(CARS);
});

test("a rotated key has a new text at once, and the old one opens nothing", async () => {
  const { keys, appId } = await openKeys();
  const old = await keys.create(appId, TILL, AUTHOR);
  expect(keys.find(old)).toEqual(keyOfText(old, appId));
  const text = await keys.rotate(appId, "till", {}, AUTHOR);
  expect(text.slice(0, 12)).toBe(old.slice(0, 12));
  expect(keys.find(old)).toBeUndefined();
  expect(keys.find(text)).toEqual(keyOfText(old, appId));
});

test("the old text of a rotated key works for the requested grace period", async () => {
  const { keys, appId, platform, reopen } = await openKeys();
  const old = await keys.create(appId, TILL, AUTHOR);
  const until = platform.nowMs + 60_000;
  const text = await keys.rotate(appId, "till", { graceSeconds: 60 }, AUTHOR);
  const again = (await reopen()).keys;
  platform.nowMs = until - 1;
  expect(again.find(old)).toEqual(keyOfText(text, appId, until));
  platform.nowMs += 1;
  expect(again.find(old)).toBeUndefined();
  expect(again.find(text)).toEqual(keyOfText(text, appId));
});

test("the old text of a rotated key expires with the key, and with the next rotation", async () => {
  const { keys, appId, platform } = await openKeys();
  const expiresAt = platform.nowMs + 5_000;
  const first = await keys.create(appId, { ...TILL, expiresAt }, AUTHOR);
  const second = await keys.rotate(appId, "till", { graceSeconds: 60 }, AUTHOR);
  const third = await keys.rotate(appId, "till", { graceSeconds: 60 }, AUTHOR);
  expect(keys.find(first)).toBeUndefined();
  expect(keys.find(second)).toEqual(keyOfText(second, appId, expiresAt));
  platform.nowMs = expiresAt;
  expect(keys.find(second)).toBeUndefined();
  expect(keys.find(third)).toBeUndefined();
});

test("the last use of a key is shown at once, and survives a restart", async () => {
  const { keys, appId, platform, reopen } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  await keys.create(appId, { ...TILL, name: "unused" }, AUTHOR);
  expect(keys.get(appId, "till").lastUsedAt).toBeUndefined();
  platform.nowMs += 100;
  keys.find(text);
  const usedAt = platform.nowMs;
  expect(keys.get(appId, "till").lastUsedAt).toBe(usedAt);
  platform.nowMs += 100;
  await keys.flushUses();
  const again = (await reopen()).keys;
  expect(again.list(appId).map(({ name, lastUsedAt }) => [name, lastUsedAt])).toEqual([
    ["till", usedAt],
    ["unused", undefined],
  ]);
});

test("every answer has the last use, which never goes back, also while it is written", async () => {
  const { keys, appId, platform } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  keys.find(text);
  await keys.flushUses();
  platform.nowMs += 100;
  keys.find(text);
  const usedAt = platform.nowMs;
  const content = { permissions: CARS };
  expect((await keys.replace(appId, "till", content, AUTHOR)).lastUsedAt).toBe(usedAt);
  const flushed = keys.flushUses();
  expect(keys.get(appId, "till").lastUsedAt).toBe(usedAt);
  platform.nowMs += 100;
  keys.find(text);
  await flushed;
  expect(keys.get(appId, "till").lastUsedAt).toBe(usedAt + 100);
  await keys.flushUses();
  expect(keys.get(appId, "till").lastUsedAt).toBe(usedAt + 100);
});

test("a text can be checked without counting as a use", async () => {
  const { keys, appId, platform } = await openKeys();
  const expiresAt = platform.nowMs + 5_000;
  const text = await keys.create(appId, { ...TILL, expiresAt }, AUTHOR);
  expect([keys.opens(text), keys.opens(keys.draw()), keys.opens("")]).toEqual([true, false, false]);
  expect(keys.get(appId, "till").lastUsedAt).toBeUndefined();
  platform.nowMs = expiresAt;
  expect(keys.opens(text)).toBe(false);
});

test("a key replaced by an equal one makes no transaction", async () => {
  const { keys, appId, registry, platform } = await openKeys();
  const expiresAt = platform.nowMs + 5_000;
  const given = { permissions: CARS, expiresAt, description: "in the hall" };
  await keys.create(appId, { ...given, name: "till" }, AUTHOR);
  const { txnId } = registry.storeFolder.store;
  const before = keys.get(appId, "till");
  expect(await keys.replace(appId, "till", given, AUTHOR)).toEqual(before);
  expect(registry.storeFolder.store.txnId).toBe(txnId);
});

test("writing the last uses keeps the key cache, is not in the audit log, and happens once", async () => {
  const { keys, appId, registry } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  const { store } = registry.storeFolder;
  const found = keys.find(text);
  const app = registry.apps.get(appId);
  const { total } = registry.audit.list({ page: 1, size: 1 });
  await keys.flushUses();
  const written = store.txnId;
  expect(keys.find(text)).toBe(found);
  expect(registry.apps.get(appId)).toBe(app);
  expect(registry.audit.list({ page: 1, size: 1 }).total).toBe(total);
  await keys.flushUses();
  expect(store.txnId).toBe(written + 1);
  await keys.flushUses();
  expect(store.txnId).toBe(written + 1);
});

test("a change concurrent with writing the last uses is not missed", async () => {
  const { keys, appId } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  keys.find(text);
  await Promise.all([keys.flushUses(), keys.remove(appId, "till", AUTHOR)]);
  expect(keys.find(text)).toBeUndefined();
  const again = await keys.create(appId, TILL, AUTHOR);
  keys.find(again);
  await Promise.all([keys.remove(appId, "till", AUTHOR), keys.flushUses()]);
  expect(keys.find(again)).toBeUndefined();
  expect(keys.list(appId)).toEqual([]);
});

test("uses that could not be written are written the next time", async () => {
  const { keys, appId, platform, registry } = await openKeys();
  const text = await keys.create(appId, TILL, AUTHOR);
  keys.find(text);
  const usedAt = platform.nowMs;
  const DAYS_40 = 40 * 86_400_000;
  platform.nowMs += DAYS_40;
  await expect(keys.flushUses()).rejects.toMatchObject({ code: "clock.ahead" });
  platform.nowMs -= DAYS_40;
  await keys.flushUses();
  const { store } = registry.storeFolder;
  const stored = store.read((view) => view.get("api_keys", text.slice(3, 11)));
  expect(stored?.fields["lastUsedAt"]).toBe(usedAt);
});
