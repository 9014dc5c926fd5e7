/**
 * API keys by the management API.
 */

import { readPermissions } from "@bigpeer/engine/query";
import { expect, test } from "vitest";
import { openManagement, reported } from "../support/management-api.ts";

const api = await openManagement();
const KEYS = "/app/default/apiKey";
const READ = { read: { everything: true } };
const SHOWN_READ = {
  remoteQuery: false,
  read: { everything: true, queriesByCollection: {} },
  write: { everything: false, queriesByCollection: {} },
};

/** What a key opens: its id is in its text. */
function opened(
  text: string,
  permissions: object = READ,
  until: number = Number.POSITIVE_INFINITY,
): unknown {
  const { id: appId } = api.registry.apps.named("default");
  const name: unknown = expect.any(String);
  return { id: text.slice(3, 11), name, appId, permissions: readPermissions(permissions), until };
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

async function create(body: object): Promise<string> {
  return (await api.must("POST", KEYS, body)) as string;
}

test("[M15] a created key is shown once and opens its app", async () => {
  const text = await create({ name: "till", permissions: READ });
  expect(text).toMatch(/^bp_[0-9a-f]{8}_[\w-]{43}$/);
  expect(api.registry.keys.find(text)).toEqual(opened(text));
  expect(JSON.stringify(await api.get(KEYS))).not.toContain(text);
  expect(JSON.stringify(await api.get("/audit"))).not.toContain(text);
  expect(await api.fail("POST", KEYS, { name: "till", permissions: READ })).toBe(
    "409 ApiKeyNameNotUnique",
  );
  await api.must("DELETE", `${KEYS}/till`);
});

test("[M15] permissions are required and checked to the last query", async () => {
  expect(await api.fail("POST", KEYS, { name: "till" })).toBe("400 InvalidRequest");
  const queries = { cars: ["true", "color ="] };
  const permissions = { read: { everything: false, queriesByCollection: queries } };
  const { status, body } = await api.ask("POST", KEYS, { name: "till", permissions });
  expect({ status, body }).toEqual({
    status: 400,
    body: {
      title: "InvalidRequest",
      detail: expect.stringContaining("permissions.read.queriesByCollection.cars[1]"),
    },
  });
  for (const wrong of [{ read: { everything: 1 } }, { reed: {} }, [], "all"]) {
    expect(await api.fail("POST", KEYS, { name: "till", permissions: wrong })).toBe(
      "400 InvalidRequest",
    );
  }
  expect(await api.fail("GET", `${KEYS}/till`)).toBe("404 ApiKeyNotFound");
});

test("[M15] a key with an expiry works until then; an expiry in the past is refused", async () => {
  const past = { name: "till", permissions: READ, expiresAt: "2001-01-01T00:00:00Z" };
  expect(await api.fail("POST", KEYS, past)).toBe("400 InvalidApiKeyExpiryDate");
  const wrong = { ...past, expiresAt: "tomorrow" };
  expect(await api.fail("POST", KEYS, wrong)).toBe("400 InvalidRequest");
  const text = await create({ ...past, expiresAt: "2101-01-01T00:00:00+01:00" });
  const until = Date.parse("2100-12-31T23:00:00.000Z");
  expect(api.registry.keys.find(text)).toEqual(opened(text, READ, until));
  expect(await api.get(`${KEYS}/till`)).toEqual({
    name: "till",
    description: null,
    permissions: SHOWN_READ,
    expiresAt: "2100-12-31T23:00:00.000Z",
    createdAt: TIME,
    lastUsedAt: TIME,
  });
  await api.must("DELETE", `${KEYS}/till`);
});

test("[M16] a key shows when it was created, and when it was used", async () => {
  const text = await create({ name: "till", permissions: READ, description: "in the hall" });
  const shown = {
    name: "till",
    description: "in the hall",
    permissions: SHOWN_READ,
    expiresAt: null,
    createdAt: TIME,
  };
  expect(await api.get(`${KEYS}/till`)).toEqual({ ...shown, lastUsedAt: null });
  api.registry.keys.find(text);
  await api.registry.keys.flushUses();
  expect(await api.get(`${KEYS}/till`)).toEqual({ ...shown, lastUsedAt: shown.createdAt });
  await api.must("DELETE", `${KEYS}/till`);
});

test("[M17] a replaced key keeps its text and loses the fields that are not given", async () => {
  const text = await create({
    name: "till",
    permissions: READ,
    description: "in the hall",
    expiresAt: "2101-01-01T00:00:00Z",
  });
  const permissions = { read: { everything: true }, write: { everything: true } };
  const body = { permissions, description: null };
  expect(await api.must("PUT", `${KEYS}/till`, body)).toEqual({
    name: "till",
    description: null,
    permissions: { ...SHOWN_READ, write: { everything: true, queriesByCollection: {} } },
    expiresAt: null,
    createdAt: TIME,
    lastUsedAt: null,
  });
  expect(api.registry.keys.find(text)).toEqual(opened(text, permissions));
  expect(await api.fail("PUT", `${KEYS}/none`, body)).toBe("404 ApiKeyNotFound");
  await api.must("DELETE", `${KEYS}/till`);
});

test("[M18] a rotated key has a new text; the previous one works for the given grace period", async () => {
  const first = await create({ name: "till", permissions: READ });
  const rotate = async (body?: object): Promise<string> =>
    (await api.must("POST", `${KEYS}/till/rotate`, body)) as string;
  const second = await rotate();
  const { keys } = api.registry;
  expect([keys.find(first), keys.find(second) === undefined]).toEqual([undefined, false]);
  const third = await rotate({ graceSeconds: 3600 });
  expect(keys.find(second)?.id).toBe(keys.find(third)?.id);
  const fourth = await rotate({ graceSeconds: null });
  expect([keys.find(second), keys.find(third)]).toEqual([undefined, undefined]);
  expect(keys.find(fourth)).toEqual(opened(first));
  for (const graceSeconds of [-1, 1.5, 2_592_001, "1"]) {
    const path = `${KEYS}/till/rotate`;
    expect(await api.fail("POST", path, { graceSeconds })).toBe("400 InvalidRequest");
  }
  expect(await api.fail("POST", `${KEYS}/none/rotate`)).toBe("404 ApiKeyNotFound");
  await api.must("DELETE", `${KEYS}/till`);
});

test("[M19] a deleted key no longer opens anything", async () => {
  const text = await create({ name: "till", permissions: READ });
  expect(await api.must("DELETE", `${KEYS}/till`)).toBeNull();
  expect(api.registry.keys.find(text)).toBeUndefined();
  expect(await api.fail("DELETE", `${KEYS}/till`)).toBe("404 ApiKeyNotFound");
  expect(await api.fail("GET", "/app/none/apiKey/till")).toBe("404 AppNotFound");
});

test("[M11] keys are listed in the order of their names, only those of this app", async () => {
  await api.must("POST", "/app", { name: "shop" });
  for (const name of ["b", "a"]) await create({ name, permissions: READ });
  const listed = {
    name: "a",
    description: null,
    permissions: SHOWN_READ,
    expiresAt: null,
    createdAt: TIME,
    lastUsedAt: null,
  };
  expect(await api.get(`${KEYS}?size=1`)).toEqual({
    data: [listed],
    meta: { page: 1, size: 1, totalPages: 2 },
  });
  expect(await api.get("/app/shop/apiKey")).toEqual({
    data: [],
    meta: { page: 1, size: 0, totalPages: 1 },
  });
  expect(await api.fail("GET", "/app/shop/apiKey/a")).toBe("404 ApiKeyNotFound");
  for (const name of ["b", "a"]) await api.must("DELETE", `${KEYS}/${name}`);
  await api.must("DELETE", "/app/shop");
});

test("[M31] the GET body of a key can be sent back, with its own name and no other", async () => {
  const text = await create({
    name: "till",
    permissions: READ,
    description: "in the hall",
    expiresAt: "2101-01-01T00:00:00Z",
  });
  api.registry.keys.find(text);
  await api.registry.keys.flushUses();
  const shown = (await api.get(`${KEYS}/till`)) as object;
  const times = { createdAt: "2000-01-01T00:00:00Z", lastUsedAt: null };
  for (const given of [shown, { ...shown, name: null }, { ...shown, ...times }]) {
    expect(await api.must("PUT", `${KEYS}/till`, given)).toEqual(shown);
  }
  const detail = "expected till, which cannot be changed, found another text at name";
  expect(reported(await api.ask("PUT", `${KEYS}/till`, { ...shown, name: "other" }))).toEqual({
    status: 400,
    body: { title: "InvalidRequest", detail },
  });
  expect(await api.get(`${KEYS}/till`)).toEqual(shown);
  // Nobody makes a key with a history.
  expect(await api.fail("POST", KEYS, { ...shown, name: "new" })).toBe("400 InvalidRequest");
  await api.must("DELETE", `${KEYS}/till`);
});

test("[M7] optional fields of a key may also be null", async () => {
  const nothing = { everything: false, queriesByCollection: {} };
  for (const permissions of [
    {},
    { qlVersion: null, read: null, write: null, remoteQuery: null },
    { read: { everything: null, queriesByCollection: null } },
  ]) {
    await create({ name: "till", permissions, description: null, expiresAt: null });
    expect(await api.get(`${KEYS}/till`)).toEqual({
      name: "till",
      description: null,
      permissions: { remoteQuery: false, read: nothing, write: nothing },
      expiresAt: null,
      createdAt: TIME,
      lastUsedAt: null,
    });
    await api.must("DELETE", `${KEYS}/till`);
  }
  // Without them nobody could say what is meant.
  expect(await api.fail("POST", KEYS, { name: "till", permissions: null })).toBe(
    "400 InvalidRequest",
  );
});
