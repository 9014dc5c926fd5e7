/**
 * `GET /sync/peers` and `GET /sync/explain` over HTTP, and the same in statements. Every answer is held
 * to the OpenAPI document.
 */

import { type Permissions, readPermissions } from "@bigpeer/engine/query";
import { decodeCbor, isObject, parseJson, type Value } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { expectValidAnswer } from "../support/answer-schema.ts";
import { openDataApi } from "../support/data-api.ts";
import { connectPeer } from "../support/remote-peer.ts";
import type { MessageOf, SyncClient } from "../support/sync-client.ts";
import { serveSync } from "../support/sync-server.ts";

const api = await openDataApi();
const { appId, apiKey } = api.quickstart;
const { url, registry } = api.server;

interface Got {
  readonly status: number;
  readonly body: Value;
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Got> {
  const prefix = path.startsWith("/api") || path.startsWith(`/${appId}`) ? "" : "/api/v4";
  const response = await fetch(url + prefix + path, {
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get("content-type");
  const body =
    type === "application/cbor" ? decodeCbor(bytes) : parseJson(new TextDecoder().decode(bytes));
  const operation = path.includes("/explain") ? "sync_explain" : "sync_peers";
  expectValidAnswer({ operation, status: response.status, headers: response.headers, body });
  return { status: response.status, body };
}

function listIn(body: Value, name: string): readonly Value[] {
  const list = isObject(body) ? body[name] : undefined;
  return Array.isArray(list) ? (list as Value[]) : [];
}

async function peerIn(key: string): Promise<Value | undefined> {
  const { body } = await get("/sync/peers");
  return listIn(body, "peers").find((peer) => isObject(peer) && peer["peerKeyString"] === key);
}

/** On a busy machine the first ping may come before the subscription is complete. */
async function pingAndComplete(client: SyncClient): Promise<MessageOf<"ping">> {
  let ping: MessageOf<"ping"> | undefined;
  let isComplete = false;
  while (ping === undefined || !isComplete) {
    const message = await client.next();
    if (message === undefined) throw new Error("expected ping and complete, found the end");
    if (message.t === "ping") ping = message;
    if (message.t === "complete") isComplete = true;
  }
  return ping;
}

test("[W1] [W4] a connected peer is listed with all its known data, in JSON and CBOR, under each path", async () => {
  await api.upsert("cars", { a: { color: "blue" } });
  const { client } = await connectPeer(url, apiKey, { key: "pk-all", metadata: { floor: 2 } });
  client.send({
    t: "subscribe",
    id: 1,
    query: "SELECT * FROM cars WHERE color = :c",
    args: { c: "blue" },
  });
  const ping = await pingAndComplete(client);
  client.send({ t: "pong", ping: ping.now, now: Date.now(), txn: ping.txn ?? 0, pending: 3 });
  const expected = {
    peerKeyString: "pk-all",
    deviceName: "till",
    os: "linux",
    sdkVersion: "bigpeer-node/0.1.0",
    peerMetadata: { floor: 2 },
    identityServiceMetadata: {},
    address: "127.0.0.1",
    connectedSince: expect.any(Number),
    site: expect.any(String),
    subscriptions: [
      {
        query: "SELECT * FROM cars WHERE color = :c",
        args: { c: "blue" },
        collection: "cars",
        state: "live",
      },
    ],
    sync: {
      sentUpTo: expect.any(Number),
      appliedUpTo: ping.txn,
      lag: expect.any(Number),
      pending: 3,
      uploads: 0,
    },
    transport: {
      framesIn: 3,
      framesOut: expect.any(Number),
      bytesIn: expect.any(Number),
      bytesOut: expect.any(Number),
      queuedBytes: 0,
      roundTripMs: expect.any(Number),
      heardMsAgo: expect.any(Number),
    },
  };
  await vi.waitFor(async () => expect(await peerIn("pk-all")).toEqual(expected));
  for (const path of ["/api/v5/sync/peers", `/${appId}/api/v4/sync/peers`]) {
    const { status, body } = await get(path, { accept: "application/cbor" });
    expect([status, listIn(body, "peers").length]).toEqual([200, 1]);
  }
  const { body } = await api.execute("SELECT * FROM system:peers WHERE _id = 'pk-all'");
  expect(listIn(body, "items")).toEqual([{ _id: "pk-all", ...expected }]);
  const info = await api.execute("SELECT * FROM system:data_sync_info");
  expect(listIn(info.body, "items")).toEqual([
    {
      _id: "pk-all",
      is_ditto_server: false,
      documents: {
        sync_session_status: "Connected",
        synced_up_to_local_commit_id: ping.txn,
        last_update_received_time: expect.any(Number),
      },
    },
  ]);
});

test("[W1] a peer that left is no longer listed, and one that reconnects is listed once", async () => {
  const first = await connectPeer(url, apiKey, { key: "pk-twice" });
  await connectPeer(url, apiKey, { key: "pk-twice", deviceName: "again" });
  const { body } = await get("/sync/peers");
  const named = listIn(body, "peers").flatMap((peer) =>
    isObject(peer) && peer["peerKeyString"] === "pk-twice" ? [peer["deviceName"]] : [],
  );
  expect(named).toEqual(["again"]);
  first.client.cut();
  const { client } = await connectPeer(url, apiKey, { key: "pk-gone" });
  expect(await peerIn("pk-gone")).toBeDefined();
  client.cut();
  await vi.waitFor(async () => expect(await peerIn("pk-gone")).toBeUndefined());
});

test("[W5] a document is explained: subscribed or not, with its transactions, for an id of any type", async () => {
  await api.upsert("boats", { "boat 1": { color: "blue" } });
  await api.execute("INSERT INTO boats DOCUMENTS ({ '_id': { 'lot': 3 } }), ({ '_id': '7' })");
  await connectPeer(url, apiKey, { key: "pk-explained" });
  for (const id of ["boat 1", '"boat 1"', '{"lot":3}', '"7"']) {
    const query = new URLSearchParams({ collection: "boats", id, peer: "pk-explained" });
    const { status, body } = await get(`/sync/explain?${query.toString()}`);
    expect(status).toBe(200);
    expect(listIn(body, "items")).toEqual([
      expect.objectContaining({
        peer: expect.objectContaining({ peerKeyString: "pk-explained" }),
        verdict: "not_subscribed",
        document: expect.objectContaining({ collection: "boats", exists: true }),
      }),
    ]);
  }
  const missing = await get("/sync/explain?collection=boats&id=7&peer=pk-explained");
  expect(listIn(missing.body, "items")).toEqual([
    expect.objectContaining({ verdict: "no_such_document" }),
  ]);
  const statement = "EXPLAIN SYNC boats, 'boat 1' FOR 'pk-explained'";
  const { body } = await api.execute(statement);
  expect(listIn(body, "items")).toEqual([expect.objectContaining({ verdict: "not_subscribed" })]);
});

test("[W5] a peer that is not connected gets that verdict, also in an app without any peer", async () => {
  const fresh = await openDataApi();
  const { body } = await fresh.execute("EXPLAIN SYNC cars, 1 FOR 'nobody'");
  expect(listIn(body, "items")).toEqual([
    expect.objectContaining({ verdict: "not_connected", peer: { peerKeyString: "nobody" } }),
  ]);
  const known = await connectPeer(url, apiKey, { key: "pk-known", deviceName: "known" });
  const ask = async (): Promise<readonly Value[]> => {
    const got = await get("/sync/explain?collection=cars&id=a&peer=pk-known");
    return listIn(got.body, "items");
  };
  await vi.waitFor(
    async () => {
      const found = await api.execute(
        "SELECT _id FROM __small_peer_info WHERE peerKeyString = 'pk-known'",
      );
      expect(listIn(found.body, "items")).toHaveLength(1);
    },
    { timeout: 30_000 },
  );
  known.client.cut();
  await vi.waitFor(async () =>
    expect(await ask()).toEqual([
      expect.objectContaining({
        verdict: "not_connected",
        peer: expect.objectContaining({ peerKeyString: "pk-known", deviceName: "known" }),
      }),
    ]),
  );
});

test.each([
  ["/sync/explain", "collection"],
  ["/sync/explain?collection=cars", "id"],
  ["/sync/explain?collection=cars&id=1", "peer"],
  ["/sync/explain?collection=cars&id=1&peer=a&peer=b", "peer"],
  ["/sync/explain?collection=&id=1&peer=a", "collection"],
])("%s is 400: %s is missing", async (path, name) => {
  const { status, body } = await get(path);
  expect(status).toBe(400);
  expect(body).toEqual({
    message: expect.stringContaining(`expected the parameter ${name} in the address, found`),
  });
});

test("an invalid id is 400, and any collection name is accepted", async () => {
  const { status, body } = await get("/sync/explain?collection=cars&id=null&peer=a");
  expect([status, body]).toEqual([
    400,
    { message: expect.stringContaining("the id of a document") },
  ]);
  const name = "a`b c";
  const query = new URLSearchParams({ collection: name, id: "1", peer: "a" });
  const odd = await get(`/sync/explain?${query.toString()}`);
  expect(listIn(odd.body, "items")).toEqual([
    expect.objectContaining({ document: expect.objectContaining({ collection: name, id: 1 }) }),
  ]);
});

test("[W2] a caller that may not read everything gets 401, and sees no peers in system:peers", async () => {
  const some: Permissions = readPermissions({
    read: { queriesByCollection: { cars: ["true"] } },
    write: { everything: true },
    remoteQuery: true,
  });
  const created = { name: "some", permissions: some };
  const authorization = `Bearer ${await registry.keys.create(appId, created, SERVER)}`;
  for (const path of ["/sync/peers", "/sync/explain?collection=cars&id=1&peer=a"]) {
    const { status, body } = await get(path, { authorization });
    expect([status, body]).toEqual([
      401,
      { message: "the credential lacks the permission for this operation" },
    ]);
  }
  const reply = await api.call(
    "execute",
    { statement: "SELECT * FROM system:peers" },
    { headers: { authorization } },
  );
  expect(listIn(reply.body, "items")).toEqual([]);
  expect((await get("/sync/peers", { authorization: "Bearer bp_nobody" })).status).toBe(401);
});

test("[W3] a dead connection is no longer listed after 61 seconds at the latest", async () => {
  const served = await serveSync();
  const key = { key: "pk-dead" };
  await connectPeer(served.url, served.apiKey, key);
  const listed = async (): Promise<number> => {
    const response = await fetch(`${served.url}/api/v4/sync/peers`, {
      headers: { authorization: `Bearer ${served.apiKey}` },
    });
    return listIn((await response.json()) as Value, "peers").length;
  };
  expect(await listed()).toBe(1);
  // The last second is that of the tick, which is real.
  served.pass(60_000);
  await vi.waitFor(async () => expect(await listed()).toBe(0), { timeout: 30_000 });
});

test("[W8] a list of many peers has pages, each continuing after the previous one", async () => {
  const served = await serveSync();
  for (const key of ["a", "b", "c"]) await connectPeer(served.url, served.apiKey, { key });
  const page = async (
    query: string,
  ): Promise<{ status: number; keys: unknown[]; next: unknown }> => {
    const response = await fetch(`${served.url}/api/v4/sync/peers${query}`, {
      headers: { authorization: `Bearer ${served.apiKey}` },
    });
    const { status, headers } = response;
    const body = parseJson(await response.text());
    expectValidAnswer({ operation: "sync_peers", status, headers, body });
    const keys = listIn(body, "peers").map((peer) => isObject(peer) && peer["peerKeyString"]);
    return { status, keys, next: isObject(body) ? body["next"] : undefined };
  };
  expect(await page("")).toEqual({ status: 200, keys: ["a", "b", "c"], next: undefined });
  const first = await page("?limit=2");
  expect(first).toEqual({ status: 200, keys: ["a", "b"], next: expect.any(Number) });
  // Whoever comes meanwhile is at the end.
  await connectPeer(served.url, served.apiKey, { key: "d" });
  const rest = await page(`?limit=2&after=${String(first.next)}`);
  expect(rest).toEqual({ status: 200, keys: ["c", "d"], next: undefined });
  for (const wrong of [
    "limit=0",
    "limit=1001",
    "limit=x",
    "limit=1&limit=2",
    "after=-1",
    "limit=",
  ]) {
    expect((await page(`?${wrong}`)).status).toBe(400);
  }
});

test.runIf(isFullSize)(
  "[W8] a page with large peers ends early, however many were asked for",
  async () => {
    const served = await serveSync();
    const text = "x".repeat(15_000);
    const args = { text: "y".repeat(60_000) };
    const keys = Array.from({ length: 130 }, (_, i) => `pk-${i}`);
    for (const key of keys) {
      const { client } = await connectPeer(served.url, served.apiKey, { key, metadata: { text } });
      const query = "SELECT * FROM cars WHERE text = :text";
      client.send({ t: "subscribe", id: 1, query, args });
      await client.nextOf("complete");
    }
    const found: unknown[] = [];
    const sizes: number[] = [];
    for (let query = ""; ; ) {
      const response = await fetch(`${served.url}/api/v4/sync/peers${query}`, {
        headers: { authorization: `Bearer ${served.apiKey}` },
      });
      const body = (await response.json()) as { peers: { peerKeyString: string }[]; next?: number };
      found.push(...body.peers.map(({ peerKeyString }) => peerKeyString));
      sizes.push(body.peers.length);
      if (body.next === undefined) break;
      query = `?after=${body.next}`;
    }
    expect(found).toEqual(keys);
    expect(sizes.length).toBe(2);
  },
);
