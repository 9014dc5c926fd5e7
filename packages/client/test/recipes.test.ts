/**
 * The recipes of docs/changes.md, run as they stand there: each takes what was written, is killed, and
 * continues without a gap.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { RunningServer } from "./support/running-server.ts";

const page = readFileSync(new URL("../../../docs/changes.md", import.meta.url), "utf8");
const server = await RunningServer.start();
const client = server.client();
const PATIENCE = { timeout: 30_000, interval: 20 };

/** The block of the page that begins with the name of a file. */
function recipe(file: string): string {
  const found = [...page.matchAll(/^```\w+\n((?:\/\/|#) (\S+)\n[^]*?)^```$/gm)].find(
    ([, , name]) => name === file,
  );
  return found?.[1] ?? "";
}

/** A folder from which the built package is found. */
function folderWith(file: string): string {
  const cache = fileURLToPath(new URL("../../../node_modules/.cache/", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "recipe-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, file), recipe(file));
  return folder;
}

function environment(others: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { ...process.env, KEY: server.key, DATA_URL: server.url, ...others };
}

/** Runs a program of the page until `stop` kills it. */
function start(folder: string, file: string, others: Record<string, string> = {}): ChildProcess {
  const options = { cwd: folder, env: environment(others), stdio: "inherit" } as const;
  const child = spawn(process.execPath, [file], options);
  onTestFinished(() => stop(child));
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

interface Call {
  readonly call: string;
  readonly key: string | undefined;
  readonly body: unknown;
}

/** A service that notes its calls. */
async function openService(): Promise<{ url: string; calls: Call[] }> {
  const calls: Call[] = [];
  const service = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => {
      const key = request.headers["idempotency-key"] as string | undefined;
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      calls.push({ call: `${request.method} ${request.url}`, key, body });
      response.end("{}");
    });
  });
  await once(service.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    service.close();
    service.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(service.address() as AddressInfo).port}`, calls };
}

async function write(collection: string, document: Record<string, unknown>): Promise<void> {
  const statement = `INSERT INTO ${collection} DOCUMENTS (:document) ON ID CONFLICT DO UPDATE`;
  await client.execute(statement, { document });
}

test.runIf(isFullSize)("the search index has the rows, and follows over a restart", async () => {
  const { url, calls } = await openService();
  const folder = folderWith("search-index.mjs");
  await write("articles", { _id: "a 1", title: "one" });
  const first = start(folder, "search-index.mjs", { SEARCH_URL: url });
  await vi.waitFor(() => expect(existsSync(join(folder, "search.cursor"))).toBe(true), PATIENCE);
  await stop(first);
  await write("articles", { _id: "a2", title: "two" });
  await client.execute("DELETE FROM articles WHERE _id = 'a 1'");
  start(folder, "search-index.mjs", { SEARCH_URL: url });
  await vi.waitFor(() => expect(calls).toHaveLength(3), PATIENCE);
  expect(calls.map(({ call, body }) => [call, body])).toEqual([
    ["PUT /articles/_doc/a%201", { title: "one" }],
    ["PUT /articles/_doc/a2", { title: "two" }],
    ["DELETE /articles/_doc/a%201", undefined],
  ]);
});

test("an order that becomes late is one mail, also if the program was stopped before its first change", async () => {
  const { url, calls } = await openService();
  const folder = folderWith("late-orders.mjs");
  await write("orders", { _id: "o1", email: "a@example.com", status: "late" });
  const first = start(folder, "late-orders.mjs", { MAIL_URL: url, MAIL_KEY: "k" });
  await vi.waitFor(() => expect(existsSync(join(folder, "mail.cursor"))).toBe(true), PATIENCE);
  await stop(first);
  await write("orders", { _id: "o2", email: "b@example.com", status: "new" });
  await write("orders", { _id: "o2", email: "b@example.com", status: "late" });
  await write("orders", { _id: "o2", email: "b@example.com", status: "late", note: "called" });
  await write("orders", { _id: "o3", email: "c@example.com", status: "late" });
  start(folder, "late-orders.mjs", { MAIL_URL: url, MAIL_KEY: "k" });
  await vi.waitFor(() => expect(calls).toHaveLength(2), PATIENCE);
  expect(calls).toMatchObject([
    { call: "POST /emails", body: { to: "b@example.com", subject: "Order o2 is late" } },
    { call: "POST /emails", body: { to: "c@example.com", subject: "Order o3 is late" } },
  ]);
  expect(new Set(calls.map(({ key }) => key)).size).toBe(2);
});

test.runIf(isFullSize)(
  "the file for the warehouse has each change once, whatever the number of runs",
  async () => {
    const folder = folderWith("warehouse.sh");
    const run = async (): Promise<string[]> => {
      await promisify(execFile)("sh", ["warehouse.sh"], { cwd: folder, env: environment() });
      const lines = readFileSync(join(folder, "changes.ndjson"), "utf8").trimEnd().split("\n");
      const changes = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      return changes
        .filter(({ type, collection }) => type !== undefined && collection === "sales")
        .map(({ type, id }) => `${String(type)} ${String(id)}`);
    };
    await write("sales", { _id: "s1", text: '\\n "quoted"' });
    await write("sales", { _id: "s2" });
    expect(await run()).toEqual(["insert s1", "insert s2"]);
    expect(await run()).toEqual(["insert s1", "insert s2"]);
    await client.execute("UPDATE sales SET n = 1 WHERE _id = 's1'");
    expect(await run()).toEqual(["insert s1", "insert s2", "update s1"]);
  },
);

test("the audit names the writer of each change, and has none twice after a kill", async () => {
  const folder = folderWith("audit.mjs");
  const file = join(folder, "audit.ndjson");
  const entries = (): Record<string, unknown>[] =>
    (existsSync(file) ? readFileSync(file, "utf8") : "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ collection }) => collection === "accounts");
  await write("accounts", { _id: "c1", sum: 2n ** 60n });
  const first = start(folder, "audit.mjs");
  await vi.waitFor(() => expect(entries()).toHaveLength(1), PATIENCE);
  await stop(first);
  await client.execute("UPDATE accounts SET sum = 1 WHERE _id = 'c1'");
  start(folder, "audit.mjs");
  await vi.waitFor(() => expect(entries()).toHaveLength(2), PATIENCE);
  const by = { credential: expect.any(String) as string };
  expect(entries()).toMatchObject([
    { type: "insert", id: "c1", by, document: { sum: "1152921504606846976" } },
    { type: "update", id: "c1", by, document: { sum: 1 } },
  ]);
});
