/**
 * The replication secret of an app by the management API.
 */

import { expect, test } from "vitest";
import { openManagement, reported } from "../support/management-api.ts";

const api = await openManagement();
const SECRET = "a-secret-of-sixteen-or-more";
const PATH = "/app/default/replicationSecret";

function secretOf(): string | undefined {
  const { apps, replicationSecrets } = api.registry;
  return replicationSecrets.get(apps.named("default").id);
}

test("[M35] a secret can be set, replaced and removed, and is never shown", async () => {
  expect(await api.must("PUT", PATH, { secret: SECRET })).toBeNull();
  expect(secretOf()).toBe(SECRET);
  expect(await api.fail("GET", PATH)).toBe("405 MethodNotAllowed");
  expect(await api.must("PUT", PATH, { secret: `${SECRET}-2` })).toBeNull();
  expect(secretOf()).toBe(`${SECRET}-2`);
  expect(await api.must("DELETE", PATH)).toBeNull();
  expect(secretOf()).toBe(undefined);
  expect(await api.must("DELETE", PATH)).toBeNull();
});

test("[M35] each change is in the audit log, without the secret; a call that changes nothing is not", async () => {
  const before = (await api.get("/audit?size=1")) as { meta: { totalPages: number } };
  await api.must("PUT", PATH, { secret: SECRET });
  await api.must("PUT", PATH, { secret: SECRET });
  await api.must("DELETE", PATH);
  await api.must("DELETE", PATH);
  const after = (await api.get("/audit?size=2")) as { data: object[]; meta: object };
  expect(after.data).toEqual(
    ["replicationSecret.delete", "replicationSecret.set"].map((action) => ({
      at: expect.any(String),
      actor: "loopback",
      action,
      target: "app/default/replicationSecret",
      detail: null,
      requestId: expect.any(String),
      address: "127.0.0.1",
    })),
  );
  const count = (await api.get("/audit?size=1")) as { meta: { totalPages: number } };
  expect(count.meta.totalPages - before.meta.totalPages).toBe(2);
  expect(JSON.stringify(await api.get("/audit"))).not.toContain(SECRET);
});

test.each(["", "short", "with a space in it!", "über-0123456789abc", "x".repeat(1025)])(
  "[M35] %j is not a secret, and is not repeated in the error",
  async (secret) => {
    const detail = "expected 16 to 1024 ASCII characters without spaces at secret";
    expect(reported(await api.ask("PUT", PATH, { secret }))).toEqual({
      status: 400,
      body: { title: "InvalidRequest", detail },
    });
    expect(secretOf()).toBe(undefined);
  },
);

test("[M35] a body without the secret, or with more fields, is refused; so is an unknown app", async () => {
  expect(await api.fail("PUT", PATH, {})).toBe("400 InvalidRequest");
  expect(await api.fail("PUT", PATH, { secret: SECRET, more: 1 })).toBe("400 InvalidRequest");
  const none = "/app/nobody/replicationSecret";
  expect(await api.fail("PUT", none, { secret: SECRET })).toBe("404 AppNotFound");
  expect(await api.fail("DELETE", none)).toBe("404 AppNotFound");
});

test("[M14] the secret is deleted with its app, and not restored with it", async () => {
  const { appId } = (await api.must("POST", "/app", { name: "shop" })) as { appId: string };
  await api.must("PUT", "/app/shop/replicationSecret", { secret: SECRET });
  const { replicationSecrets } = api.registry;
  expect([replicationSecrets.get(appId), replicationSecrets.count]).toEqual([SECRET, 1]);
  await api.must("DELETE", "/app/shop");
  expect([replicationSecrets.get(appId), replicationSecrets.count]).toEqual([undefined, 0]);
  await api.must("POST", `/deletedApp/${appId}/restore`);
  expect(replicationSecrets.get(appId)).toBe(undefined);
});

test("[M34] without links the status of a replication has none, and one of another app is not found", async () => {
  await api.must("POST", "/app/default/bigPeerReplication", { name: "north" });
  expect(await api.get("/app/default/bigPeerReplication/north/status")).toEqual({
    name: "north",
    links: [],
    missingAttachments: null,
  });
  const path = (app: string, name: string): string =>
    `/app/${app}/bigPeerReplication/${name}/status`;
  expect(await api.fail("GET", path("default", "south"))).toBe("404 BigPeerReplicationNotFound");
  expect(await api.fail("GET", path("shop", "north"))).toBe("400 AppNameMismatch");
  expect(await api.fail("PUT", path("default", "north"), {})).toBe("405 MethodNotAllowed");
});

test("[M33] listeners of the registry are notified of changes to replications and secrets", async () => {
  const changes: boolean[] = [];
  const stop = api.registry.onChange(({ isOfLinks }) => void changes.push(isOfLinks));
  const replications = "/app/default/bigPeerReplication";
  await api.must("POST", replications, { name: "west" });
  await api.must("PATCH", `${replications}/west`, { connections: ["west:4040"] });
  await api.must("PATCH", `${replications}/west`, { connections: ["west:4040"] });
  await api.must("PUT", PATH, { secret: SECRET });
  await api.must("PATCH", "/app/default/settings", { strictV4: true });
  await api.must("DELETE", `${replications}/west`);
  await api.must("DELETE", PATH);
  stop();
  expect(changes).toEqual([true, true, true, false, true, true]);
});
