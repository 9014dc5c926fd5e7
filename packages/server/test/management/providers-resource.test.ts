/**
 * Auth providers, settings, session keys and the audit log by the management API.
 */

import { readPermissions } from "@bigpeer/engine/query";
import { expect, test } from "vitest";
import { openManagement, reported } from "../support/management-api.ts";

const api = await openManagement();
await api.must("POST", "/app", { name: "shop" });
const PROVIDERS = "/app/shop/provider";
const HOOK = { type: "tokenWebhook", webhookUrl: "https://shop.example.com/login" };
const JWT = { type: "jwt", secret: "s".repeat(32) };
const SHOWN_JWT = { type: "jwt" };
const NO_PERMISSION = {
  remoteQuery: false,
  read: { everything: false, queriesByCollection: {} },
  write: { everything: false, queriesByCollection: {} },
};
const { id: appId } = api.registry.apps.named("shop");
/** Drawn for each provider, and never shown. */
const ANY_ID = expect.any(String);
const NONE = { data: [], meta: { page: 1, size: 0, totalPages: 1 } };

async function put(name: string, config: object): Promise<unknown> {
  return api.must("POST", PROVIDERS, { name, config });
}

function stored(name: string): unknown {
  return api.registry.apps.named("shop").authProviders[name];
}

test("[M20] a provider is created, replaced by the same call, and replaced at its own path", async () => {
  expect(await put("staff", HOOK)).toEqual({
    name: "shop",
    appId,
    authProviders: { staff: HOOK },
  });
  expect(await put("staff", JWT)).toEqual({
    name: "shop",
    appId,
    authProviders: { staff: SHOWN_JWT },
  });
  expect(await api.must("PUT", `${PROVIDERS}/staff`, { config: HOOK })).toEqual({
    name: "staff",
    config: HOOK,
  });
  expect(await api.get(PROVIDERS)).toEqual({
    data: [{ name: "staff", config: HOOK }],
    meta: { page: 1, size: 1, totalPages: 1 },
  });
  const none = `${PROVIDERS}/none`;
  expect(await api.fail("PUT", none, { config: HOOK })).toBe("404 AuthProviderNotFound");
  expect(await api.fail("POST", "/app/none/provider", { name: "a", config: HOOK })).toBe(
    "404 AppNotFound",
  );
  await api.must("DELETE", `${PROVIDERS}/staff`);
});

test.each([
  [{ name: "staff" }, "config"],
  [{ name: "staff", config: { type: "magic" } }, "config.type"],
  [{ name: "staff", config: { ...HOOK, webhookUrl: "ftp://x" } }, "config.webhookUrl"],
  [{ name: "staff", config: { ...HOOK, extra: 1 } }, "config.extra"],
  [{ name: "a b", config: HOOK }, "name"],
  [{ name: "staff", config: HOOK, type: "jwt" }, "type"],
])("[M20] %j is 400 with the place, and nothing changes", async (given, place) => {
  const { status, body } = await api.ask("POST", PROVIDERS, given);
  expect({ status, body }).toEqual({
    status: 400,
    body: { title: "InvalidRequest", detail: expect.stringContaining(` at ${place}`) },
  });
  expect(await api.get(PROVIDERS)).toEqual(NONE);
});

test("[M20] an app has at most 20 providers", async () => {
  const many = Array.from({ length: 20 }, (_, i) => [`p${i}`, HOOK]);
  await api.must("PUT", "/app/shop", { authProviders: Object.fromEntries(many) });
  expect(await api.fail("POST", PROVIDERS, { name: "one-more", config: HOOK })).toBe(
    "409 LimitReached",
  );
  await put("p0", JWT);
  await api.must("PUT", "/app/shop", { authProviders: {} });
});

