/**
 * `bigpeer tail` against a real server.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { startServer } from "../../../server/src/server.ts";
import { testConfig } from "../../../server/test/support/test-config.ts";
import { readQuickstart } from "../../src/connection/quickstart-file.ts";
import { CommandProcess } from "../support/command-process.ts";
import {
  type Outcome,
  runBigpeer,
  startTestServer,
  type TestServer,
} from "../support/run-bigpeer.ts";

const PATIENCE = { timeout: 60_000, interval: 20 };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

interface Tail {
  readonly ended: Promise<Outcome>;
  readonly stdout: () => string;
  readonly waitFor: (text: string) => Promise<void>;
  readonly stop: () => void;
}

function openTail(
  words: readonly string[],
  { env = server.env, isTerminal = false, folder = temporaryFolder() } = {},
): Tail {
  const ending = new AbortController();
  let stdout = "";
  const ended = runBigpeer(["tail", ...words], {
    env,
    isTerminal,
    folder,
    signal: ending.signal,
    onOutput: (text) => (stdout = text),
  });
  const waitFor = (text: string) =>
    vi.waitFor(() => {
      if (!stdout.includes(text)) throw new Error(`expected ${text} in:\n${stdout}`);
    }, PATIENCE);
  return { ended, stdout: () => stdout, waitFor, stop: () => ending.abort(new Error("stopped")) };
}

async function query(statement: string, env = server.env): Promise<void> {
  const { code, stderr } = await runBigpeer(["query", statement], { env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

function linesOf(text: string): Record<string, unknown>[] {
  const lines = text.trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("tail begins with the rows, follows changes as lines of JSON, and ends with Ctrl-C and exit code 0", async () => {
  await query(
    "INSERT INTO orders DOCUMENTS ({'_id': 'o1', 'status': 'open', 'n': 9007199254740993})",
  );
  await query("INSERT INTO others DOCUMENTS ({'_id': 'x'})");
  const tail = openTail(["orders", "--initial"]);
  await tail.waitFor('"o1"');
  await query("UPDATE orders SET status = 'late' WHERE _id = 'o1'");
  await query("DELETE FROM orders WHERE _id = 'o1'");
  await tail.waitFor('"delete"');
  tail.stop();
  const { code, stdout, stderr } = await tail.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain('"n":9007199254740993');
  const lines = linesOf(stdout);
  expect(lines).toMatchObject([
    { type: "insert", initial: true, document: { status: "open" }, cursor: expect.any(String) },
    { type: "update", document: { status: "late" }, before: { status: "open" } },
    { type: "delete", id: "o1" },
  ]);
});

test("--since continues after a cursor, --count ends the command, --view shows changed fields only", async () => {
  await query("INSERT INTO steps DOCUMENTS ({'_id': 's', 'a': 1, 'b': 1})");
  await query("UPDATE steps SET a = 2 WHERE _id = 's'");
  await query("UPDATE steps SET b = 2 WHERE _id = 's'");
  const [first] = linesOf((await openTail(["steps", "--since", "0", "--count", "1"]).ended).stdout);
  expect(first).toMatchObject({ type: "insert", document: { _id: "s", a: 1, b: 1 } });
  const words = ["steps", "--since", String(first?.["cursor"]), "-n", "2", "--view", "fields"];
  const { stdout } = await openTail(words).ended;
  expect(linesOf(stdout)).toMatchObject([
    { document: { a: 2 }, before: { a: 1 } },
    { document: { b: 2 }, before: { b: 1 } },
  ]);
});

test("--query with parameters chooses documents, of all collections without a name", async () => {
  await query("INSERT INTO heights DOCUMENTS ({'_id': 'low', 'h': 1}), ({'_id': 'high', 'h': 9})");
  const words = ["--query", "h > :least", "--param", "least=5", "--since", "0", "-n", "1"];
  const lines = linesOf((await openTail(words).ended).stdout);
  expect(lines).toMatchObject([{ collection: "heights", id: "high" }]);
});

test("a terminal gets a readable line for each change, cut to its width", async () => {
  await query("INSERT INTO boats DOCUMENTS ({'_id': 'b1', 'name': 'Ada', 'sails': 2})");
  await query("UPDATE boats SET name = 'Bea', flag = 'a\\u001bb' WHERE _id = 'b1'");
  await query("UPDATE boats UNSET sails WHERE _id = 'b1'");
  const long = "x".repeat(300);
  await query(`UPDATE boats SET name = '${long}' WHERE _id = 'b1'`);
  await query("DELETE FROM boats WHERE _id = 'b1'");
  const words = ["boats", "--since", "0", "-n", "5"];
  const { stdout } = await openTail(words, {
    isTerminal: true,
    env: { ...server.env, NO_COLOR: "1" },
  }).ended;
  const lines = stdout.trimEnd().split("\n");
  const shown = lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}/, ""));
  expect(shown[0]).toBe('insert  boats b1  by quickstart  {"_id":"b1","name":"Ada","sails":2}');
  expect(shown[1]).toMatch(
    /^update {2}boats b1 {2}by quickstart {2}name: "Ada" → "Bea", flag: absent → "a\\u001bb"$/,
  );
  expect(shown[2]).toBe("update  boats b1  by quickstart  sails: 2 → absent");
  expect(lines[3]).toHaveLength(120);
  expect(lines[3]).toMatch(/…$/);
  expect(shown[4]).toBe("delete  boats b1  by quickstart");
  const coloured = await openTail(words, { isTerminal: true }).ended;
  expect(coloured.stdout).toContain("\u001b[32minsert\u001b[39m");
});

test("--format csv has columns, vertical has a field on each line, --output writes a file", async () => {
  await query("INSERT INTO forms DOCUMENTS ({'_id': 'f', 'a': 1})");
  const words = ["forms", "--since", "0", "-n", "1"];
  const csv = await openTail([...words, "--format", "csv"]).ended;
  expect(csv.stdout).toMatch(
    /^cursor,type,collection,id,txnId,at,by,document,before\n\S+,insert,forms,f,/,
  );
  expect(csv.stdout).toContain('"{""_id"":""f"",""a"":1}"');
  const vertical = await openTail([...words, "--format", "vertical"]).ended;
  expect(vertical.stdout).toMatch(/^type +insert$/m);
  const folder = temporaryFolder();
  const file = await openTail([...words, "--output", "changes.ndjson"], { folder }).ended;
  expect(file).toMatchObject({ code: 0, stdout: "" });
  expect(linesOf(readFileSync(join(folder, "changes.ndjson"), "utf8"))).toHaveLength(1);
});

test("a position that is gone is exit code 1 and names the oldest one; it works", async () => {
  await query("INSERT INTO old DOCUMENTS ({'_id': 'a'})");
  const { code, stdout, stderr } = await openTail(["--since", `${"0".repeat(32)}.1`]).ended;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  const [, oldest = ""] =
    /--since (\S+) continues with the oldest change, --initial reads/.exec(stderr) ?? [];
  expect((await openTail(["--since", oldest, "-n", "1"]).ended).code).toBe(0);
});

test.each([
  [["--since", "x"], 1, "expected"],
  [["orders", "--query", "n >"], 1, "expected"],
  [["orders", "--count", "0"], 2, "--count: expected a whole number"],
  [["orders", "--view", "all"], 2, "Allowed choices are document, fields"],
])("a wrong tail is refused: %j", async (words, exitCode, message) => {
  const { code, stdout, stderr } = await openTail(words).ended;
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
  expect(stderr).toContain(message);
});

test("a key that may not read the collection, a wrong key and a server that is away are exit code 3", async () => {
  const nothing = { everything: false, queriesByCollection: {} };
  const permissions = JSON.stringify({ read: nothing, write: nothing, remoteQuery: false });
  const created = await server.run(["key", "create", "blind", "--permissions", permissions]);
  const env = { BIGPEER_URL: server.url, BIGPEER_KEY: created.stdout.trim() };
  const blind = await openTail(["orders"], { env }).ended;
  expect(blind).toMatchObject({ code: 3, stdout: "" });
  expect(blind.stderr).toContain("permission");
  const wrong = openTail(["orders"], { env: { ...env, BIGPEER_KEY: "bp_00000000_wrong" } });
  expect(await wrong.ended).toMatchObject({ code: 3, stdout: "" });
  const away = openTail(["orders"], { env: { ...env, BIGPEER_URL: "http://127.0.0.1:1" } });
  expect(await away.ended).toMatchObject({ code: 3, stdout: "" });
});

test("tail says that the connection is lost, and goes on after a restart of the server without a gap", async () => {
  const dataDir = join(temporaryFolder(), "data");
  let restarted = await startServer(testConfig({ dataDir }), testHost());
  const key = readQuickstart(join(dataDir, "quickstart.json"))?.key ?? "";
  const env = { BIGPEER_URL: restarted.url, BIGPEER_KEY: key };
  const tail = openTail(["--initial"], { env });
  await query("INSERT INTO cars DOCUMENTS ({'_id': 'a'})", env);
  await tail.waitFor('"a"');
  const { port } = new URL(restarted.url);
  await restarted.close();
  restarted = await startServer(testConfig({ dataDir, port: Number(port) }), testHost());
  await query("INSERT INTO cars DOCUMENTS ({'_id': 'b'})", env);
  await tail.waitFor('"b"');
  tail.stop();
  const { code, stdout, stderr } = await tail.ended;
  expect(code).toBe(0);
  expect(linesOf(stdout).map(({ id }) => id)).toEqual(["a", "b"]);
  expect(stderr).toMatch(/^the connection is lost: .*; connecting again\nconnected again\n$/);
  await restarted.close();
});

test.runIf(isFullSize)(
  "the built command ends with exit code 0 at Ctrl-C, and when the reader of its pipe leaves",
  async () => {
    const open = () => {
      const words = ["tail", "pipes", "--since", "0"];
      return new CommandProcess(words, { folder: temporaryFolder(), env: server.env });
    };
    await query("INSERT INTO pipes DOCUMENTS ({'_id': 'a'})");
    const stopped = open();
    await stopped.waitFor(/"a"/);
    stopped.child.kill("SIGINT");
    expect(await stopped.ended).toMatchObject({ code: 0, signal: null, stderr: "" });
    const left = open();
    await left.waitFor(/"a"/);
    left.child.stdout?.destroy();
    await query("INSERT INTO pipes DOCUMENTS ({'_id': 'b'})");
    expect(await left.ended).toMatchObject({ code: 0, signal: null, stderr: "" });
  },
);
