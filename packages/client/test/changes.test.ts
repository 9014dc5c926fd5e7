import { expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../node/test/support/store-host.ts";
import { startServer } from "../../server/src/server.ts";
import { DataApi } from "../../server/test/support/data-api.ts";
import { testConfig } from "../../server/test/support/test-config.ts";
import { type Change, changesOf } from "../src/changes.ts";
import { BigPeerClient } from "../src/client.ts";
import { BigPeerError } from "../src/error.ts";
import type { Send } from "../src/request.ts";

async function openClient(): Promise<{ api: DataApi; client: BigPeerClient; cuts: () => void }> {
  const config = testConfig();
  const api = new DataApi(await startServer(config, testHost()), config);
  const bodies = new Set<AbortController>();
  const client = new BigPeerClient({
    url: api.server.url,
    key: api.quickstart.apiKey,
    fetch: async (url, init) => {
      const cut = new AbortController();
      bodies.add(cut);
      const signal = AbortSignal.any([cut.signal, ...(init?.signal ? [init.signal] : [])]);
      return fetch(url, { ...init, signal });
    },
  });
  const cuts = (): void => {
    for (const cut of bodies) cut.abort();
    bodies.clear();
  };
  return { api, client, cuts };
}

/** A server whose streams have these lines, and end. */
function streamsOf(...lines: readonly object[]): { send: Send; sent: () => number } {
  let count = 0;
  const send = async (): Promise<unknown> => {
    count++;
    return new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join("")).body;
  };
  return { send: send as Send, sent: () => count };
}

const READY = { marker: "ready", cursor: "c0" };
const ONE = { type: "insert", id: 1, cursor: "c1" };
const TWO = { type: "insert", id: 2, cursor: "c2" };

test("changes begin with the rows and go on, also after the connection was cut", async () => {
  const { api, client, cuts } = await openClient();
  await api.upsert("cars", { a: { n: 1 } });
  const got: [string, unknown][] = [];
  for await (const change of client.changes({ collection: "cars", initial: true })) {
    got.push([change.type, change.id]);
    if (change.id === "a") {
      cuts();
      await api.upsert("cars", { b: { n: 2 } });
    }
    if (change.id === "b") {
      cuts();
      await api.upsert("cars", { c: { n: 3 } });
    }
    if (change.id === "c") break;
  }
  expect(got).toEqual([
    ["insert", "a"],
    ["insert", "b"],
    ["insert", "c"],
  ]);
  await api.server.close();
});

test("changes take a filter with arguments, and continue after a cursor", async () => {
  const { api, client } = await openClient();
  await api.upsert("cars", { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
  const options = { collection: "cars", query: "n > :n", args: { n: 1 } };
  let first: Change | undefined;
  for await (const change of client.changes({ ...options, since: "0" })) {
    first = change;
    break;
  }
  expect(first).toMatchObject({ type: "insert", id: "b", document: { _id: "b", n: 2 } });
  for await (const change of client.changes({ ...options, since: first?.cursor })) {
    expect(change.id).toBe("c");
    break;
  }
  await api.server.close();
});

test("a signal ends the loop with its reason", async () => {
  const { api, client } = await openClient();
  const ending = new AbortController();
  const reason = new Error("enough");
  const loop = (async () => {
    for await (const _ of client.changes({ signal: ending.signal, since: "0" }))
      ending.abort(reason);
  })();
  await api.upsert("cars", { a: { n: 1 } });
  await expect(loop).rejects.toBe(reason);
  await api.server.close();
});

test("what no new attempt can mend is thrown with its code", async () => {
  const { api, client } = await openClient();
  const codeOf = async (options: Parameters<BigPeerClient["changes"]>[0]): Promise<unknown> => {
    try {
      for await (const _ of client.changes(options)) break;
    } catch (error) {
      if (!(error instanceof BigPeerError)) return error;
      const { code, status, oldest } = error;
      return oldest === undefined ? [code, status] : [code, status, oldest];
    }
    return undefined;
  };
  const [code, status, oldest] = (await codeOf({ since: `${"0".repeat(32)}.1` })) as unknown[];
  expect([code, status]).toEqual(["changes.gone", 410]);
  await api.upsert("cars", { a: { n: 1 } });
  for await (const change of client.changes({ since: String(oldest) })) {
    expect(change.id).toBe("a");
    break;
  }
  expect(await codeOf({ since: "x" })).toEqual(["changes.cursor", 400]);
  expect(await codeOf({ query: "n >" })).toEqual(["query.syntax", 400]);
  await api.server.close();
});

test("onLost gets the reason of each lost connection, and may end the loop", async () => {
  const { api, client, cuts } = await openClient();
  await api.upsert("cars", { a: { n: 1 } });
  const reasons: string[] = [];
  const onLost = ({ code }: BigPeerError): void => {
    reasons.push(code);
    if (reasons.length === 2) throw new Error("enough");
  };
  const loop = async (): Promise<void> => {
    for await (const _ of client.changes({ initial: true, onLost, onCursor: cuts })) continue;
  };
  await expect(loop()).rejects.toThrow("enough");
  expect(reasons).toEqual(["client.network", "client.network"]);
  await api.server.close();
});

test("a change is handled before onCursor gets its cursor, and what onCursor throws ends the loop", async () => {
  const { send } = streamsOf(READY, ONE, TWO);
  const events: unknown[] = [];
  const onCursor = (cursor: string): void => {
    events.push(cursor);
    if (cursor === "c1") throw new Error("no space left");
  };
  const loop = async (): Promise<void> => {
    for await (const { id } of changesOf(send, { onCursor })) events.push(id);
  };
  await expect(loop()).rejects.toThrow("no space left");
  expect(events).toEqual(["c0", 1, "c1"]);
});

test("after the signal no change comes, also none that has arrived", async () => {
  const { send } = streamsOf(READY, ONE, TWO);
  const ending = new AbortController();
  const ids: unknown[] = [];
  const loop = async (): Promise<void> => {
    for await (const { id } of changesOf(send, { signal: ending.signal })) {
      ids.push(id);
      ending.abort(new Error("enough"));
    }
  };
  await expect(loop()).rejects.toThrow("enough");
  expect(ids).toEqual([1]);
});

test("the pauses before a server that ends each stream at once become longer", async () => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(1);
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  const { send, sent } = streamsOf(READY, { marker: "end", reason: "closing", cursor: "c0" });
  const ending = new AbortController();
  const ended = changesOf(send, { signal: ending.signal })
    .next()
    .catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sent()).toBeGreaterThan(3);
  expect(sent()).toBeLessThan(10);
  const reason = new Error("enough");
  ending.abort(reason);
  expect(await ended).toBe(reason);
});
