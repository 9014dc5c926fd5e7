/**
 * `POST /sync/remote_execute` over HTTP: who is asked, what each answers, and what becomes of a
 * statement that somebody does not wait for.
 */

import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { isObject, type Value } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { type DataApi, openDataApi } from "../support/data-api.ts";
import { readExposition } from "../support/exposition.ts";
import { answerRun, type ConnectedPeer, connectPeer, nextRun } from "../support/remote-peer.ts";

const api = await openDataApi({ managementPort: 0 });
const { appId, apiKey } = api.quickstart;
const { url, registry } = api.server;

test.each([
  "SYNC CONTEXT (PEERS) SELECT * FROM cars",
  "SYNC CONTEXT ( PEERS WHERE TRUE ) SELECT * FROM cars WHERE color = 'blue'",
  "SYNC CONTEXT (PEERS WHERE deviceName = 'Küche ☕') SELECT * FROM system:system_info",
])("[H32] [R9] %s has an empty result if no peer is connected", async (statement) => {
  const { status, body } = await api.call("remote_execute", { statement });
  expect(status).toBe(200);
  expect(body).toEqual({ result: [] });
});

test("[H32] RemoteExecuteRequest: args holds the named parameters of both parts", async () => {
  const statement = "SYNC CONTEXT (PEERS WHERE os = :os) SELECT * FROM cars WHERE color = :c";
  const args = { os: "linux", c: "blue" };
  expect((await api.call("remote_execute", { statement, args })).body).toEqual({ result: [] });
  const { status, body } = await api.call("remote_execute", { statement, args: { c: "blue" } });
  expect(status).toBe(400);
  expect(body).toEqual({ message: expect.stringContaining(":os") });
});

test.each([
  ["a statement without the clause", "SELECT * FROM cars", "SYNC CONTEXT"],
  ["a broken clause", "SYNC CONTEXT (PEERS WHERE) SELECT * FROM cars", "line 1, column"],
  ["a clause without peers", "SYNC CONTEXT () SELECT * FROM cars", "PEERS"],
  ["a clause alone", "SYNC CONTEXT (PEERS)", "line 1, column"],
  ["an invalid statement", "SYNC CONTEXT (PEERS) SELEC * FROM cars", "line 1, column 22"],
  ["an unknown function", "SYNC CONTEXT (PEERS) SELECT uper(a) FROM cars", "upper"],
])("[H32] [R9] %s is 400 with a message", async (_, statement, part) => {
  const { status, body } = await api.call("remote_execute", { statement });
  expect(status).toBe(400);
  expect(body).toEqual({ message: expect.stringContaining(part) });
});

test("[H6] RemoteExecuteRequest: statement is required", async () => {
  const { status, body } = await api.call("remote_execute", { args: {} });
  expect(status).toBe(400);
  expect(body).toEqual({
    message: "missing required field: expected text at statement (value.invalid)",
  });
});

test("[H18] remote_execute ignores X-SERVICE-TXN-ID", async () => {
  const statement = "SYNC CONTEXT (PEERS) SELECT * FROM cars";
  for (const txnId of ["99999999", "nonsense"]) {
    const headers = { "x-service-txn-id": txnId };
    const { status } = await api.call("remote_execute", { statement }, { headers });
    expect(status).toBe(200);
  }
});

test("[A5] a key without the permission to query peers is 401", async () => {
  const permissions = { ...FULL_PERMISSIONS, remoteQuery: false };
  const key = await registry.keys.create(appId, { name: "limited", permissions }, SERVER);
  const headers = { authorization: `Bearer ${key}` };
  const statement = "SYNC CONTEXT (PEERS) SELECT * FROM cars";
  const { status, body } = await api.call("remote_execute", { statement }, { headers });
  expect(status).toBe(401);
  expect(body).toEqual({ message: "the credential lacks the permission for this operation" });
  const other = await api.call("execute", { statement: "SELECT * FROM cars" }, { headers });
  expect(other.status).toBe(200);
});

