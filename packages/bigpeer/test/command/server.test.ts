/**
 * The commands that call a server, each against a real one.
 */

import { readFileSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { startHttpServer } from "../support/http-server.ts";
import { runBigpeer, startTestServer, type TestServer } from "../support/run-bigpeer.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

/** What a command printed as JSON. */
async function json(words: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await server.run(words);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return JSON.parse(stdout) as unknown;
}

test.each(["status", "peers", "doctor"])(
  "%s needs the address and the key only, and prints to stdout",
  async (name) => {
    const env = { BIGPEER_URL: server.url, BIGPEER_KEY: server.key };
    for (const isTerminal of [false, true]) {
      const { code, stdout, stderr } = await runBigpeer([name], { env, isTerminal });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).not.toBe("");
      expect(stdout).not.toContain(server.key);
    }
  },
);

test("status shows health, version, contents and apps", async () => {
  await server.run(["query", "INSERT INTO seen DOCUMENTS ({'a': 1})"]);
  expect(await json(["status"])).toMatchObject({
    url: server.url,
    status: "ready",
    version: "0.1.0",
    collections: expect.arrayContaining(["seen"]),
    peers: "0",
    apps: expect.arrayContaining(["default"]),
  });
});

test("status shows what it can of a server whose start page a proxy does not let through", async () => {
  const { url } = await startHttpServer((request, response) => {
    if (request.url === "/") request.socket.destroy();
    else void forward(request, response);
  });
  const env = { BIGPEER_URL: url, BIGPEER_KEY: server.key };
  const { code, stdout, stderr } = await runBigpeer(["status", "--format", "json"], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ status: "ready", version: "unknown" });
});

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", url = "/", headers } = request;
  const { authorization = "", "content-type": type = "" } = headers;
  const body = method === "GET" ? null : await readText(request);
  const init = { method, body, headers: { authorization, "content-type": type } };
  const answer = await fetch(server.url + url, init);
  const contentType = answer.headers.get("content-type") ?? "text/plain";
  response.writeHead(answer.status, { "content-type": contentType, connection: "close" });
  response.end(await answer.text());
}

test("doctor names the source of each setting, never a key, and what to do about a fault", async () => {
  const good = await server.run(["doctor"], { isTerminal: true });
  expect(good.stdout).toContain("set, from BIGPEER_KEY");
  expect(good.stdout).not.toContain(server.key);
  const env = { BIGPEER_URL: server.url, BIGPEER_KEY: "bp_00000000_wrong" };
  const bad = await runBigpeer(["doctor"], { env });
  expect(bad.code).toBe(3);
  const findings = JSON.parse(bad.stdout) as { check: string; verdict: string; fix?: string }[];
  const fault = findings.find(({ verdict }) => verdict === "fault");
  expect(fault).toMatchObject({ check: "key", fix: expect.stringContaining("BIGPEER_KEY") });
});

test("query prints one JSON array of rows, a table on a terminal, and a note about writes", async () => {
  const insert =
    "INSERT INTO cars DOCUMENTS ({'_id': 'c1', 'color': 'blue', 'n': 9007199254740993})";
  const written = await server.run(["query", insert]);
  expect(written).toMatchObject({ code: 0, stdout: "[]\n", stderr: "1 document changed\n" });
  const select = "SELECT _id, color, n FROM cars WHERE _id = :id";
  const words = ["query", select, "--param", "id=c1"];
  const rows = '[{"_id":"c1","color":"blue","n":9007199254740993}]\n';
  expect((await server.run([...words, "--format", "json"])).stdout).toBe(rows);
  expect((await server.run(words)).stdout).toBe(rows);
  const env = { ...server.env, NO_COLOR: "1" };
  const shown = await server.run(words, { isTerminal: true, env });
  expect(shown.stdout).toBe("_id  color                 n\nc1   blue   9007199254740993\n");
  const csv = await server.run([...words, "--format", "csv"]);
  expect(csv.stdout).toBe("_id,color,n\nc1,blue,9007199254740993\n");
});

