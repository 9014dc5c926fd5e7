/**
 * Retries: what is repeated and what is not, with a real server behind a proxy that loses answers,
 * and with a server that answers as the test says.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { TcpProxy } from "../../../prove/cluster/tcp-proxy.mjs";
import { sized } from "../../protocol/test/support/test-size.ts";
import { BigPeerClient } from "../src/client.ts";
import { BigPeerError } from "../src/error.ts";
import { CuttingProxy, type Fate } from "./support/cutting-proxy.ts";
import { ADMIN_TOKEN, RunningServer } from "./support/running-server.ts";

const server = await RunningServer.start();
const proxy = await CuttingProxy.open(server.url);
const direct = server.client();

/** The error of a call that must fail. */
async function errorOf(call: Promise<unknown>): Promise<BigPeerError> {
  const error = await call.then(
    () => new Error("expected an error"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BigPeerError);
  return error as BigPeerError;
}

/** A counter that begins at 0. */
async function createCounter(id: string): Promise<void> {
  const overrides = { valueTypeOverrides: { n: "counter" } } as const;
  const command = { method: "upsert", collection: "counters", id, value: { n: 0 } } as const;
  await direct.write([{ ...command, ...overrides }]);
}

async function countOf(id: string): Promise<number | undefined> {
  return (await direct.findById<{ n: number }>({ collection: "counters", id })).fields?.n;
}

function increment(client: BigPeerClient, id: string, options = {}): Promise<unknown> {
  const commands = [{ method: "increment", path: "n", value: 1 } as const];
  const update = { method: "update", collection: "counters", query: "_id == :id" } as const;
  return client.write([{ ...update, args: { id }, commands }], options);
}

const INCREMENT = "UPDATE counters APPLY n INCREMENT BY 1 WHERE _id = :id";

/** Draws fates by a seed: about one answer in three is lost. */
function fates(seed: number, lost: readonly Fate[]): () => Fate {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const drawn = state / 2_147_483_648;
    return drawn < 0.35 ? (lost[Math.floor((drawn / 0.35) * lost.length)] ?? "pass") : "pass";
  };
}

/** How often each of three writers writes in two ways. */
const ROUNDS = sized(3, 10);

test.each([
  ["cut before their answer", ["cut"]],
  ["cut as soon as they were sent", ["cut-request"]],
  ["cut at any time, or never answered", ["cut", "cut-request", "silence"]],
] as const)("no write is done twice: connections are %s", async (title, lost) => {
  await createCounter(title);
  const client = server.client({ url: proxy.url, retries: 15, timeoutMs: 500 });
  const before = { lost: proxy.lost, sent: server.sent.length };
  proxy.fate = fates(title.length, lost);
  const writer = async (): Promise<void> => {
    for (let i = 0; i < ROUNDS; i++) {
      await increment(client, title);
      await client.execute(INCREMENT, { id: title });
    }
  };
  await Promise.all([writer(), writer(), writer()]);
  expect(await countOf(title)).toBe(6 * ROUNDS);
  expect(proxy.lost - before.lost).toBeGreaterThan(ROUNDS);
  // Each call has a key of its own, and keeps it.
  const keys = server.sent.slice(before.sent).map(({ headers }) => headers.get("idempotency-key"));
  expect(new Set(keys.filter((key) => key !== null)).size).toBe(6 * ROUNDS);
});

test("reads, uploads and logins are repeated as well", async () => {
  await createCounter("read");
  const client = server.client({ url: proxy.url, timeoutMs: 500 });
  const losingFirst = (): void => {
    const drawn: Fate[] = ["cut"];
    proxy.fate = () => drawn.shift() ?? "pass";
  };
  const before = proxy.lost;
  const calls: readonly (() => Promise<unknown>)[] = [
    () => client.execute("SELECT * FROM counters"),
    () => client.find({ collection: "counters", query: "true" }),
    () => client.findById({ collection: "counters", id: "read" }),
    () => client.count({ collection: "counters", query: "true" }),
    () => client.peers(),
    () => client.attachments.upload("small"),
    () => client.login(server.appId, { provider: "development", token: server.developmentToken }),
  ];
  for (const call of calls) {
    losingFirst();
    expect(await call()).toBeDefined();
  }
  expect(proxy.lost - before).toBe(calls.length);
});

