/**
 * Execute as a client sees it: a real server, a real store, statements over HTTP. Each test is a
 * sentence of the interface.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { encodeCbor, type Value } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { BODY_SIZE_MAX } from "../../src/limits/limits.ts";
import type { QuickstartContent } from "../../src/registry/quickstart.ts";
import { type RunningServer, startServer } from "../../src/server.ts";
import { openFirstApp } from "../support/open-app.ts";
import { testConfig } from "../support/test-config.ts";

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    readonly [name: string]: unknown;
    readonly items: unknown[];
    readonly error: { readonly description?: string };
  };
}

class Client {
  readonly server: RunningServer;
  readonly dataDir: string;
  readonly quickstart: QuickstartContent;

  constructor(server: RunningServer, dataDir: string) {
    this.server = server;
    this.dataDir = dataDir;
    const text = readFileSync(join(dataDir, "quickstart.json"), "utf8");
    this.quickstart = JSON.parse(text) as QuickstartContent;
  }

  /** Sends a request as it is given; the path is that of execute unless another one is given. */
  async send(init: RequestInit, path = "/api/v4/store/execute"): Promise<Reply> {
    const headers = {
      authorization: `Bearer ${this.quickstart.apiKey}`,
      "content-type": "application/json",
      ...(init.headers as Record<string, string> | undefined),
    };
    const response = await fetch(this.server.url + path, { method: "POST", ...init, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  }

  execute(statement: string, args?: unknown, path?: string): Promise<Reply> {
    return this.send({ body: JSON.stringify({ statement, args }) }, path);
  }
}

async function start(statementTimeoutMs = 30_000): Promise<Client> {
  const config = testConfig({ statementTimeoutMs });
  const server = await startServer(config, testHost());
  onTestFinished(() => server.close());
  return new Client(server, config.dataDir);
}

/** What every failure looks like, whatever its status. */
function expectFailure({ status, headers, body }: Reply, expected: number): string {
  expect(status).toBe(expected);
  expect(headers.get("content-type")).toBe("application/json");
  expect(body).toEqual({
    queryType: "unknown",
    items: [],
    mutatedDocumentIds: [],
    warnings: [],
    totalWarningsCount: 0,
    error: { description: expect.stringMatching(/\w/) },
  });
  return body.error.description ?? "";
}

test("[H7] a select returns its rows, and the transaction whose state it read", async () => {
  const client = await start();
  const documents = [
    { _id: "c1", color: "blue" },
    { _id: "c2", color: "red" },
  ];
  const [a, b] = documents;
  await client.execute("INSERT INTO cars DOCUMENTS (:a), (:b)", { a, b });
  const { status, body } = await client.execute("SELECT * FROM cars ORDER BY color");
  expect(status).toBe(200);
  expect(body).toEqual({
    queryType: "select",
    items: documents,
    mutatedDocumentIds: [],
    warnings: [],
    totalWarningsCount: 0,
    transactionId: 1,
    error: {},
  });
});

test("[H7] a mutation returns the ids of the changed documents, and its transaction", async () => {
  const client = await start();
  const inserted = await client.execute("INSERT INTO cars DOCUMENTS (:a), (:b)", {
    a: { _id: "c1", mileage: 1 },
    b: { _id: { plate: "B-1" }, mileage: 2 },
  });
  expect(inserted.body).toEqual({
    queryType: "mutation",
    items: [],
    mutatedDocumentIds: ["c1", { plate: "B-1" }],
    warnings: [],
    totalWarningsCount: 0,
    transactionId: 1,
    error: {},
  });
  const updated = await client.execute("UPDATE cars SET mileage = 3 WHERE _id = 'c1'");
  expect(updated.body).toMatchObject({
    queryType: "mutation",
    mutatedDocumentIds: ["c1"],
    transactionId: 2,
  });
  const deleted = await client.execute("DELETE FROM cars WHERE mileage = 2");
  expect(deleted.body).toMatchObject({
    queryType: "mutation",
    mutatedDocumentIds: [{ plate: "B-1" }],
    transactionId: 3,
  });
  const left = await client.execute("SELECT mileage FROM cars");
  expect(left.body).toMatchObject({ items: [{ mileage: 3 }], transactionId: 3 });
});

test("[H7] a mutation that finds nothing succeeds and changes nothing", async () => {
  const client = await start();
  const { status, body } = await client.execute("DELETE FROM cars WHERE _id = 'c1'");
  expect(status).toBe(200);
  expect(body).toMatchObject({ queryType: "mutation", mutatedDocumentIds: [], transactionId: 0 });
});

test("[H9] [Q1] [Q2] an answer that is empty by mistake has a warning with a suggestion", async () => {
  const client = await start();
  await client.execute("INSERT INTO cars DOCUMENTS ({'_id': 'c1', 'color': 'blue'})");
  const unknown = await client.execute("SELECT * FROM crs");
  expect([unknown.status, unknown.body.items, unknown.body["totalWarningsCount"]]).toEqual([
    200,
    [],
    1,
  ]);
  expect(unknown.body["warnings"]).toEqual([
    { description: expect.stringMatching(/^unknown collection "crs" .*; did you mean "cars"\?$/) },
  ]);
  const bare = await client.execute("DELETE FROM cars WHERE color = blue");
  expect(bare.body["warnings"]).toEqual([
    { description: expect.stringMatching(/; did you mean 'blue'\?$/) },
  ]);
});

test("[H9] of many warnings ten are listed, with their documents, and all are counted", async () => {
  const client = await start();
  const documents = Array.from({ length: 25 }, (_, i) => ({ _id: `c${i}`, doors: 0 }));
  const places = documents.map((_, i) => `(:d${i})`).join(", ");
  const args = Object.fromEntries(documents.map((document, i) => [`d${i}`, document]));
  await client.execute(`INSERT INTO cars DOCUMENTS ${places}`, args);
  const { status, body } = await client.execute("SELECT 1 / doors AS share FROM cars");
  expect(status).toBe(200);
  expect(body.items).toHaveLength(25);
  expect(body["totalWarningsCount"]).toBe(25);
  expect(body["warnings"]).toHaveLength(10);
  for (const warning of body["warnings"] as unknown[]) {
    expect(warning).toEqual({
      description: expect.stringMatching(/zero/),
      _id: expect.stringMatching(/^c\d+$/),
    });
  }
});

test("[H8] an invalid statement is 400 with the place and what was expected", async () => {
  const client = await start();
  const description = expectFailure(await client.execute("SELECT *\nFRMO cars"), 400);
  expect(description).toContain("line 2, column 1");
  expect(description).toContain("FRMO cars");
  expect(description).toContain("expected FROM");
});

test.each([
  ["a collection name that is none", "SELECT * FROM ''", {}],
  ["a type that does not fit", "UPDATE COLLECTION cars (n COUNTER) SET n = 'x'", {}],
  ["a parameter without a value", "SELECT * FROM cars WHERE a = :a", {}],
  ["no statement at all", "", {}],
  ["two statements", "SELECT * FROM cars; SELECT * FROM cars", {}],
])("[H8] %s is 400", async (_, statement, args) => {
  const client = await start();
  await client.execute("INSERT INTO cars DOCUMENTS (:d)", { d: { _id: "c1" } });
  expectFailure(await client.execute(statement, args), 400);
});

test("[H8] a statement that fails has changed nothing", async () => {
  const client = await start();
  await client.execute("INSERT INTO cars DOCUMENTS (:d)", { d: { _id: "c1" } });
  const args = { new: { _id: "c2" }, old: { _id: "c1" } };
  const statement = "INSERT INTO cars DOCUMENTS (:new), (:old)";
  expectFailure(await client.execute(statement, args), 400);
  const { body } = await client.execute("SELECT * FROM cars");
  expect(body).toMatchObject({ items: [{ _id: "c1" }], transactionId: 1 });
});

test("[H8] a statement that takes too long is 408", async () => {
  const client = await start(1);
  const { store } = await openFirstApp(client.server);
  await store.transact((transaction) => {
    const ids = Array.from({ length: 300 }, (_, id) => id);
    transaction.apply(
      ids.map((id) => ({ kind: "insert", collection: "cars", id, fields: { id } }) as const),
    );
  });
  // Twenty-seven million pairs of pairs.
  const statement =
    "SELECT a.id FROM cars a JOIN cars b ON b.id >= 0 JOIN cars c ON a.id + b.id + c.id < 0";
  const description = expectFailure(await client.execute(statement), 408);
  expect(description).toBe("the statement took longer than 1 ms and was stopped (query.timeout)");
});

test.each([
  ["no credential", { authorization: "" }],
  ["another scheme", { authorization: "Basic abc" }],
  ["an unknown key", { authorization: `Bearer bp_00000000_${"A".repeat(43)}` }],
])("[H2] with %s it is 401", async (_, headers) => {
  const client = await start();
  const reply = await client.send({ headers, body: '{"statement":"no statement"}' });
  expectFailure(reply, 401);
  expect(reply.headers.get("www-authenticate")).toBe("Bearer");
});

test("[H3] a large body without a key is 401, and is not read", async () => {
  const client = await start();
  const body = new Uint8Array(BODY_SIZE_MAX);
  const headers = { authorization: "Bearer nobody" };
  expectFailure(await client.send({ headers, body }), 401);
});

test("[H1] both versions, with and without the app in the path, are equivalent", async () => {
  const client = await start();
  const { appId } = client.quickstart;
  const paths = ["/api/v4", "/api/v5", `/${appId}/api/v4`, `/${appId}/api/v5`];
  for (const [i, path] of paths.entries()) {
    const { status, body } = await client.execute(
      "INSERT INTO cars DOCUMENTS (:d)",
      { d: { _id: i } },
      `${path}/store/execute`,
    );
    expect({ status, id: body["transactionId"] }).toEqual({ status: 200, id: i + 1 });
  }
  const { body } = await client.execute("SELECT COUNT(*) AS n FROM cars");
  expect(body.items).toEqual([{ n: 4 }]);
});

test("[H1] the id of another app in the path is 401", async () => {
  const client = await start();
  const path = "/00000000-0000-4000-8000-000000000000/api/v4/store/execute";
  expectFailure(await client.execute("SELECT * FROM cars", {}, path), 401);
});

test("[H12] another method is 405, and a path below is 404, both as a QueryResponse", async () => {
  const client = await start();
  const reply = await client.send({ method: "PUT", body: "{}" });
  expectFailure(reply, 405);
  expect(reply.headers.get("allow")).toBe("POST");
  expectFailure(await client.send({ method: "GET" }), 405);
  expectFailure(await client.execute("SELECT * FROM cars", {}, "/api/v4/store/execute/now"), 404);
});

test("[H5] a body that is too large is 413", async () => {
  const client = await start();
  expectFailure(await client.send({ body: new Uint8Array(BODY_SIZE_MAX + 1) }), 413);
});

test("[H4] a body in another form is 415", async () => {
  const client = await start();
  const headers = { "content-type": "text/plain" };
  expectFailure(await client.send({ headers, body: '{"statement":"SELECT 1"}' }), 415);
});

test.each([
  ["{", "line 1, column 2"],
  ["", "line 1, column 1"],
  ["[]", "the body"],
  ['{"statement":7}', "statement"],
  ['{"statement":"SELECT * FROM cars","args":[]}', "args"],
])("[H6] the body %j is 400 and names the place: %s", async (text, place) => {
  const client = await start();
  expect(expectFailure(await client.send({ body: text }), 400)).toContain(place);
});

test("[H4] a request in CBOR may contain binary; the answer is JSON whatever Accept says", async () => {
  const client = await start();
  const document: Value = { _id: "c1", photo: new Uint8Array([251, 255]) };
  const headers = { "content-type": "application/cbor", accept: "application/cbor" };
  const insert = { statement: "INSERT INTO cars DOCUMENTS (:d)", args: { d: document } };
  const body = new Uint8Array(encodeCbor(insert));
  expect(await client.send({ headers, body })).toMatchObject({
    status: 200,
    body: { mutatedDocumentIds: ["c1"] },
  });
  const { body: read } = await client.execute("SELECT * FROM cars");
  expect(read.items).toEqual([{ _id: "c1", photo: "+/8=" }]);
});

test("[H11] 64-bit integers are returned unchanged", async () => {
  const client = await start();
  const text =
    '{"statement":"INSERT INTO cars DOCUMENTS (:d)","args":{"d":{"_id":"c1","n":9223372036854775807}}}';
  await client.send({ body: text });
  const { text: answer } = await client.execute("SELECT n FROM cars WHERE n > 9223372036854775806");
  expect(answer).toContain('"items":[{"n":9223372036854775807}]');
});

test("[H10] every read after the answer to a write sees the write, also after a restart", async () => {
  const client = await start();
  const { body } = await client.execute("INSERT INTO cars DOCUMENTS (:d)", { d: { _id: "c1" } });
  expect(body["transactionId"]).toBe(1);
  await client.server.close();
  const server = await startServer(testConfig({ dataDir: client.dataDir }), testHost());
  onTestFinished(() => server.close());
  const again = new Client(server, client.dataDir);
  expect(again.quickstart.apiKey).toBe(client.quickstart.apiKey);
  const read = await again.execute("SELECT * FROM cars");
  expect(read.body).toMatchObject({ items: [{ _id: "c1" }], transactionId: 1 });
});

test("[H15] the key is nowhere in the data folder except in quickstart.json", async () => {
  const client = await start();
  await client.execute("INSERT INTO cars DOCUMENTS (:d)", { d: { _id: "c1" } });
  await client.server.close();
  const { apiKey } = client.quickstart;
  const secret = apiKey.slice(-43);
  const raw = Buffer.from(secret, "base64url");
  const holders = readdirSync(client.dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const bytes = readFileSync(path);
      return [secret, raw, raw.toString("hex")].some((form) => bytes.includes(form));
    });
  expect(holders).toEqual([join(client.dataDir, "quickstart.json")]);
});

