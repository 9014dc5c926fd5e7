/**
 * Webhooks and sinks by the management API: what may be created, changed and shown.
 */

import { expect, test } from "vitest";
import { openManagement, reported } from "../support/management-api.ts";

const api = await openManagement();
const WEBHOOKS = "/app/default/webhook";
const ORDERS = `${WEBHOOKS}/orders`;
const SINKS = "/app/default/sink";
const EVENTS = ["insert", "update", "delete", "leave"];
const NEW = { name: "orders", url: "https://hooks.example.com/orders", collection: "orders" };
const NEW_SINK = { name: "orders", servers: ["nats://nats-1:4222"], collection: "orders" };

const WEBHOOK = {
  name: "orders",
  collection: "orders",
  query: null,
  events: EVENTS,
  isPaused: false,
  url: "https://hooks.example.com/orders",
  allowPrivate: false,
};

/** The problem of a body that must be refused. */
async function refused(path: string, body: object): Promise<unknown> {
  const { status, body: problem } = await api.ask("POST", path, body);
  expect(status).toBe(400);
  return (problem as { readonly detail: string }).detail;
}

test("[M40] a webhook is created with a secret that no other answer shows", async () => {
  const made = (await api.must("POST", WEBHOOKS, NEW)) as { readonly secret: string };
  expect(made).toEqual({ ...WEBHOOK, secret: expect.any(String) });
  expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await api.get(ORDERS)).toEqual(WEBHOOK);
  expect(await api.get(WEBHOOKS)).toMatchObject({ data: [WEBHOOK] });
  expect(await api.fail("POST", WEBHOOKS, NEW)).toBe("409 WebhookNameNotUnique");
  const own = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
  const given = { ...NEW, name: "own", secret: own, events: ["leave", "insert", "leave"] };
  const other = await api.must("POST", WEBHOOKS, given);
  expect(other).toMatchObject({ secret: own, events: ["insert", "leave"] });
});

test.each([
  [{ url: undefined }, "expected a URL, found nothing at url"],
  [{ collection: undefined }, "expected a collection, found nothing at collection"],
  [
    { collection: "system:peers" },
    "expected a collection of documents, found one of the system at collection",
  ],
  [
    { url: "ftp://example.com" },
    'expected a URL with https: or http:, without user, password and fragment, found "ftp://example.com" at url',
  ],
  [
    { url: "http://10.0.0.1/" },
    'expected a public address; set allowPrivate to send to this machine or network, found "10.0.0.1" at url',
  ],
  [
    { url: "http://[::1]/" },
    'expected a public address; set allowPrivate to send to this machine or network, found "[::1]" at url',
  ],
  [
    { url: "http://0x7f.1/" },
    'expected a public address; set allowPrivate to send to this machine or network, found "127.0.0.1" at url',
  ],
  [{ secret: "whsec_abc" }, "expected whsec_ and 24 to 64 bytes in base64 at secret"],
  [{ secret: `whsec_${"A".repeat(31)}` }, "expected whsec_ and 24 to 64 bytes in base64 at secret"],
  [{ events: [] }, "expected some of insert, update, delete, leave, found nothing at events"],
])("[M40] %o is refused with the place", async (change, detail) => {
  expect(await refused(WEBHOOKS, { ...NEW, name: "refused", ...change })).toBe(detail);
});

test("[M40] a query that is no filter is refused with its place", async () => {
  const body = { ...NEW, name: "refused", query: "total >" };
  expect(await refused(WEBHOOKS, body)).toMatch(/ at query/);
});

test("[M41] a webhook is changed and deleted, and the audit log says so", async () => {
  await api.must("POST", WEBHOOKS, { ...NEW, name: "changing" });
  const path = `${WEBHOOKS}/changing`;
  const shown = (await api.get(path)) as object;
  expect(await api.must("PATCH", path, shown)).toEqual(shown);
  const query = "total > 5";
  expect(await api.must("PATCH", path, { query, events: ["insert"] })).toEqual({
    ...shown,
    query,
    events: ["insert"],
  });
  expect(await api.must("PATCH", path, { query: null, events: null })).toEqual(shown);
  expect(reported(await api.ask("PATCH", path, { isPaused: true }))).toEqual({
    status: 400,
    body: {
      title: "InvalidRequest",
      detail: "expected false, which only /pause and /resume change, found true at isPaused",
    },
  });
  expect(await api.must("DELETE", path)).toBeNull();
  expect(await api.fail("GET", path)).toBe("404 WebhookNotFound");
  const { data } = (await api.get("/audit?size=10")) as {
    readonly data: readonly { readonly action: string; readonly target: string }[];
  };
  const ofWebhook = data.filter(({ target }) => target === "app/default/webhook/changing");
  expect(ofWebhook.map(({ action }) => action)).toEqual([
    "webhook.delete",
    "webhook.update",
    "webhook.update",
    "webhook.create",
  ]);
});

test("[M46] pause and resume are shown and recorded", async () => {
  await api.must("POST", WEBHOOKS, { ...NEW, name: "resting" });
  const path = `${WEBHOOKS}/resting`;
  expect(await api.must("POST", `${path}/pause`)).toMatchObject({ isPaused: true });
  expect(await api.get(`${path}/status`)).toMatchObject({ state: "paused", reason: "operator" });
  expect(await api.must("POST", `${path}/resume`, { from: "oldest" })).toMatchObject({
    isPaused: false,
  });
  expect(await api.fail("POST", `${path}/resume`, { from: "yesterday" })).toBe(
    "400 InvalidRequest",
  );
});

test("[M40] a sink is created, without showing how it logs in", async () => {
  const given = { ...NEW_SINK, user: "big-peer", password: "secret-of-nats" };
  const shown = {
    name: "orders",
    collection: "orders",
    query: null,
    events: EVENTS,
    isPaused: false,
    servers: ["nats://nats-1:4222"],
    subject: "bigpeer.{app}.{collection}.{type}",
    user: "big-peer",
  };
  expect(await api.must("POST", SINKS, given)).toEqual(shown);
  expect(await api.must("PATCH", `${SINKS}/orders`, shown)).toEqual(shown);
  expect(await api.must("DELETE", `${SINKS}/orders`)).toBeNull();
});

test.each([
  [{ servers: [] }, "expected the addresses of NATS servers, found nothing at servers"],
  [
    { servers: ["nats://a:b@nats-1:4222"] },
    "expected nats://host:port or tls://host:port, without user and password, found another form at servers[0]",
  ],
  [
    { subject: "orders.>" },
    'expected a subject of NATS with any of {app}, {collection}, {type}, {id}, found "orders.>" at subject',
  ],
  [
    { subject: "{name}" },
    'expected a subject of NATS with any of {app}, {collection}, {type}, {id}, found "{name}" at subject',
  ],
  [{ user: "a" }, "expected user and password, or token, or none of them"],
])("[M40] a sink with %o is refused", async (change, detail) => {
  expect(await refused(SINKS, { ...NEW_SINK, name: "refused", ...change })).toBe(detail);
});

test("[M40] webhooks of a deleted app are gone", async () => {
  const { appId } = (await api.must("POST", "/app", { name: "short" })) as {
    readonly appId: string;
  };
  await api.must("POST", "/app/short/webhook", NEW);
  await api.must("DELETE", "/app/short");
  await api.must("POST", `/deletedApp/${appId}/restore`);
  expect(await api.get("/app/short/webhook")).toMatchObject({ data: [] });
});