test("a write whose outcome is not known is an error with its key, which can be used again", async () => {
  await createCounter("later");
  proxy.fate = () => "cut";
  const client = server.client({ url: proxy.url, retries: 1 });
  const error = await errorOf(increment(client, "later"));
  expect([error.code, error.status, error.attempts]).toEqual(["client.network", 0, 2]);
  await increment(direct, "later", { idempotencyKey: error.idempotencyKey });
  expect(await countOf("later")).toBe(1);
});

test("what the server cannot recognise is not repeated: no key, remote statements, POST and DELETE", async () => {
  await createCounter("once");
  proxy.fate = () => "cut";
  const before = proxy.lost;
  const client = server.client({ url: proxy.url });
  const withoutKey = await errorOf(increment(client, "once", { idempotencyKey: null }));
  expect([withoutKey.attempts, withoutKey.idempotencyKey]).toEqual([1, undefined]);
  expect(await countOf("once")).toBe(1);
  const remote = client.remoteExecute("SYNC CONTEXT ( PEERS ) SELECT * FROM counters");
  expect((await errorOf(remote)).attempts).toBe(1);
  expect(proxy.lost - before).toBe(2);

  const between = await CuttingProxy.open(server.managementUrl);
  const { management } = server.client({ managementUrl: between.url, retries: 1 });
  between.fate = () => "cut";
  expect((await errorOf(management.createApp({ name: "lost" }))).attempts).toBe(1);
  expect((await errorOf(management.deleteApp("lost"))).attempts).toBe(1);
  expect((await errorOf(management.listApps())).attempts).toBe(2);
  const settings = { strictV4: true };
  expect((await errorOf(management.updateSettings("default", settings))).attempts).toBe(2);
  const { data } = await direct.management.listApps();
  expect(data.map(({ name }) => name)).toEqual(["default"]);
});

test("a server that is away for a while is waited for", async () => {
  await createCounter("away");
  const port = Number(new URL(server.url).port);
  const network = await TcpProxy.open(() => port);
  onTestFinished(() => network.close());
  const client = server.client({ url: `http://127.0.0.1:${network.port}`, retries: 20 });
  await increment(client, "away");
  network.cut();
  const waiting = increment(client, "away");
  setTimeout(() => network.resume(), 300);
  await waiting;
  expect(await countOf("away")).toBe(2);
});

interface Scripted {
  readonly client: BigPeerClient;
  /** When each request came. */
  readonly times: number[];
}

type Script = (request: IncomingMessage, response: ServerResponse, number: number) => void;

/** A server that answers as the test says. */
async function openScripted(script: Script, retries = 4): Promise<Scripted> {
  const times: number[] = [];
  const listener = createServer((request, response) => {
    times.push(performance.now());
    request.resume().on("end", () => script(request, response, times.length));
  });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const options = { url, managementUrl: url, adminToken: ADMIN_TOKEN, retries };
  return { client: new BigPeerClient(options), times };
}

const COUNT = { count: 3, txnId: 1 };
const QUERY = { collection: "cars", query: "true" };