test("a wrong statement is exit code 1, with a caret below the place and nothing on stdout", async () => {
  const { code, stdout, stderr } = await server.run([
    "query",
    "SELECT * FORM cars",
    "--format",
    "json",
  ]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain('expected FROM, found "FORM" at line 1, column 10');
  expect(stderr).toContain("  SELECT * FORM cars\n           ^\n");
});

test("a key that the server refuses is exit code 3", async () => {
  const env = { BIGPEER_URL: server.url, BIGPEER_KEY: "bp_00000000_wrong" };
  const { code, stdout, stderr } = await runBigpeer(["query", "SELECT 1 FROM cars"], { env });
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain("bigpeer doctor shows which key is used");
});

test("query runs the statements of stdin or of a file, and stops at a failure unless told otherwise", async () => {
  const text =
    "INSERT INTO many DOCUMENTS ({'_id': 'a;b'});\nSELECT * FORM many; -- no\nSELECT _id FROM many";
  const stopped = await server.run(["query"], { input: text });
  expect(stopped).toMatchObject({ code: 1, stdout: "[]\n" });
  expect(stopped.stderr).toContain("the statement at line 2 failed");
  const folder = temporaryFolder();
  writeFileSync(join(folder, "some.sql"), text.replace("INSERT", "UPSERT"));
  const words = ["query", "--file", "some.sql", "--continue-on-error", "--format", "ndjson"];
  const done = await server.run(words, { folder });
  expect(done.stdout).toContain('{"_id":"a;b"}\n');
  expect(done.code).toBe(1);
});

test("query writes to a file, explains and times", async () => {
  const folder = temporaryFolder();
  const words = ["query", "SELECT 1 AS one FROM system:dual", "--time"];
  const { code, stdout, stderr } = await server.run([...words, "--output", "rows.json"], {
    folder,
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(/^\d+\.\d ms\n$/);
  expect(readFileSync(join(folder, "rows.json"), "utf8")).toBe('[{"one":1}]\n');
  expect(JSON.stringify(await json([...words, "--explain"]))).toContain("#operator");
});

test("apps are created, listed, changed, deleted and restored", async () => {
  expect(await json(["app", "create", "shop"])).toMatchObject({ name: "shop" });
  const listed = (await json(["app", "list", "--format", "json"])) as { name: string }[];
  expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(["default", "shop"]));
  expect(await json(["app", "set", "shop", "strictV4=true"])).toMatchObject({ strictV4: true });
  const shown = await json(["app", "show", "shop"]);
  expect(shown).toMatchObject({ name: "shop", settings: { strictV4: true } });
  // No one can answer a question in a pipe.
  expect(await server.run(["app", "delete", "shop"])).toMatchObject({ code: 2, stdout: "" });
  const refused = await server.run(["app", "delete", "shop"], { isTerminal: true, answers: ["n"] });
  expect(refused).toMatchObject({ code: 1 });
  expect(
    (await server.run(["app", "delete", "shop"], { isTerminal: true, answers: ["y"] })).code,
  ).toBe(0);
  const [deleted] = (await json(["app", "list", "--deleted"])) as { appId: string }[];
  expect((await server.run(["app", "restore", deleted?.appId ?? ""])).code).toBe(0);
  expect((await server.run(["app", "delete", "shop", "--yes"])).code).toBe(0);
  const gone = await server.run(["app", "show", "shop"]);
  expect(gone).toMatchObject({ code: 1, stdout: "" });
});

test("keys are created, used, listed, rotated and deleted", async () => {
  const words = [
    "key",
    "create",
    "report",
    "--read-only",
    "--expires",
    "30d",
    "--description",
    "x",
  ];
  const text = (await server.run(words)).stdout.trim();
  expect(text).toMatch(/^bp_[^\s"]+$/);
  const env = { BIGPEER_URL: server.url, BIGPEER_KEY: text };
  expect((await runBigpeer(["query", "SELECT 1 AS one FROM system:dual"], { env })).code).toBe(0);
  const write = await runBigpeer(["query", "INSERT INTO cars DOCUMENTS ({'a': 1})"], { env });
  expect(write).toMatchObject({ code: 3, stdout: "" });
  const table = await server.run(["key", "list"], {
    isTerminal: true,
    env: { ...server.env, NO_COLOR: "1" },
  });
  expect(table.stdout).toMatch(/^report +everything +nothing/m);
  expect(table.stdout).not.toContain(text);
  const rotated = await json(["key", "rotate", "report", "--format", "json"]);
  expect(rotated).toMatchObject({ name: "report", key: expect.stringMatching(/^bp_/) });
  expect((await runBigpeer(["status"], { env })).code).toBe(3);
  expect((await server.run(["key", "delete", "report", "--yes"])).code).toBe(0);
  const bad = await server.run(["key", "create", "x", "--expires", "soon"]);
  expect(bad).toMatchObject({ code: 2, stdout: "" });
});

test("providers and replications are created, shown, listed and deleted", async () => {
  const config =
    '{"type": "anonymous", "sharedToken": "a-token-that-is-long", "sessionLength": 60, "permission": {"remoteQuery": false, "read": {"everything": true, "queriesByCollection": {}}, "write": {"everything": false, "queriesByCollection": {}}}}';
  const provider = await server.run(["provider", "create", "guests", config]);
  expect(provider.stderr).toBe("");
  expect(JSON.parse(provider.stdout)).toMatchObject({ name: "guests" });
  expect(await json(["provider", "show", "guests"])).toMatchObject({
    config: { type: "anonymous" },
  });
  const table = await server.run(["provider", "list"], { isTerminal: true });
  expect(table.stdout).toContain("guests");
  expect((await server.run(["provider", "delete", "guests", "--yes"])).code).toBe(0);
  const link = '{"connections": ["127.0.0.1:1"], "queriesByCollection": {"cars": ["true"]}}';
  expect(await json(["replication", "create", "west", link])).toMatchObject({ name: "west" });
  expect(await json(["replication", "status", "west"])).toMatchObject({ name: "west" });
  expect(await json(["replication", "list"])).toMatchObject([{ name: "west" }]);
  expect((await server.run(["replication", "delete", "west", "--yes"])).code).toBe(0);
});

test("a wrong admin token is exit code 3", async () => {
  const env = { ...server.env, BIGPEER_ADMIN_TOKEN: "another-token-altogether" };
  expect(await server.run(["app", "list"], { env })).toMatchObject({ code: 3, stdout: "" });
});

test("attachments are stored and fetched, and a terminal gets no bytes", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "photo.bin"), Buffer.from([0, 255, 10, 27]));
  const put = await server.run(["attachment", "put", "photo.bin"], { folder });
  const [token] = JSON.parse(put.stdout) as { id: string; len: number }[];
  expect(token).toMatchObject({ file: "photo.bin", len: 4 });
  const id = token?.id ?? "";
  const piped = await server.run(["attachment", "get", id]);
  expect(piped.stdout).toBe("\u0000\u00ff\n\u001b");
  const words = ["attachment", "get", id, "--output", "copy.bin"];
  expect((await server.run(words, { folder })).code).toBe(0);
  expect([...readFileSync(join(folder, "copy.bin"))]).toEqual([0, 255, 10, 27]);
  expect(await server.run(["attachment", "get", id], { isTerminal: true })).toMatchObject({
    code: 2,
  });
  expect(await json(["attachment", "info", id])).toMatchObject({ len: 4 });
  expect(await server.run(["attachment", "info", "none"])).toMatchObject({ code: 1, stdout: "" });
});

test("openapi prints the documents of both APIs", async () => {
  expect(await json(["openapi"])).toMatchObject({ openapi: expect.stringMatching(/^3\./) });
  const management = JSON.stringify(await json(["openapi", "--management"]));
  expect(management).toContain("bigPeer");
});

test("remote needs no context for all peers, and says how many answered", async () => {
  const { code, stdout, stderr } = await server.run(["remote", "SELECT * FROM cars"]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "[]\n", stderr: "0 ok, 0 failed\n" });
});