/** A peer of a key of its own, so that no test meets the peers of another. */
let count = 0;
async function join(changes: Parameters<typeof connectPeer>[2] = {}): Promise<ConnectedPeer> {
  return await connectPeer(url, apiKey, { key: `pk-${++count}`, ...changes });
}

function forPeers(peers: readonly ConnectedPeer[], statement: string): string {
  const keys = peers.map(({ peer }) => `'${peer.key}'`).join(", ");
  return `SYNC CONTEXT ( PEERS WHERE peerKeyString IN [${keys}] ) ${statement}`;
}

function resultOf(body: Value): Value[] {
  const result = isObject(body) ? body["result"] : undefined;
  if (!Array.isArray(result)) throw new Error("expected a result");
  return result as Value[];
}

test("[R3] each selected peer has one item: its answer, or its error", async () => {
  const one = await join({ deviceName: "Küche ☕", metadata: { floor: 2 } });
  const two = await join({ deviceName: "bar" });
  const statement = forPeers([one, two], "SELECT * FROM cars WHERE color = :c");
  const answering = api.call("remote_execute", { statement, args: { c: "blue", x: 1 } });
  const [first, second] = [await nextRun(one), await nextRun(two)];
  expect(first).toEqual({
    t: "run",
    id: expect.any(Number),
    statement: "SELECT * FROM cars WHERE color = :c",
    args: { c: "blue" },
    ms: 10_000,
    rows: 10_000,
    bytes: 4 * 1024 * 1024,
  });
  one.client.send({ t: "answer", id: first.id, items: [{ _id: "a" }] });
  answerRun(one, first.id, {
    items: [{ _id: "b" }],
    end: { elapsedMs: 5, warnings: [{ description: "odd", id: "b" }], totalWarnings: 12 },
  });
  answerRun(two, second.id, { end: { error: { code: "remote.refused", message: "no" } } });
  const { status, body } = await answering;
  expect(status).toBe(200);
  expect(body).toEqual({
    result: [
      {
        peer: {
          peerKeyString: one.peer.key,
          deviceName: "Küche ☕",
          peerMetadata: { floor: 2 },
          identityServiceMetadata: {},
        },
        items: [{ _id: "a" }, { _id: "b" }],
        elapsedMilliseconds: 5,
        warnings: [{ description: "odd", _id: "b" }],
        totalWarningsCount: 12,
      },
      {
        peer: {
          peerKeyString: two.peer.key,
          deviceName: "bar",
          peerMetadata: {},
          identityServiceMetadata: {},
        },
        items: [],
        elapsedMilliseconds: 3,
        warnings: [],
        totalWarningsCount: 0,
        error: { description: "no (remote.refused)" },
      },
    ],
  });
});

test("[R2] peers are selected by their known data, in CBOR as well, under each path", async () => {
  const berlin = await join({ metadata: { store: "Berlin" } });
  const koeln = await join({ metadata: { store: "Köln" } });
  const statement = "SYNC CONTEXT ( PEERS WHERE peerMetadata.store = :s ) SELECT * FROM cars";
  for (const prefix of ["/api/v4", "/api/v5", `/${appId}/api/v4`]) {
    const headers = { accept: "application/cbor" };
    const options = { prefix, headers };
    const answering = api.callCbor("remote_execute", { statement, args: { s: "Köln" } }, options);
    const run = await nextRun(koeln);
    answerRun(koeln, run.id, { items: [{ big: 2n ** 60n, bytes: new Uint8Array([1, 2]) }] });
    const { body, headers: got } = await answering;
    expect(got.get("content-type")).toBe("application/cbor");
    expect(resultOf(body)).toEqual([
      expect.objectContaining({
        peer: expect.objectContaining({ peerKeyString: koeln.peer.key }),
        items: [{ big: 2n ** 60n, bytes: new Uint8Array([1, 2]) }],
      }),
    ]);
  }
  expect(berlin.client.all.filter(({ t }) => t === "run")).toEqual([]);
});