test("[M21] secrets are kept and never shown", async () => {
  const guests = { type: "anonymous", sharedToken: "open sesame, please", sessionLength: 1 };
  await put("guests", { ...guests, permission: {} });
  await put("tokens", JWT);
  await put("staff", HOOK);
  const secret = (await api.must("POST", `${PROVIDERS}/staff/webhookSecret`)) as string;
  const shownGuests = {
    type: "anonymous",
    sessionLength: 1,
    loopbackOnly: false,
    permission: NO_PERMISSION,
  };
  const shown = { guests: shownGuests, tokens: SHOWN_JWT, staff: HOOK };
  expect(await api.get("/app/shop")).toEqual({ name: "shop", appId, authProviders: shown });
  const listed = (["guests", "staff", "tokens"] as const).map((name) => {
    return { name, config: shown[name] };
  });
  expect(await api.get(PROVIDERS)).toEqual({
    data: listed,
    meta: { page: 1, size: 3, totalPages: 1 },
  });
  for (const each of listed) expect(await api.get(`${PROVIDERS}/${each.name}`)).toEqual(each);
  const others = JSON.stringify([await api.get("/app"), await api.get("/audit")]);
  for (const text of ["open sesame, please", JWT.secret, secret])
    expect(others).not.toContain(text);
  const { authProviders } = api.registry.apps.named("shop");
  expect(authProviders).toEqual({
    guests: {
      type: "anonymous",
      id: ANY_ID,
      sharedToken: "open sesame, please",
      sessionLength: 1,
      isLoopbackOnly: false,
      permission: readPermissions({}),
    },
    tokens: { type: "jwt", id: ANY_ID, keys: { secret: JWT.secret } },
    staff: { ...HOOK, id: ANY_ID, secrets: [secret, expect.any(String)] },
  });
  await api.must("PUT", "/app/shop", { authProviders: {} });
});

test("[M22] a new secret of a webhook is valid next to the previous one", async () => {
  await put("staff", HOOK);
  const path = `${PROVIDERS}/staff/webhookSecret`;
  const made: unknown[] = [];
  for (let i = 0; i < 3; i++) made.unshift(await api.must("POST", path));
  expect(new Set(made).size).toBe(3);
  expect(Buffer.from(String(made[0]), "base64")).toHaveLength(128);
  expect(stored("staff")).toEqual({ ...HOOK, id: ANY_ID, secrets: made.slice(0, 2) });
  await put("tokens", JWT);
  expect(await api.fail("POST", `${PROVIDERS}/tokens/webhookSecret`)).toBe("400 InvalidRequest");
  expect(await api.fail("POST", `${PROVIDERS}/none/webhookSecret`)).toBe(
    "404 AuthProviderNotFound",
  );
  await api.must("PUT", "/app/shop", { authProviders: {} });
});

test("[M23] a provider is deleted by DELETE and by POST, once", async () => {
  for (const method of ["DELETE", "POST"]) {
    await put("staff", HOOK);
    await put("other", HOOK);
    expect(await api.must(method, `${PROVIDERS}/staff`)).toBeNull();
    expect(await api.fail(method, `${PROVIDERS}/staff`)).toBe("404 AuthProviderNotFound");
    expect(await api.fail("GET", `${PROVIDERS}/staff`)).toBe("404 AuthProviderNotFound");
    expect(await api.get(PROVIDERS)).toEqual({
      data: [{ name: "other", config: HOOK }],
      meta: { page: 1, size: 1, totalPages: 1 },
    });
    await api.must("PUT", "/app/shop", { authProviders: {} });
  }
  expect(await api.fail("DELETE", "/app/none/provider/staff")).toBe("404 AppNotFound");
});

test("names such as constructor and __proto__ are ordinary names", async () => {
  for (const name of ["constructor", "toString", "__proto__"]) {
    expect(await api.fail("GET", `${PROVIDERS}/${name}`)).toBe("404 AuthProviderNotFound");
  }
  await put("__proto__", HOOK);
  expect(await api.get(`${PROVIDERS}/__proto__`)).toEqual({ name: "__proto__", config: HOOK });
  await api.must("DELETE", `${PROVIDERS}/__proto__`);
  expect(await api.get(PROVIDERS)).toEqual(NONE);
});

