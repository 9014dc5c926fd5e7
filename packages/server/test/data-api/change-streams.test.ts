import { readPermissions } from "@bigpeer/engine/query";
import { afterEach, describe, expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import type { Credential } from "../../src/auth/credential.ts";
import { ChangeStreams, type FeedApp } from "../../src/data-api/change-streams.ts";
import type { LiveContent } from "../../src/http/answer.ts";
import type { HttpRequest } from "../../src/http/http-request.ts";
import { type Refusal, unavailable } from "../../src/http/refusal.ts";
import type { Place } from "../../src/http/router.ts";
import { ChangeStreamTotals } from "../../src/limits/change-stream-totals.ts";
import { startServer } from "../../src/server.ts";
import { WireFeed } from "../support/change-client.ts";
import { DataApi, openDataApi } from "../support/data-api.ts";
import { openFirstApp } from "../support/open-app.ts";
import { testConfig } from "../support/test-config.ts";

const api = await openDataApi();
const { apiKey } = api.quickstart;
const opened: WireFeed[] = [];
let collections = 0;

afterEach(() => {
  for (const feed of opened.splice(0)) feed.close();
});

function urlOf(parameters: Record<string, string> = {}, of: DataApi = api): string {
  return `${of.server.url}/api/v4/store/changes?${new URLSearchParams(parameters).toString()}`;
}

async function follow(
  parameters: Record<string, string> = {},
  options: { key?: string; headers?: Record<string, string>; of?: DataApi } = {},
): Promise<WireFeed> {
  const { of = api, key = of.quickstart.apiKey, headers = {} } = options;
  const feed = await WireFeed.open(urlOf(parameters, of), { key, headers });
  opened.push(feed);
  return feed;
}

function newCollection(): string {
  return `feed${++collections}`;
}

const LINES = { accept: "application/x-ndjson" };

describe("[C20] a stream of changes", () => {
  test("has Server-Sent Events with the cursor as id, LF line ends and no event field", async () => {
    const collection = newCollection();
    const feed = await follow({ collection });
    const [ready] = await feed.marker("ready");
    const { body } = await api.upsert(collection, { a: { n: 1 } });
    const lines = await feed.marker("transaction");
    expect(feed.response.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    const transactionId = (body as { results: { transactionId: number }[] }).results[0]
      ?.transactionId;
    expect(lines[0]?.data).toEqual({
      type: "insert",
      collection,
      id: "a",
      txnId: transactionId,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      by: { credential: expect.any(String) as string },
      document: { _id: "a", n: 1 },
    });
    expect(feed.text).not.toContain("\r");
    expect(feed.text).not.toContain("event:");
    expect(ready?.data).not.toHaveProperty("type");
    expect(lines[1]?.data).not.toHaveProperty("type");
  });

  test("has lines of JSON, each with its cursor, if the client prefers them", async () => {
    const collection = newCollection();
    const feed = await follow({ collection }, { headers: LINES });
    await feed.marker("ready");
    await api.upsert(collection, { a: { n: 1 } });
    const lines = await feed.marker("transaction");
    expect(feed.response.headers["content-type"]).toBe("application/x-ndjson; charset=utf-8");
    expect(lines.every(({ cursor }) => /^[0-9a-f]{32}\./.test(cursor))).toBe(true);
  });

  test("with wait is an answer that ends with the first changes, or after the time", async () => {
    const collection = newCollection();
    const none = await follow({ collection, wait: "0" }, { headers: LINES });
    const [last] = await none.until(() => false);
    expect(last?.data).toEqual({ marker: "ready" });
    const since = last?.cursor ?? "";
    const waiting = follow({ collection, since, wait: "60" }, { headers: LINES });
    await api.upsert(collection, { a: { n: 1 } });
    const lines = await (await waiting).until(() => false);
    expect(lines.map(({ data }) => data["type"] ?? data["marker"])).toEqual([
      "insert",
      "transaction",
      "ready",
    ]);
  });

  test("continues after Last-Event-ID, which wins over since and initial", async () => {
    const collection = newCollection();
    await api.upsert(collection, { a: { n: 1 }, b: { n: 2 } });
    const first = await follow({ since: "0", collection });
    const read = await first.marker("transaction");
    const second = read.find(({ data }) => data["id"] === "b");
    first.close();
    await api.upsert(collection, { c: { n: 3 } });
    const headers = { "last-event-id": second?.cursor ?? "" };
    const feed = await follow({ collection, since: "0", initial: "true" }, { headers });
    const lines = await feed.until(({ type }) => type !== undefined);
    expect(lines.at(-1)?.data).toMatchObject({ type: "insert", id: "c" });
  });

  test("begins with the rows, then says that it is ready", async () => {
    const collection = newCollection();
    await api.upsert(collection, { a: { n: 1 }, b: { n: 2 } });
    const feed = await follow({ collection, query: "n > 1", initial: "true" });
    const lines = await feed.marker("ready");
    expect(lines.map(({ data }) => [data["type"], data["id"], data["initial"]])).toEqual([
      ["insert", "b", true],
      [undefined, undefined, undefined],
    ]);
    await api.upsert(collection, { c: { n: 3 } });
    const [change] = await feed.marker("transaction");
    expect(change?.data).toMatchObject({ type: "insert", id: "c" });
    expect(change?.data).not.toHaveProperty("initial");
  });

  test("is compressed if the client takes gzip, each piece readable at once", async () => {
    const collection = newCollection();
    const feed = await follow({ collection }, { headers: { "accept-encoding": "gzip" } });
    expect(feed.response.headers["content-encoding"]).toBe("gzip");
    await feed.marker("ready");
    await api.upsert(collection, { a: { n: 1 } });
    expect(await feed.marker("transaction")).toHaveLength(2);
  });
});

describe("[C21] a position that the log does not have", () => {
  test.each([
    ["of another history", `${"0".repeat(32)}.1`],
    ["of another history, within a transaction", `${"0".repeat(32)}.1.5`],
  ])("%s is 410 with the oldest one", async (_, since) => {
    const response = await fetch(urlOf({ since }), {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(response.status).toBe(410);
    const body = (await response.json()) as { message: string; oldest: string };
    expect(body.message).toContain("another history");
    const feed = await follow({ since: body.oldest });
    expect(feed.status).toBe(200);
  });

  test.each([
    [{ since: "5" }, "expected a cursor"],
    [{ wait: "soon" }, "expected seconds from 0 to 300 at wait"],
    [{ view: "all" }, "expected document or fields at view"],
    [{ initial: "yes" }, "expected true or false at initial"],
    [{ collection: "x", query: "n >" }, "query.syntax"],
    [{ collection: "x", query: "now() > 1" }, "depends on the request"],
    [{ key: "bp_secret" }, "a key belongs in the header Authorization"],
  ])("a request with %j is 400", async (parameters, message) => {
    const response = await fetch(urlOf(parameters), {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(response.status).toBe(400);
    const text = await response.text();
    expect(text).toContain(message);
    expect(text).not.toContain("bp_secret");
  });
});

describe("[C22] a ticket", () => {
  async function ticketOf(key: string): Promise<string> {
    const response = await fetch(`${api.server.url}/api/v4/store/changes/ticket`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(200);
    return ((await response.json()) as { ticket: string }).ticket;
  }

  test("opens one stream without a header", async () => {
    const collection = newCollection();
    const ticket = await ticketOf(apiKey);
    const feed = await WireFeed.open(urlOf({ collection, ticket }));
    opened.push(feed);
    await feed.marker("ready");
    await api.upsert(collection, { a: { n: 1 } });
    const [change] = await feed.marker("transaction");
    expect(change?.data["by"]).not.toBeNull();
    const again = await WireFeed.open(urlOf({ collection, ticket }));
    expect(again.status).toBe(401);
  });

  test("is refused beside a credential, and without one it is not given", async () => {
    const ticket = await ticketOf(apiKey);
    expect((await follow({ ticket })).status).toBe(400);
    const response = await fetch(`${api.server.url}/api/v4/store/changes/ticket`, {
      method: "POST",
    });
    expect(response.status).toBe(401);
    expect((await WireFeed.open(urlOf())).status).toBe(401);
  });
});

test("[C9] a stream of a collection without a rule is refused with 401, as find is", async () => {
  const app = await openFirstApp(api.server);
  const author = { actor: "test" };
  const permissions = readPermissions({
    read: { everything: false, queriesByCollection: { [newCollection()]: ["true"] } },
  });
  const { keys } = api.server.registry;
  const key = await keys.create(app.id, { name: "narrow", permissions }, author);
  const feed = await follow({ collection: newCollection() }, { key });
  expect(feed.status).toBe(401);
});

test("[C23] a change of the permissions of a key changes its open streams", async () => {
  const collection = newCollection();
  const app = await openFirstApp(api.server);
  const { keys } = api.server.registry;
  const author = { actor: "test" };
  const permissionsOf = (query: string) =>
    readPermissions({
      read: { everything: false, queriesByCollection: { [collection]: [query] } },
    });
  const name = `reader-${collection}`;
  const key = await keys.create(app.id, { name, permissions: permissionsOf("n < 3") }, author);
  await api.upsert(collection, { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
  const feed = await follow({ collection, initial: "true" }, { key });
  const rows = await feed.marker("ready");
  expect(rows.flatMap(({ data }) => data["id"] ?? [])).toEqual(["a", "b"]);
  await keys.replace(app.id, name, { permissions: permissionsOf("n > 1") }, author);
  await api.upsert(collection, { d: { n: 1 }, e: { n: 5 } });
  const lines = await feed.until(({ id }) => id === "e");
  expect(
    lines.filter(({ data }) => data["type"]).map(({ data }) => [data["type"], data["id"]]),
  ).toEqual([
    ["leave", "a"],
    ["insert", "c"],
    ["insert", "e"],
  ]);
  await keys.remove(app.id, name, author);
  const end = await feed.marker("end");
  expect(end.at(-1)?.data).toEqual({ marker: "end", reason: "credential" });
});

test("[C24] a server that closes ends its streams with a hint, and the next one continues them", async () => {
  const config = testConfig();
  const first = new DataApi(await startServer(config, testHost()), config);
  await first.upsert("cars", { a: { n: 1 } });
  const feed = await follow({ since: "0" }, { of: first });
  const line = (await feed.marker("transaction")).at(-1);
  await first.upsert("cars", { b: { n: 2 } });
  await first.server.close();
  const end = await feed.marker("end");
  expect(end.at(-1)?.data).toEqual({ marker: "end", reason: "closing" });
  const second = new DataApi(await startServer(config, testHost()), config);
  const again = await follow({ since: line?.cursor ?? "" }, { of: second });
  const lines = await again.until(({ id }) => id === "b");
  expect(lines.flatMap(({ data }) => data["id"] ?? [])).toEqual(["b"]);
  again.close();
  await second.server.close();
});

describe("an answer of a gate", () => {
  interface Opened {
    readonly streams: ChangeStreams<FeedApp>;
    readonly body: LiveContent;
    readonly gate: { isServing: boolean; refusal: Refusal | undefined };
    /** Resolves when the stream waits for changes. */
    readonly waits: Promise<void>;
    readonly isOpen: () => boolean;
  }

  /** A stream without a server, on a feed where nothing happens. */
  async function openStream(): Promise<Opened> {
    let wakeUp = (): void => {};
    let isClosed = false;
    let noteWait = (): void => {};
    const waits = new Promise<void>((resolve) => {
      noteWait = resolve;
    });
    const reader = {
      cursor: "0",
      isInitial: false,
      next: async () => {
        await new Promise<void>((resolve) => {
          wakeUp = resolve;
          noteWait();
        });
        return { lines: [], cursor: "0", isCurrent: true };
      },
      wake: () => wakeUp(),
      close: () => {
        isClosed = true;
      },
    };
    const app = { id: "a1", changes: { open: () => reader } } as unknown as FeedApp;
    const credential = { kind: "key", id: "k1", authority: undefined } as unknown as Credential;
    const use = { app, release: () => {} };
    const gate: Opened["gate"] = { isServing: true, refusal: undefined };
    const checks = {
      authenticate: () => ({ use, app, credential }),
      authenticateAgain: async () => {
        if (gate.refusal !== undefined) throw gate.refusal;
        return gate.isServing ? { use, app, credential } : undefined;
      },
    };
    const streams = new ChangeStreams<FeedApp>({
      gate: Object.assign(gate, checks),
      transactionWaitMs: 0,
      elapsed: () => 0,
      totals: new ChangeStreamTotals(),
      onRefused: () => {},
      onFault: () => {},
    });
    const request = { headers: {} } as unknown as HttpRequest;
    const place = { query: "", appId: "a1" } as unknown as Place;
    const answer = await streams.endpoints[0]?.answer(request, place);
    return { streams, body: answer?.body as LiveContent, gate, waits, isOpen: () => !isClosed };
  }

  /** Runs the stream; the text that it sent when it is over. */
  async function textOf({ body }: Opened): Promise<string> {
    const sent: string[] = [];
    const write = async (bytes: Buffer): Promise<void> => void sent.push(bytes.toString());
    await body.run({ isOver: false, onOver: () => () => {}, write });
    return sent.join("");
  }

  test("closes its reader if it is not sent", async () => {
    const { body, isOpen } = await openStream();
    expect(isOpen()).toBe(true);
    body.drop();
    expect(isOpen()).toBe(false);
  });

  test("[C24] on a node that is cut off ends as closing: the credential may be valid", async () => {
    const stream = await openStream();
    const text = textOf(stream);
    await stream.waits;
    stream.gate.isServing = false;
    stream.streams.registryChanged();
    expect(await text).toContain('{"marker":"end","reason":"closing"}');
  });

  test("[C24] whose credential cannot be checked now ends as closing", async () => {
    const stream = await openStream();
    const text = textOf(stream);
    await stream.waits;
    stream.gate.refusal = unavailable("the keys that verify this token cannot be had now", 1);
    stream.streams.registryChanged();
    expect(await text).toContain('{"marker":"end","reason":"closing"}');
  });

  test("[C24] ends as closing when all are dismissed", async () => {
    const stream = await openStream();
    const text = textOf(stream);
    stream.streams.dismissAll();
    expect(await text).toContain('{"marker":"end","reason":"closing"}');
  });
});
