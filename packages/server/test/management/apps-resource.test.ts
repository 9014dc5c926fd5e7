/**
 * Apps by the management API.
 */

import { readPermissions } from "@bigpeer/engine/query";
import { expect, test } from "vitest";
import { openManagement, reported } from "../support/management-api.ts";

const GRACE_MS = 3_600_000;
const api = await openManagement({ appGraceMs: GRACE_MS });
const ID = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

const GUESTS = {
  type: "anonymous",
  sharedToken: "open sesame, please",
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

test("[M12] a created app has its own store, and a unique name and id", async () => {
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

test("[M12] an app may be created with its providers; null counts as not given", async () => {
  const given = { name: "bar", appId: null, authProviders: { guests: GUESTS } };
  const { appId, ...app } = (await api.must("POST", "/app", given)) as { readonly appId: string };
  expect(appId).toMatch(/^[0-9a-f-]{36}$/);
  expect(app).toEqual({ name: "bar", authProviders: { guests: SHOWN_GUESTS } });
  await api.must("DELETE", "/app/bar");
  await api.must("POST", "/app", { name: "bar", authProviders: null });
  await api.must("DELETE", "/app/bar");
});

test.each(["", "Shop", "shop_1", "-shop", "shop-", "sh op", "schön", "a/b", "a".repeat(64)])(
  "[M10] %j is not a name",
  async (name) => {
    expect(await api.fail("POST", "/app", { name })).toBe("400 InvalidName");
  },
);

test("[M10] in a path an invalid name is not found", async () => {
  for (const name of ["Shop", "-shop", "%20", "sch%C3%B6n", "a".repeat(64)]) {
    expect(await api.fail("GET", `/app/${name}`)).toBe("404 AppNotFound");
    expect(await api.fail("GET", `/app/${name}/apiKey/till`)).toBe("404 AppNotFound");
    expect(await api.fail("GET", `/app/default/apiKey/${name}`)).toBe("404 ApiKeyNotFound");
    const replication = `/app/default/bigPeerReplication/${name}`;
    expect(await api.fail("GET", replication)).toBe("404 BigPeerReplicationNotFound");
  }
  expect(reported(await api.ask("GET", "/app/none"))).toEqual({
    status: 404,
    body: { title: "AppNotFound", detail: 'there is no app named "none"' },
  });
  const { id } = api.registry.apps.named("default");
  const hint = "the path takes the name: the app with this id is default";
  for (const path of [`/app/${id}`, `/app/${id}/apiKey/till`]) {
    expect(reported(await api.ask("GET", path))).toEqual({
      status: 404,
      body: { title: "AppNotFound", detail: `there is no app named "${id}"; ${hint}` },
    });
  }
});

test("[M10] a name may have one character, and 63", async () => {
  for (const name of ["0", `a${"-".repeat(61)}9`]) {
    const made = { name, appId: expect.any(String), authProviders: {} };
    expect(await api.must("POST", "/app", { name })).toEqual(made);
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
    const { id: appId } = api.registry.apps.named("shop");
    const body = { authProviders: { guests: SHOWN_GUESTS } };
    expect(await api.must(method, "/app/shop", body)).toEqual({ name: "shop", appId, ...body });
    expect(await api.get("/app/shop")).toEqual({ name: "shop", appId, ...body });
    expect(api.registry.apps.named("shop").authProviders).toEqual({
      guests: {
        type: "anonymous",
        id: expect.any(String),
        sharedToken: "open sesame, please",
        sessionLength: 60,
        isLoopbackOnly: false,
        permission: readPermissions(GUESTS.permission),
      },
    });
    const none = { name: "shop", appId, authProviders: {} };
    expect(await api.must(method, "/app/shop", { authProviders: {} })).toEqual(none);
    expect(await api.get("/app/shop")).toEqual(none);
    // Nothing is left of it.
    expect(await api.fail(method, "/app/shop", body)).toBe("400 InvalidRequest");
    await api.must("DELETE", "/app/shop");
  },
);

test("[M13] invalid providers are 400 with the place, and nothing changes", async () => {
  const { status, body } = await api.ask("PATCH", "/app/default", {
    authProviders: { staff: { type: "password" } },
  });
  expect({ status, body }).toEqual({
    status: 400,
    body: {
      title: "InvalidRequest",
      detail:
        'expected one of anonymous, tokenWebhook, jwt, found "password" at authProviders.staff.type',
    },
  });
  for (const given of [{}, { authProviders: null }, { authProviders: [] }, { name: "default" }]) {
    expect(await api.fail("PATCH", "/app/default", given)).toBe("400 InvalidRequest");
  }
  expect(await api.fail("PUT", "/app/none", { authProviders: {} })).toBe("404 AppNotFound");
  expect(Object.keys(api.registry.apps.named("default").authProviders)).toEqual(["development"]);
});

test("[M14] a deleted app is gone with all its data, and its store is closed", async () => {
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
  expect(await api.get("/app/shop/apiKey")).toEqual({
    data: [],
    meta: { page: 1, size: 0, totalPages: 1 },
  });
  await api.must("DELETE", "/app/shop");
});

test.each(["PUT", "PATCH"])(
  "[M31] the GET body of an app can be sent back by %s, with its own name and id and no others",
  async (method) => {
    await api.must("POST", "/app", { name: "shop", authProviders: { guests: GUESTS } });
    const shown = (await api.get("/app/shop")) as { readonly appId: string };
    expect(await api.must(method, "/app/shop", shown)).toEqual(shown);
    const upper = { ...shown, appId: shown.appId.toUpperCase() };
    expect(await api.must(method, "/app/shop", upper)).toEqual(shown);
    const absent = { ...shown, name: null, appId: null };
    expect(await api.must(method, "/app/shop", absent)).toEqual(shown);
    for (const [given, at] of [
      [{ ...shown, name: "bar" }, "name"],
      [{ ...shown, appId: ID }, "appId"],
    ] as const) {
      const expected = at === "name" ? "shop" : shown.appId;
      const detail = `expected ${expected}, which cannot be changed, found another text at ${at}`;
      expect(reported(await api.ask(method, "/app/shop", { ...given, authProviders: {} }))).toEqual(
        {
          status: 400,
          body: { title: "InvalidRequest", detail },
        },
      );
    }
    expect(await api.get("/app/shop")).toEqual(shown);
    await api.must("DELETE", "/app/shop");
  },
);

test("[M30] deleted apps are listed in the order of names, with the time when their data may be removed", async () => {
  const before = (await api.get("/deletedApp")) as { readonly data: readonly object[] };
  const made: { readonly name: string; readonly appId: string }[] = [];
  for (const name of ["zoo", "0", "zoo"]) {
    const { appId } = (await api.must("POST", "/app", { name })) as { readonly appId: string };
    await api.must("DELETE", `/app/${name}`);
    made.push({ name, appId });
  }
  const { data, meta } = (await api.get("/deletedApp")) as {
    readonly data: readonly { readonly deletedAt: string; readonly removedAfter: string }[];
    readonly meta: unknown;
  };
  const size = before.data.length + 3;
  expect(meta).toEqual({ page: 1, size, totalPages: 1 });
  const times = { deletedAt: expect.any(String), removedAfter: expect.any(String) };
  const [first, second, third] = made.map((app) => ({ ...app, ...times }));
  // Of those before, one has the name 0 as well.
  expect([data[1], ...data.slice(-2)]).toEqual([second, first, third]);
  for (const { deletedAt, removedAfter } of data) {
    expect(Date.parse(removedAfter) - Date.parse(deletedAt)).toBe(GRACE_MS);
  }
  expect(await api.get("/deletedApp?size=1")).toEqual({
    data: [data[0]],
    meta: { page: 1, size: 1, totalPages: size },
  });
});

test("[M30] a deleted app can be restored once, unchanged, with its name", async () => {
  const { appId } = (await api.must("POST", "/app", { name: "shop" })) as { appId: string };
  await api.must("PUT", "/app/shop", { authProviders: { guests: GUESTS } });
  await api.must("PATCH", "/app/shop/settings", { strictV4: true });
  await api.must("POST", "/app/shop/bigPeerReplication", { name: "south" });
  const shown = await api.get("/app/shop");
  const restore = `/deletedApp/${appId.toUpperCase()}/restore`;
  expect(await api.fail("POST", restore)).toBe("404 AppNotFound");
  await api.must("DELETE", "/app/shop");
  await api.must("POST", "/app", { name: "shop" });
  expect(reported(await api.ask("POST", restore))).toEqual({
    status: 409,
    body: { title: "AppNameNotUnique", detail: 'there is an app with the name "shop"' },
  });
  await api.must("DELETE", "/app/shop");
  expect(await api.must("POST", restore)).toEqual(shown);
  expect(await api.get("/app/shop")).toEqual(shown);
  expect(await api.get("/app/shop/settings")).toEqual({
    strictV4: true,
    unknownCollectionsAreEmpty: false,
  });
  const none = { data: [], meta: { page: 1, size: 0, totalPages: 1 } };
  expect(await api.get("/app/shop/bigPeerReplication")).toEqual(none);
  (await api.apps.use(appId)).release();
  for (const id of [appId, ID.replace("5", "6"), "shop", "..%2F.."]) {
    expect(await api.fail("POST", `/deletedApp/${id}/restore`)).toBe("404 AppNotFound");
  }
  const { data } = (await api.get("/audit?size=1")) as { readonly data: readonly unknown[] };
  expect(data).toEqual([
    {
      at: expect.any(String),
      actor: "loopback",
      action: "app.restore",
      target: "app/shop",
      detail: `id ${appId}`,
      requestId: expect.any(String),
      address: "127.0.0.1",
    },
  ]);
  await api.must("DELETE", "/app/shop");
});