test("[M31] the GET body of a provider can be sent back, with its own name and no other", async () => {
  await put("tokens", JWT);
  const shown = (await api.get(`${PROVIDERS}/tokens`)) as object;
  expect(await api.must("PUT", `${PROVIDERS}/tokens`, shown)).toEqual(shown);
  expect(stored("tokens")).toEqual({ type: "jwt", id: ANY_ID, keys: { secret: JWT.secret } });
  const detail = "expected tokens, which cannot be changed, found another text at name";
  expect(
    reported(await api.ask("PUT", `${PROVIDERS}/tokens`, { ...shown, name: "staff" })),
  ).toEqual({
    status: 400,
    body: { title: "InvalidRequest", detail },
  });
  await api.must("DELETE", `${PROVIDERS}/tokens`);
});

test("[M27] PUT sets all settings together, and PATCH single ones", async () => {
  const path = "/app/shop/settings";
  const off = { strictV4: false, unknownCollectionsAreEmpty: false };
  expect(await api.get(path)).toEqual(off);
  expect(await api.must("PATCH", path, { strictV4: true })).toEqual({ ...off, strictV4: true });
  const both = { strictV4: true, unknownCollectionsAreEmpty: true };
  expect(await api.must("PATCH", path, { unknownCollectionsAreEmpty: true })).toEqual(both);
  expect(await api.must("PATCH", path, {})).toEqual(both);
  const absent = { strictV4: null, unknownCollectionsAreEmpty: null };
  expect(await api.must("PATCH", path, absent)).toEqual(both);
  expect(await api.fail("PUT", path, absent)).toBe("400 InvalidRequest");
  expect(api.registry.apps.named("shop").settings).toEqual({
    isV4Strict: true,
    isUnknownEmpty: true,
  });
  expect(await api.fail("PUT", path, { strictV4: true })).toBe("400 InvalidRequest");
  expect(await api.fail("PATCH", path, { isV4Strict: true })).toBe("400 InvalidRequest");
  expect(await api.must("PUT", path, off)).toEqual(off);
  expect(await api.fail("GET", "/app/none/settings")).toBe("404 AppNotFound");
});

test("[M28] the previous session key verifies until the next rotation", async () => {
  const keys = (): readonly string[] =>
    api.registry.apps.named("shop").sessionKeys.map(({ id }) => id);
  const [first] = keys();
  expect(await api.must("POST", "/app/shop/sessionKey/rotate")).toBeNull();
  const [second, ...others] = keys();
  expect(others).toEqual([first]);
  await api.must("POST", "/app/shop/sessionKey/rotate");
  expect(keys().slice(1)).toEqual([second]);
  expect(await api.fail("POST", "/app/none/sessionKey/rotate")).toBe("404 AppNotFound");
});

test("[M29] the audit log has every change with its author, the newest first, and no failures", async () => {
  const reply = await api.ask("PATCH", "/app/shop/settings", { strictV4: true });
  expect(await api.fail("DELETE", "/app/none")).toBe("404 AppNotFound");
  const { data, meta } = (await api.get("/audit?size=2")) as {
    readonly data: readonly object[];
    readonly meta: { readonly totalPages: number };
  };
  expect(data[0]).toEqual({
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    actor: "loopback",
    action: "app.setSettings",
    target: "app/shop",
    detail: expect.any(String),
    requestId: reply.headers.get("x-request-id"),
    address: "127.0.0.1",
  });
  expect(data[1]).toEqual({
    at: expect.any(String),
    actor: "loopback",
    action: "app.rotateSessionKey",
    target: "app/shop",
    detail: null,
    requestId: expect.any(String),
    address: "127.0.0.1",
  });
  const last = await api.get(`/audit?size=2&page=${meta.totalPages}`);
  expect(JSON.stringify(last)).toContain('"actor":"server"');
  const first = (await api.get("/audit")) as { readonly meta: unknown };
  expect(first.meta).toEqual({ page: 1, size: 100, totalPages: 1 });
  expect(await api.fail("GET", "/audit?size=0")).toBe("400 InvalidRequest");
});
