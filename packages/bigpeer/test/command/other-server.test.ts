/**
 * Commands at an address where another program answers.
 */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { type HttpServer, startHttpServer } from "../support/http-server.ts";
import { runBigpeer } from "../support/run-bigpeer.ts";

const ANSWERS = [
  [200, "text/html", "<!doctype html>\n<title>Sign in</title>\n"],
  [200, "application/json", "{}"],
  [200, "application/json", '{"status":"ok","data":{}}\n'],
  [200, "application/json", "[]"],
  [200, "application/json", "null\n"],
  [200, "text/plain", ""],
  [404, "text/html", "<h1>Not found</h1>"],
] as const;

/** A server that gives this answer to everything. */
function otherServer(status: number, type: string, body: string): Promise<HttpServer> {
  return startHttpServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": type }).end(body);
    });
  });
}

const COMMANDS = [
  ["query", "SELECT * FROM tasks"],
  ["query", "SELECT * FROM tasks", "--format", "table"],
  ["import", "a.ndjson", "--collection", "tasks"],
  ["export", "tasks"],
  ["export", "tasks", "--format", "csv"],
  ["export", "tasks", "--output", "out.ndjson"],
  ["tail"],
  ["status"],
  ["peers"],
  ["remote", "SELECT * FROM tasks"],
  ["dataset", "load", "tasks"],
  ["login", "--profile", "p"],
  ["attachment", "put", "a.ndjson"],
  ["attachment", "get", "x".repeat(43)],
  ["attachment", "get", "x".repeat(43), "--output", "out"],
  ["openapi"],
  ["app", "list"],
  ["app", "create", "shop"],
  ["app", "show", "shop"],
  ["key", "list"],
  ["key", "create", "k"],
  ["key", "rotate", "k"],
  ["provider", "list"],
  ["replication", "list"],
  ["webhook", "list"],
  ["webhook", "status"],
  ["sink", "show", "s"],
  ["cluster", "status"],
  ["cluster", "status", "--json"],
];

test.each(ANSWERS)(
  "the answer of another program is never believed: %i %s %j",
  async (status, type, body) => {
    const { env, url } = await otherServer(status, type, body);
    for (const words of COMMANDS) {
      const folder = temporaryFolder();
      writeFileSync(join(folder, "a.ndjson"), '{"_id":"a"}\n{"_id":"b"}\n');
      const all = words[0] === "login" ? ["login", url, ...words.slice(1)] : words;
      const outcome = await runBigpeer(all, { env, folder }).catch((error: unknown) => error);
      expect({ words, outcome }).toMatchObject({ outcome: { stdout: "" } });
      const { code, stderr } = outcome as { readonly code: number; readonly stderr: string };
      // A 404 may mean that the server has no such thing.
      expect({
        words,
        stderr,
        isFailed: code === 3 || (status === 404 && code === 1),
      }).toMatchObject({ isFailed: true });
      expect({ words, stderr }).toMatchObject({ stderr: expect.stringContaining("answer") });
      for (const name of ["out", "out.ndjson", join(".config", "bigpeer", "profiles.json")])
        expect(existsSync(join(folder, name))).toBe(false);
    }
  },
);
