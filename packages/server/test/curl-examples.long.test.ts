/**
 * The examples for curl are true: every call of examples/curl, made against the server as a process of its
 * own, gets the answer that stands there. The other tests show that the examples can fail.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { BigpeerProcess } from "./support/bigpeer-process.ts";
import { runExamples } from "./support/example-run.ts";

test("every curl example gets the documented answer, also in a second run", async () => {
  const script = await bundleScript("server/src/main");
  onTestFinished(() => script.remove());
  const dataDir = temporaryFolder();
  const server = new BigpeerProcess(script, ["--data-dir", dataDir, "--port", "0"]);
  const url = await server.url();
  // The second time without those that wait for a transaction that does not come.
  for (const words of [[], ["find", "write", "attachments", "requests"]]) {
    const { code, lines } = await runExamples("curl", { DATA_DIR: dataDir }, ...words);
    expect(lines.filter((line) => !line.startsWith("ok "))).toEqual([
      expect.stringMatching(new RegExp(`^\\d{2,} calls to ${url}, 0 failed$`)),
    ]);
    expect(code).toBe(0);
  }
}, 120_000);

/** Answers everything with the same. */
async function serveAlways(status: number, body: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return `http://127.0.0.1:${address.port}`;
}

const ANYONE = { API_KEY: "key", APP_ID: "app" };

test("an answer with another status, value or field fails the run and is reported", async () => {
  const BASE_URL = await serveAlways(200, '{"status":"live","extra":1}');
  const { code, lines } = await runExamples("curl", { BASE_URL, ...ANYONE }, "09-server");
  expect(code).toBe(1);
  const failure = lines.findIndex((line) => /^FAILED .* The server is ready/.test(line));
  expect(lines.slice(failure + 1)).toEqual([
    `         curl -sS -i ${BASE_URL}/readyz -H Authorization:`,
    '         body.status: expected "ready", found "live"',
    "         body.extra: expected nothing, found 1",
    expect.stringMatching(/^\d+ calls to .*, [1-9]\d* failed$/),
  ]);
  const refusal = await runExamples(
    "curl",
    { BASE_URL: await serveAlways(503, '{"status":"ready"}'), ...ANYONE },
    "09-server",
  );
  expect(refusal.code).toBe(1);
  expect(refusal.lines.filter((line) => line.startsWith("ok "))).toEqual([]);
  expect(refusal.lines).toContain("         status: expected 200, found 503");
});

test("a missing server, key or curl is reported in a sentence", async () => {
  expect(await runExamples("curl", { BASE_URL: "http://127.0.0.1:1", ...ANYONE })).toEqual({
    code: 2,
    lines: [expect.stringMatching(/^examples\/curl: curl: .*connect to 127\.0\.0\.1 port 1/)],
  });
  const dataDir = temporaryFolder();
  expect(await runExamples("curl", { DATA_DIR: dataDir })).toEqual({
    code: 2,
    lines: [
      "examples/curl: expected API_KEY and APP_ID, or DATA_DIR with a quickstart.json: " +
        `${join(dataDir, "quickstart.json")} does not exist`,
    ],
  });
  expect(await runExamples("curl", { PATH: dataDir })).toEqual({
    code: 2,
    lines: ["examples/curl: expected the program curl, found none: please install it"],
  });
});
