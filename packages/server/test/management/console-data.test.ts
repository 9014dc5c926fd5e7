/**
 * The data of an app on the management listener: the operations of the data API, for the console.
 */

import { expect, test } from "vitest";
import { CONSOLE_DATA } from "../../src/management/console-data.ts";
import { ConsoleClient, openConsole } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";

const ADMIN_TOKEN = "a-token-of-the-administrator";
const { api, client, token } = await openConsole();
const APP = `${BIG_PEER}/app/default`;

function bodyOf(path: string): string {
  return path.endsWith("findbyid")
    ? '{"collection": "cars", "id": 1}'
    : '{"statement": "SELECT * FROM cars"}';
}

test("[M53] each operation needs a session or the admin token, also on this machine", async () => {
  const { client: guarded } = await openConsole({ adminToken: ADMIN_TOKEN });
  for (const of of [client, guarded]) {
    const stranger = new ConsoleClient(of.url);
    for (const { method, path } of CONSOLE_DATA) {
      const target = APP + path.replace("{id}", "x");
      const body = method === "POST" ? bodyOf(path) : undefined;
      const type = { "content-type": "application/json" };
      const { status } = await stranger.send(method, target, body, type);
      expect(status, `${method} ${path}`).toBe(401);
    }
  }
  const bearer = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
  const body = '{"statement": "SELECT * FROM cars"}';
  const stranger = new ConsoleClient(guarded.url);
  const { status } = await stranger.send("POST", `${APP}/store/execute`, body, bearer);
  expect(status).toBe(200);
});

test("[M53] execute answers as the data API does, with full permission", async () => {
  const insert = "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'}), ({'_id': 'b'})";
  const { status, body } = await client.execute(insert);
  expect(status).toBe(200);
  expect(body).toMatchObject({ queryType: "mutation", mutatedDocumentIds: ["a", "b"] });
  for (const statement of [
    "SELECT * FROM cars WHERE color = :color",
    "EXPLAIN SELECT * FROM cars",
    "SELECT * FROM nowhere",
  ]) {
    const args = { color: "red" };
    const here = await client.execute(statement, { args });
    const there = await api.call("execute", { statement, args });
    expect({ status: here.status, body: here.body }, statement).toEqual({
      status: there.status,
      body: there.body,
    });
  }
  expect(await client.items("CREATE INDEX by_color ON cars (color)")).toEqual([]);
});

test.each([
  ["a wrong statement", { statement: "SELEKT" }, 400],
  ["no statement", {}, 400],
  ["a statement of another type", { statement: 1 }, 400],
  ["an unknown parameter", { statement: "SELECT :a", args: {} }, 400],
])("[M53] %s fails as in the data API", async (_, body, status) => {
  const here = await client.ask("POST", `${APP}/store/execute`, body);
  const there = await api.call("execute", body);
  expect([here.status, here.body]).toEqual([status, there.body]);
});

test("[M53] an unknown app is 404, and another Big Peer too", async () => {
  const statement = "SELECT * FROM cars";
  const path = (app: string): string => `${BIG_PEER}/app/${app}/store/execute`;
  const { status, body } = await client.ask("POST", path("nowhere"), { statement });
  expect([status, body]).toEqual([
    404,
    expect.objectContaining({
      queryType: "unknown",
      error: { description: 'there is no app named "nowhere"' },
    }),
  ]);
  const other = "/namespace/default/bigPeer/other/app/default/store/execute";
  expect((await client.ask("POST", other, { statement })).status).toBe(404);
});

test("[M53] findbyid shows the types of the fields", async () => {
  await client.execute("INSERT INTO typed DOCUMENTS ({'_id': 1, 'n': 2})");
  const asked = { collection: "typed", id: 1, serializedAs: "latestValuesAndTypes" };
  const { status, body } = await client.ask("POST", `${APP}/store/findbyid`, asked);
  expect([status, body]).toMatchObject([200, { fields: { n: { register: { value: 2 } } } }]);
});

test("[M53] an export has the lines of all documents", async () => {
  await client.execute("INSERT INTO exported DOCUMENTS ({'_id': 1}), ({'_id': 2})");
  const { body } = await client.ask("GET", `${APP}/store/export?collection=exported`);
  expect(body).toBe('{"_id":1}\n{"_id":2}\n');
});

test("[M53] the change feed shows changes as they happen, and ends when the session does", async () => {
  const browser = new ConsoleClient(client.url);
  await browser.signIn(token);
  const response = await fetch(`${client.url}${APP}/store/changes?collection=followed`, {
    headers: { cookie: browser.cookie ?? "", accept: "application/x-ndjson" },
  });
  expect(response.status).toBe(200);
  const lines = linesOf(response);
  expect(await lines()).toMatchObject({ marker: "ready" });
  await client.execute("INSERT INTO followed DOCUMENTS ({'_id': 7})");
  expect(await lines()).toMatchObject({
    type: "insert",
    id: 7,
    by: { credential: "console" },
  });
  await browser.ask("DELETE", "/console/session");
  expect(await lines()).toMatchObject({ marker: "end", reason: "credential" });
});