test("login saves a profile that only the owner reads, and later commands use it", async () => {
  const folder = temporaryFolder();
  const run = (words: string[], rest: object = {}) => runBigpeer(words, { folder, ...rest });
  const wrong = await run(["login", server.url, "--key-stdin"], { input: "bp_wrong" });
  expect(wrong).toMatchObject({ code: 3 });
  const saved = await run(["login", server.url, "--key-stdin"], { input: `${server.key}\n` });
  expect(saved).toMatchObject({ code: 0, stdout: "" });
  const path = join(folder, ".config", "bigpeer", "profiles.json");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const status = await run(["status"]);
  expect(JSON.parse(status.stdout)).toMatchObject({ url: server.url });
  // A key never goes to another server than the one it was saved for.
  const elsewhere = await run(["doctor"], { env: { BIGPEER_URL: "http://127.0.0.1:1" } });
  expect(elsewhere.stdout).toContain('"check":"key","verdict":"fault","found":"none"');
  const listed = await run(["login", "--list"]);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: "default", isCurrent: true }]);
  expect(listed.stdout).not.toContain(server.key);
  expect((await run(["status", "--profile", "shop"])).stderr).toContain('no profile named "shop"');
  expect((await run(["login", "--remove"])).code).toBe(0);
  expect((await run(["status"])).code).toBe(3);
});

test("a terminal asks for the key", async () => {
  const folder = temporaryFolder();
  const asked = await runBigpeer(["login", server.url], {
    folder,
    isTerminal: true,
    answers: [server.key],
  });
  expect(asked.code).toBe(0);
  expect(asked.stderr).toContain("API key: ");
});

test("the quickstart file of the folder, and a .env file before it, are found by themselves", async () => {
  const folder = join(server.dataDir, "..");
  const quickstart = await runBigpeer(["status"], {
    env: { BIGPEER_DATA_DIR: server.dataDir },
    folder,
  });
  expect(JSON.parse(quickstart.stdout)).toMatchObject({ url: server.url });
  const other = temporaryFolder();
  writeFileSync(
    join(other, ".env"),
    `BIGPEER_URL="${server.url}" # here\nBIGPEER_KEY=${server.key}\nOTHER=1\n`,
  );
  const found = await runBigpeer(["doctor"], { folder: other });
  expect(found.code).toBe(0);
  expect(found.stdout).toContain("BIGPEER_URL in .env");
});