function answer(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

test.each([503, 429])("%i is repeated, not before Retry-After", async (status) => {
  const { client, times } = await openScripted((_, response, number) => {
    if (number > 1) answer(response, 200, COUNT);
    else answer(response, status, { message: "busy (query.busy)" }, { "retry-after": "1" });
  });
  expect(await client.count(QUERY)).toEqual(COUNT);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(995);
});

test("429 is repeated for calls that are otherwise not, and 503 is not", async () => {
  const { client } = await openScripted((_, response, number) => {
    if (number === 1) answer(response, 429, { title: "TooManyRequests", detail: "x" });
    else answer(response, 503, { title: "Unavailable", detail: "closing" });
  });
  const error = await errorOf(client.management.createApp({ name: "shop" }));
  expect([error.code, error.attempts]).toEqual(["Unavailable", 2]);
});

test("a server that asks to wait very long is not waited for", async () => {
  const { client, times } = await openScripted((_, response) =>
    answer(response, 503, { message: "later" }, { "retry-after": "3600" }),
  );
  const error = await errorOf(client.count(QUERY));
  expect([error.retryAfterMs, times.length]).toEqual([3_600_000, 1]);
  expect(error.isTransient).toBe(true);
});

test.each([
  [400, { message: "expected text at query (value.invalid)" }, "value.invalid"],
  [401, { message: "no" }, "http.401"],
  [408, { message: "slow (query.timeout)" }, "query.timeout"],
  [422, { message: "other (idempotency.conflict)" }, "idempotency.conflict"],
  [500, { message: "damaged data (store.corrupt)" }, "store.corrupt"],
])("%i %j is not repeated", async (status, body, code) => {
  const { client, times } = await openScripted((_, response) => answer(response, status, body));
  const error = await errorOf(client.count(QUERY));
  expect([error.code, error.status, times.length]).toEqual([code, status, 1]);
});

test.each([500, 502, 503, 504])("%i of a proxy is repeated as often as allowed", async (status) => {
  const { client, times } = await openScripted((_, response) => {
    response.writeHead(status, { "content-type": "text/html" });
    response.end("<h1>no</h1>");
  }, 2);
  const error = await errorOf(client.count(QUERY));
  expect([error.code, error.attempts, times.length]).toEqual([`http.${status}`, 3, 3]);
});

test("an answer that is not JSON is an error", async () => {
  const { client, times } = await openScripted((_, response) => response.end("<h1>hello</h1>"));
  const error = await errorOf(client.count(QUERY));
  expect([error.code, error.status, times.length]).toEqual(["client.answer", 200, 1]);
});

test("an answer that stops in its middle is repeated", async () => {
  const { client, times } = await openScripted((_, response, number) => {
    if (number > 1) return answer(response, 200, COUNT);
    response.writeHead(200, { "content-length": "100" });
    response.write("{");
    setTimeout(() => response.destroy(), 20);
  });
  expect(await client.count(QUERY)).toEqual(COUNT);
  expect(times).toHaveLength(2);
});

test("a call without an answer ends after timeoutMs, for each attempt", async () => {
  const { client, times } = await openScripted(() => {}, 1);
  const start = performance.now();
  const error = await errorOf(client.count(QUERY, { timeoutMs: 100 }));
  expect([error.code, error.attempts, times.length]).toEqual(["client.timeout", 2, 2]);
  expect(performance.now() - start).toBeGreaterThanOrEqual(195);
  expect((await errorOf(client.count(QUERY, { timeoutMs: 50, retries: 0 }))).attempts).toBe(1);
});

test("a limit beyond what timers hold is kept, too: the call waits for its answer", async () => {
  const { client } = await openScripted((_, response) => {
    setTimeout(() => answer(response, 200, COUNT), 50);
  }, 0);
  for (const timeoutMs of [2 ** 31, Infinity]) {
    expect(await client.count(QUERY, { timeoutMs })).toEqual(COUNT);
  }
});

test("a signal ends a call: before it, while it is under way, and between attempts", async () => {
  const { client, times } = await openScripted((_, response, number) => {
    if (number === 2) answer(response, 503, { message: "later" }, { "retry-after": "30" });
  });
  const reason = new Error("no longer needed");
  await expect(client.count(QUERY, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(times).toHaveLength(0);
  for (const count of [1, 2]) {
    const ending = new AbortController();
    const call = client.count(QUERY, { signal: ending.signal }).catch((error: unknown) => error);
    await vi.waitFor(() => expect(times).toHaveLength(count));
    // Between attempts it waits for 30 seconds.
    setTimeout(() => ending.abort(reason), 50);
    expect(await call).toBe(reason);
  }
  expect(times).toHaveLength(2);
  await expect(client.management.listApps({ signal: AbortSignal.abort(reason) })).rejects.toBe(
    reason,
  );
});

afterAll(() => {
  proxy.fate = () => "pass";
});