test("[H13] the statement and the request history have the id of the request", async () => {
  const client = await start();
  const reply = await client.execute("EXECUTE FUNCTION request_info()");
  const id = reply.headers.get("x-request-id");
  expect(reply.body.items).toMatchObject([{ result: { request_id: id } }]);
  const history = await client.execute("SELECT _id FROM system:request_history USE IDS :id", {
    id,
  });
  expect(history.body.items).toEqual([{ _id: id }]);
});

test("[H17] a statement whose client disconnects is stopped", async () => {
  const client = await start();
  const documents = Array.from({ length: 300 }, (_, i) => ({ _id: i }));
  await client.execute("INSERT INTO cars DOCUMENTS (:documents)", { documents });
  const statement = "SELECT a._id FROM cars a JOIN cars b ON true JOIN cars c ON a._id < 0";
  const controller = new AbortController();
  const leaving = client.send({
    body: JSON.stringify({ statement }),
    signal: controller.signal,
  });
  const active = "SELECT _id FROM system:active_requests WHERE text LIKE '%a._id < 0'";
  while ((await client.execute(active)).body.items.length === 0);
  controller.abort();
  await expect(leaving).rejects.toThrow("abort");
  while ((await client.execute(active)).body.items.length > 0);
  const ended = "SELECT state, error FROM system:request_history WHERE state = 'cancelled'";
  expect((await client.execute(ended)).body.items).toEqual([
    { state: "cancelled", error: "the client left" },
  ]);
});

test("[H17] another statement can cancel a running one, which is 408", async () => {
  const client = await start();
  const documents = Array.from({ length: 300 }, (_, i) => ({ _id: i }));
  await client.execute("INSERT INTO cars DOCUMENTS (:documents)", { documents });
  const slow = client.execute(
    "SELECT a._id FROM cars a JOIN cars b ON true JOIN cars c ON a._id < 0",
  );
  const where = "text LIKE '%a._id < 0'";
  const active = `SELECT _id FROM system:active_requests WHERE ${where}`;
  while ((await client.execute(active)).body.items.length === 0);
  await client.execute(`DELETE FROM system:active_requests WHERE ${where}`);
  expect(expectFailure(await slow, 408)).toContain("cancelled");
});
