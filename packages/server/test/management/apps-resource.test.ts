/**
 * Apps by the management API.
 */

import { expect, test } from "vitest";
import { openManagement } from "../support/management-api.ts";

const api = await openManagement();
const ID = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

const GUESTS = {
  type: "anonymous",
  sharedToken: "open sesame",
  sessionLength: 60,
  permission: { read: { everything: true } },
};

const SHOWN_GUESTS = {
  type: "anonymous",
  sessionLength: 60,
  loopbackOnly: false,
  permission: {
    remoteQuery: false,
    read: { everything: true, queriesByCollection: {} },
    write: { everything: false, queriesByCollection: {} },
  },
};

async function names(query = ""): Promise<unknown> {
  const { data, meta } = (await api.get(`/app${query}`)) as {
    readonly data: readonly { readonly name: string }[];
    readonly meta: unknown;
  };
  return { names: data.map(({ name }) => name), meta };
}

test("[M12] an app that is made has a store of its own, and a name and an id that nobody else has", async () => {
  expect(await api.must("POST", "/app", { name: "shop", appId: ID.toUpperCase() })).toEqual({
    name: "shop",
    appId: ID,
    authProviders: {},
  });
  const use = await api.apps.use(ID);
  expect(use.app.store.txnId).toBe(0);
  use.release();
  expect(await api.get("/app/shop")).toEqual({ name: "shop", appId: ID, authProviders: {} });
  expect(await api.fail("POST", "/app", { name: "shop" })).toBe("409 AppNameNotUnique");
  expect(await api.fail("POST", "/app", { name: "shop-2", appId: ID })).toBe("400 AppIdNotUnique");
  expect(await api.fail("GET", "/app/shop-2")).toBe("404 AppNotFound");
  await api.must("DELETE", "/app/shop");
});

test("[M12] an app may be made with its providers; what is null is not given", async () => {
  const given = { name: "bar", appId: null, authProviders: { guests: GUESTS } };
  const { appId, ...app } = (await api.must("POST", "/app", given)) as { readonly appId: string };
  expect(appId).toMatch(/^[0-9a-f-]{36}$/);
  expect(app).toEqual({ name: "bar", authProviders: { guests: SHOWN_GUESTS } });
  await api.must("DELETE", "/app/bar");
  await api.must("POST", "/app", { name: "bar", authProviders: null });
  await api.must("DELETE", "/app/bar");
});

test.each(["", "Shop", "shop_1", "-shop", "shop-", "sh op", "schön", "a/b", "a".repeat(64)])(
  "[M10] %j is no name",
  async (name) => {
    expect(await api.fail("POST", "/app", { name })).toBe("400 InvalidName");
  },
);

test("[M10] a name may have one character, and 63", async () => {
  for (const name of ["0", `a${"-".repeat(61)}9`]) {
    expect(await api.must("POST", "/app", { name })).toMatchObject({ name });
    await api.must("DELETE", `/app/${name}`);
  }
});

test("[M11] apps are listed in the order of their names, with pages", async () => {
  for (const name of ["c", "a", "b"]) await api.must("POST", "/app", { name });
  expect(await names()).toEqual({
    names: ["a", "b", "c", "default"],
    meta: { page: 1, size: 4, totalPages: 1 },
  });
  expect(await names("?page=2&size=3")).toEqual({
    names: ["default"],
    meta: { page: 2, size: 3, totalPages: 2 },
  });
  expect(await api.fail("GET", "/app?page=0")).toBe("400 InvalidRequest");
  for (const name of ["c", "a", "b"]) await api.must("DELETE", `/app/${name}`);
  const { data } = (await api.get("/app")) as { readonly data: readonly object[] };
  expect(data).toEqual([{ name: "default", appId: expect.any(String) }]);
});

test.each(["PUT", "PATCH"])(
  "[M13] %s replaces all providers, and keeps secrets that are not given",
  async (method) => {
    await api.must("POST", "/app", {
      name: "shop",
      authProviders: { old: GUESTS, guests: GUESTS },
    });
    const body = { authProviders: { guests: SHOWN_GUESTS } };
    expect(await api.must(method, "/app/shop", body)).toMatchObject(body);
    expect(await api.get("/app/shop")).toMatchObject(body);
    const { guests } = api.registry.apps.named("shop").authProviders;
    expect(guests).toMatchObject({ sharedToken: "open sesame" });
    expect(Object.keys(api.registry.apps.named("shop").authProviders)).toEqual(["guests"]);
    await api.must(method, "/app/shop", { authProviders: {} });
    expect(await api.get("/app/shop")).toMatchObject({ authProviders: {} });
    // Nothing is left of it.
    expect(await api.fail(method, "/app/shop", body)).toBe("400 InvalidRequest");
    await api.must("DELETE", "/app/shop");
  },
);

test("[M13] providers that are not right are 400 with the place, and nothing changes", async () => {
  const { status, body } = await api.ask("PATCH", "/app/default", {
    authProviders: { staff: { type: "password" } },
  });
  expect({ status, body }).toEqual({
    status: 400,
    body: {
      title: "InvalidRequest",
      detail:
        'expected one of anonymous, tokenWebhook, jwt, found "password" at authProviders.staff.type (value.invalid)',
    },
  });
  for (const given of [{}, { authProviders: null }, { authProviders: [] }, { name: "x" }]) {
    expect(await api.fail("PATCH", "/app/default", given)).toBe("400 InvalidRequest");
  }
  expect(await api.fail("PUT", "/app/none", { authProviders: {} })).toBe("404 AppNotFound");
  expect(Object.keys(api.registry.apps.named("default").authProviders)).toEqual(["development"]);
});

test("[M14] a deleted app is gone with all it had, and its store is closed", async () => {
  const { appId } = (await api.must("POST", "/app", { name: "shop" })) as { appId: string };
  const permissions = { read: { everything: true } };
  await api.must("POST", "/app/shop/apiKey", { name: "key", permissions });
  await api.must("POST", "/app/shop/bigPeerReplication", { name: "north" });
  (await api.apps.use(appId)).release();
  expect(await api.must("DELETE", "/app/shop")).toBeNull();
  expect(api.apps.open.map(({ id }) => id)).not.toContain(appId);
  await expect(api.apps.use(appId)).rejects.toThrow(`found none with the id ${appId}`);
  expect(await api.fail("GET", "/app/shop")).toBe("404 AppNotFound");
  expect(await api.fail("DELETE", "/app/shop")).toBe("404 AppNotFound");
  expect(await api.fail("GET", "/app/shop/apiKey")).toBe("404 AppNotFound");
  // Its data is still there: whoever took the id would find it.
  expect(await api.fail("POST", "/app", { name: "shop", appId })).toBe("400 AppIdNotUnique");
  // Names are free again.
  await api.must("POST", "/app", { name: "shop" });
  await api.must("POST", "/app/shop/bigPeerReplication", { name: "north" });
  expect(await api.get("/app/shop/apiKey")).toMatchObject({ data: [] });
  await api.must("DELETE", "/app/shop");
});
