/**
 * The built command as a process: Ctrl-C while it waits, and a standard output that breaks.
 */

import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize, oneOf } from "../../protocol/test/support/test-size.ts";
import { CommandProcess } from "./support/command-process.ts";
import { type HttpServer, startHttpServer } from "./support/http-server.ts";
import { startTestServer } from "./support/run-bigpeer.ts";

/** A server that takes requests and answers none. */
function silentServer(): Promise<HttpServer> {
  return startHttpServer((request) => request.resume());
}

const WAITING = [
  ["query", "SELECT 1"],
  ["status"],
  ["doctor"],
  ["app", "list"],
  ["key", "create", "k"],
  ["webhook", "status"],
  ["login", "--profile", "p"],
  ["import", "a.ndjson", "--collection", "a"],
  ["query", "--file", "two.sql", "--continue-on-error"],
  ["export", "tasks", "--output", "out.ndjson"],
];

test.each(oneOf(3, WAITING).map((words) => [words]))(
  "Ctrl-C ends a command whose request is under way at once with 130: %j",
  async (words) => {
    const { server, url, env } = await silentServer();
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.ndjson"), '{"_id":"a"}\n');
    writeFileSync(join(folder, "two.sql"), "SELECT 1; SELECT 2;");
    const all = words[0] === "login" ? ["login", url, ...words.slice(1)] : words;
    const command = new CommandProcess(all, { folder, env });
    await once(server, "request");
    command.child.kill("SIGINT");
    expect(await command.ended).toEqual({ code: 130, signal: null, stdout: "", stderr: "" });
    expect(readdirSync(folder).filter((name) => name.startsWith("out"))).toEqual([]);
  },
);

test("Ctrl-C ends an import that tries to reach a server at once with 130", async () => {
  const { server, env } = await silentServer();
  server.removeAllListeners("request");
  let requests = 0;
  const second = new Promise<void>((resolve) => {
    server.on("request", (request) => {
      request.socket.destroy();
      if (++requests === 2) resolve();
    });
  });
  const folder = temporaryFolder();
  writeFileSync(join(folder, "a.ndjson"), '{"_id":"a"}\n');
  const command = new CommandProcess(["import", "a.ndjson", "-c", "a"], { folder, env });
  await second;
  command.child.kill("SIGINT");
  expect(await command.ended).toEqual({ code: 130, signal: null, stdout: "", stderr: "" });
});

test.runIf(isFullSize)(
  "a reader that leaves early ends a command quietly with 0, and no temporary file stays",
  async () => {
    const server = await startTestServer();
    const documents = Array.from({ length: 2_000 }, (_, n) => ({ _id: n, text: "x".repeat(500) }));
    const insert = "INSERT INTO many DOCUMENTS (:documents)";
    const folder = temporaryFolder();
    writeFileSync(join(folder, "args.json"), JSON.stringify({ documents }));
    await server.run(["query", insert, "--args", "@args.json"], { folder });
    const temporary = temporaryFolder();
    for (const words of [
      ["export", "many"],
      ["export", "many", "--format", "csv"],
      ["query", "SELECT * FROM many"],
    ]) {
      const env = { ...server.env, TMPDIR: temporary };
      const command = new CommandProcess(words, { folder, env });
      command.child.stdout?.once("data", () => command.child.stdout?.destroy());
      expect(await command.ended).toMatchObject({ code: 0, signal: null, stderr: "" });
      expect(readdirSync(temporary)).toEqual([]);
    }
  },
);

test("a reader that leaves before the help ends a command quietly with 0", async () => {
  const command = new CommandProcess(["--help"], { folder: temporaryFolder(), env: {} });
  command.child.stdout?.destroy();
  expect(await command.ended).toMatchObject({ code: 0, signal: null, stderr: "" });
});