test("[R4] [S46] a peer that leaves before its answer is an error of its own, and delays no other peer", async () => {
  const good = await join();
  const dying = await join();
  const answering = api.call("remote_execute", {
    statement: forPeers([good, dying], "SELECT * FROM cars"),
  });
  answerRun(good, (await nextRun(good)).id, { items: [1] });
  dying.client.send({ t: "answer", id: (await nextRun(dying)).id, items: [1, 2, 3] });
  dying.client.cut();
  const { body } = await answering;
  expect(resultOf(body).map((item) => isObject(item) && [item["items"], item["error"]])).toEqual([
    [[1], undefined],
    [[], { description: "the peer left before it answered (remote.lost)" }],
  ]);
});

test("[R10] [S46] when the caller disconnects, the runs are cancelled on the peers", async () => {
  const peer = await join();
  const caller = new AbortController();
  const answering = fetch(`${url}/api/v4/sync/remote_execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ statement: forPeers([peer], "SELECT * FROM cars") }),
    signal: caller.signal,
  });
  const { id } = await nextRun(peer);
  caller.abort();
  await expect(answering).rejects.toThrow("abort");
  expect(await peer.client.nextOf("cancel")).toEqual({ t: "cancel", id });
});

test("[R5] [R10] [S46] a peer that does not answer in time is not waited for, and its run is cancelled", async () => {
  const short = await openDataApi({ remoteTimeoutMs: 50 });
  const { url: shortUrl } = short.server;
  const slow = await connectPeer(shortUrl, short.quickstart.apiKey, { key: "slow" });
  const quick = await connectPeer(shortUrl, short.quickstart.apiKey, { key: "quick" });
  const statement = "SYNC CONTEXT ( PEERS ) SELECT * FROM cars";
  const answering = short.call("remote_execute", { statement });
  const { id, ms } = await nextRun(slow);
  expect(ms).toBe(50);
  answerRun(quick, (await nextRun(quick)).id, { items: [1] });
  const { body } = await answering;
  expect(resultOf(body).map((item) => isObject(item) && [item["items"], item["error"]])).toEqual([
    [[], { description: "the peer did not answer in time (query.timeout)" }],
    [[1], undefined],
  ]);
  expect(await slow.client.nextOf("cancel")).toEqual({ t: "cancel", id });
});

test("[R1] peers of other apps are not asked", async () => {
  const own = await join();
  const { id } = await registry.apps.create({ name: "other", authProviders: {} }, SERVER);
  const permissions = FULL_PERMISSIONS;
  const otherKey = await registry.keys.create(id, { name: "k", permissions }, SERVER);
  const foreign = await connectPeer(url, otherKey, { key: own.peer.key });
  const answering = api.call("remote_execute", {
    statement: forPeers([own], "SELECT * FROM cars"),
  });
  answerRun(own, (await nextRun(own)).id);
  expect(resultOf((await answering).body)).toHaveLength(1);
  expect(foreign.client.all.filter(({ t }) => t === "run")).toEqual([]);
});

test("[R8] [M32] a run is in the audit log before a peer receives it, without its arguments", async () => {
  const peer = await join();
  const before = registry.runs.list({ page: 1, size: 1 }).total;
  const changes = registry.audit.list({ page: 1, size: 1 }).total;
  const nobody = "SYNC CONTEXT ( PEERS WHERE false ) SELECT * FROM cars";
  await api.call("remote_execute", { statement: nobody });
  const statement = forPeers(
    [peer],
    `SELECT * FROM cars WHERE a = :secret -- ${"x".repeat(2_000)}`,
  );
  const answering = api.call("remote_execute", { statement, args: { secret: "hidden" } });
  const { id } = await nextRun(peer);
  const { entries, total } = registry.runs.list({ page: 1, size: 1 });
  expect(total).toBe(before + 1);
  expect(entries).toEqual([
    {
      at: expect.any(Number),
      actor: apiKey.slice(3, 11),
      action: "remote.execute",
      target: "app/default",
      requestId: expect.any(String),
      address: "127.0.0.1",
      detail: `1 peer: ${statement.slice(0, 999)}…`,
    },
  ]);
  answerRun(peer, id);
  const { headers } = await answering;
  expect(entries[0]?.requestId).toBe(headers.get("x-request-id"));
  expect(registry.audit.list({ page: 1, size: 1 }).total).toBe(changes);
  const path = "/namespace/default/bigPeer/big-peer/audit/remote?size=1";
  const response = await fetch(api.server.managementUrl + path);
  expect(await response.json()).toEqual({
    data: [expect.objectContaining({ action: "remote.execute", target: "app/default" })],
    meta: expect.objectContaining({ page: 1, size: 1 }),
  });
});

test("[R7] more than sixteen concurrent runs of an app are 503, and the next one runs", async () => {
  const peer = await join();
  const statement = forPeers([peer], "SELECT * FROM cars");
  const running = Array.from({ length: 16 }, () => api.call("remote_execute", { statement }));
  const ids: number[] = [];
  for (let i = 0; i < 16; i++) ids.push((await nextRun(peer)).id);
  const { status, headers, body } = await api.call("remote_execute", { statement });
  expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
  expect(body).toEqual({ message: "too many statements run on peers of this app" });
  for (const id of ids) answerRun(peer, id);
  for (const { status: each } of await Promise.all(running)) expect(each).toBe(200);
  const next = api.call("remote_execute", { statement });
  answerRun(peer, (await nextRun(peer)).id);
  expect((await next).status).toBe(200);
});

test.runIf(isFullSize)(
  "[R6] rows of megabytes are returned completely, in both formats",
  async () => {
    const peers = [await join(), await join(), await join()];
    const items = Array.from({ length: 2_000 }, (_, i) => ({ _id: i, text: "ü".repeat(200) }));
    for (const accept of ["application/json", "application/cbor"]) {
      const statement = forPeers(peers, "SELECT * FROM cars");
      const answering = api.call("remote_execute", { statement }, { headers: { accept } });
      for (const peer of peers) {
        const { id } = await nextRun(peer);
        for (let i = 0; i < items.length; i += 500) {
          peer.client.send({ t: "answer", id, items: items.slice(i, i + 500) });
        }
        answerRun(peer, id);
      }
      const result = resultOf((await answering).body);
      expect(result.map((item) => isObject(item) && item["items"])).toEqual([items, items, items]);
    }
  },
);

test("runs and peers are counted by their outcome", async () => {
  const served = await openDataApi();
  const peer = await connectPeer(served.server.url, served.quickstart.apiKey);
  const stats = async (of: DataApi): Promise<ReadonlyMap<string, number>> =>
    readExposition(await (await fetch(`${of.server.url}/metrics`)).text()).samples;
  const app = `app="${served.quickstart.appId}"`;
  await vi.waitFor(async () => {
    expect((await stats(served)).get(`bigpeer_sync_peers{${app}}`)).toBe(1);
  });
  const statement = "SYNC CONTEXT ( PEERS ) SELECT * FROM cars";
  for (const error of [undefined, { code: "remote.refused", message: "no" }]) {
    const answering = served.call("remote_execute", { statement });
    answerRun(peer, (await nextRun(peer)).id, error && { end: { error } });
    await answering;
  }
  await served.call("remote_execute", { statement: "SELECT * FROM cars" });
  const samples = await stats(served);
  const name = "bigpeer_remote_execute";
  expect(samples.get(`${name}_requests_total{result="done"}`)).toBe(2);
  expect(samples.get(`${name}_requests_total{result="refused"}`)).toBe(1);
  expect(samples.get(`${name}_peers_total{result="answered"}`)).toBe(1);
  expect(samples.get(`${name}_peers_total{result="refused"}`)).toBe(1);
  expect(samples.get(`${name}_duration_seconds_count`)).toBe(3);
  expect(samples.get(`bigpeer_sync_watchers{${app}}`)).toBe(0);
});