test("[M53] streams of the console count as those of the data API", async () => {
  const streamCount = async (): Promise<number> => {
    const text = await (await fetch(`${api.server.url}/metrics`)).text();
    return Number(/^bigpeer_changes_streams (\d+)$/m.exec(text)?.[1]);
  };
  await expect.poll(streamCount).toBe(0);
  const controller = new AbortController();
  const { signal } = controller;
  const authorization = `Bearer ${api.quickstart.apiKey}`;
  const responses = [
    fetch(`${client.url}${APP}/store/changes`, {
      headers: { cookie: client.cookie ?? "" },
      signal,
    }),
    fetch(`${api.server.url}/api/v4/store/changes`, { headers: { authorization }, signal }),
  ];
  for (const response of responses) expect((await response).status).toBe(200);
  expect(await streamCount()).toBe(2);
  controller.abort();
  await expect.poll(streamCount).toBe(0);
});

test("[M53] an attachment is uploaded and downloaded", async () => {
  const form = new FormData();
  form.append("file", new Blob(["a content"]));
  const headers = { cookie: client.cookie ?? "", origin: client.url };
  const uploaded = await fetch(`${client.url}${APP}/attachments/upload`, {
    method: "POST",
    headers,
    body: form,
  });
  expect(uploaded.status).toBe(200);
  const { id, len } = (await uploaded.json()) as { id: string; len: number };
  expect(len).toBe(9);
  const { status, body, headers: sent } = await client.ask("GET", `${APP}/attachments/${id}`);
  expect([status, body, sent.get("content-disposition")]).toEqual([200, "a content", "attachment"]);
});

test("[M53] connected peers are listed, and EXPLAIN SYNC answers", async () => {
  expect(await client.get("/app/default/sync/peers")).toEqual({ peers: [] });
  const asked = new URLSearchParams({ collection: "cars", id: "a", peer: "pk-none" });
  expect(await client.get(`/app/default/sync/explain?${asked}`)).toMatchObject({
    items: [{ verdict: expect.any(String), document: { exists: true } }],
  });
  const remote = { statement: "SYNC CONTEXT ( PEERS ) SELECT * FROM cars" };
  const { status, body } = await client.ask("POST", `${APP}/sync/remote_execute`, remote);
  expect([status, body]).toEqual([200, { result: [] }]);
});

test("[M57] each use of data has an entry in an audit log of its own", async () => {
  const statement = `SELECT * FROM cars /* ${"x".repeat(2_000)} */`;
  await client.execute(statement, { args: { secret: "hidden" } });
  await client.execute("SELECT * FROM cars", { as: { key: "quickstart" } });
  await client.ask("GET", `${APP}/store/export?collection=cars`);
  await client.ask("POST", `${APP}/store/findbyid`, { collection: "cars", id: "a" });
  type Entries = { data: { action: string; detail: string }[] };
  // Entries of reads are not waited for; that of a write comes after them.
  await client.execute("INSERT INTO cars DOCUMENTS ({'_id': 'last'})");
  const { data: all } = (await client.get("/audit/statement?size=5")) as Entries;
  const data = all.slice(1);
  expect(data.map(({ action, detail }) => [action, detail])).toEqual([
    ["store.findById", 'cars "a"'],
    ["store.export", "cars"],
    ["store.execute", "as key quickstart: SELECT * FROM cars"],
    ["store.execute", `${statement.slice(0, 999)}…`],
  ]);
  expect(data[0]).toMatchObject({ actor: "console", target: "app/default", address: "127.0.0.1" });
  expect(JSON.stringify(data)).not.toContain("hidden");
  const before = ((await client.get("/audit")) as { data: unknown[] }).data.length;
  await client.execute("SELECT * FROM cars");
  expect(((await client.get("/audit")) as { data: unknown[] }).data).toHaveLength(before);
});

/** Reads the lines of a stream one after the other, without heartbeats. */
function linesOf(response: Response): () => Promise<unknown> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  return async () => {
    for (;;) {
      const end = rest.indexOf("\n");
      if (end >= 0) {
        const line = JSON.parse(rest.slice(0, end)) as { marker?: string };
        rest = rest.slice(end + 1);
        if (line.marker !== "heartbeat" && line.marker !== "transaction") return line;
        continue;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error("the stream has ended");
      rest += decoder.decode(value, { stream: true });
    }
  };
}
