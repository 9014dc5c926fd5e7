/**
 * A running server beside its data API: figures, the description of the API, HTTPS and the log, as
 * an operator sees them.
 */

import { copyFileSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { VERSION } from "../src/config/version.ts";
import { BigpeerProcess } from "./support/bigpeer-process.ts";
import { openDataApi } from "./support/data-api.ts";
import { logLines } from "./support/log-lines.ts";

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

const api = await openDataApi();

test("metrics count requests, refusals and commits", async () => {
  await api.upsert("cars", { c1: {} });
  await api.call("count", { collection: "cars", query: "true" });
  await api.call("count", {});
  await api.call("count", {}, { headers: { authorization: "Bearer nobody" } });
  const text = await (await fetch(`${api.server.url}/metrics`)).text();
  const app = `app="${api.quickstart.appId}"`;
  for (const line of [
    'bigpeer_http_requests_total{operation="count",method="POST",status="200"} 1',
    'bigpeer_http_requests_total{operation="count",method="POST",status="400"} 1',
    'bigpeer_http_requests_total{operation="count",method="POST",status="401"} 1',
    'bigpeer_http_requests_total{operation="write",method="POST",status="200"} 1',
    'bigpeer_http_request_duration_seconds_count{operation="count"} 3',
    "bigpeer_failed_credentials_total 1",
    `bigpeer_store_transaction_id{${app}} 1`,
    `bigpeer_store_documents{${app}} 1`,
    `bigpeer_write_queue_length{${app}} 0`,
    `bigpeer_info{version="${VERSION}"} 1`,
  ]) {
    expect(text.split("\n")).toContain(line);
  }
  expect(text).not.toContain(api.quickstart.apiKey);
});

test("the API description is at the usual paths, without a credential", async () => {
  const { url } = api.server;
  const paths = [
    "/openapi.json",
    "/api/v4/swagger.json",
    "/api/v5/swagger.json",
    `/${api.quickstart.appId}/api/v4/swagger.json`,
  ];
  for (const path of paths) {
    const response = await fetch(url + path);
    expect(response.status, path).toBe(200);
    const body = (await response.json()) as { openapi: string };
    expect(body.openapi).toBe("3.1.0");
  }
  for (const path of ["/docs", "/docs/api"]) {
    const page = await fetch(url + path);
    expect(page.status, path).toBe(200);
    expect(page.headers.get("content-type")).toContain("text/html");
  }
});

/** A request over HTTPS to a server whose certificate nobody signed. */
function ask(
  url: string,
  headers: Record<string, string>,
): Promise<{ issuer: string; status: number }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, rejectUnauthorized: false, agent: false }, (response) => {
      const { socket } = response;
      const issuer =
        "getPeerCertificate" in socket
          ? (socket as TLSSocket).getPeerCertificate().serialNumber
          : "";
      response.resume().on("end", () => resolve({ issuer, status: response.statusCode ?? 0 }));
    });
    asked.on("error", reject).end();
  });
}

function supportFile(name: string): string {
  return fileURLToPath(new URL(`./support/${name}`, import.meta.url));
}

test.runIf(isFullSize)(
  "with a certificate and its key it serves HTTPS, and SIGHUP reloads them",
  async () => {
    const folder = temporaryFolder();
    const certFile = join(folder, "certificate.pem");
    copyFileSync(supportFile("tls-certificate.pem"), certFile);
    const server = new BigpeerProcess(script, [
      `--data-dir=${join(folder, "data")}`,
      "--port=0",
      `--tls-cert=${certFile}`,
      `--tls-key=${supportFile("tls-key.pem")}`,
    ]);
    const url = await server.url();
    expect(url).toMatch(/^https:/);
    const first = await ask(`${url}/health/ready`, {});
    expect(first.status).toBe(200);
    copyFileSync(supportFile("tls-certificate-next.pem"), certFile);
    server.kill("SIGHUP");
    await vi.waitFor(async () => {
      const next = await ask(`${url}/health/ready`, {});
      expect(next.issuer).not.toBe(first.issuer);
    });
    server.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
  },
);

test.runIf(isFullSize)("an invalid certificate is reported before anything is opened", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "certificate.pem");
  const words = ["--data-dir", join(folder, "data"), "--tls-cert", file, "--tls-key", file];
  const server = new BigpeerProcess(script, words);
  const { code, stderr } = await server.ended;
  expect(code).toBe(1);

  expect(stderr).toContain(file);
});

test.runIf(isFullSize)(
  "[H13] the log has the id of each request at debug level, and no credential",
  async () => {
    const folder = join(temporaryFolder(), "data");
    const words = ["--data-dir", folder, "--port", "0", "--log-level", "debug"];
    const server = new BigpeerProcess(script, words);
    const url = await server.url();
    const { apiKey } = JSON.parse(readFileSync(join(folder, "quickstart.json"), "utf8")) as {
      apiKey: string;
    };
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const body = JSON.stringify({ statement: "SELECT * FROM cars WHERE secret = 'hush'" });
    const response = await fetch(`${url}/api/v4/store/execute`, { method: "POST", headers, body });
    await fetch(`${url}/api/v4/store/execute?key=${apiKey}`, { method: "POST", headers });
    server.kill("SIGTERM");
    const { stderr } = await server.ended;
    expect(logLines(stderr)[0]).toEqual({
      level: "debug",
      time: expect.any(String),
      requestId: response.headers.get("x-request-id"),
      operation: "execute",
      method: "POST",
      status: 200,
      elapsedMs: expect.any(Number),
      remoteAddress: "127.0.0.1",
      msg: "a request was answered",
    });
    expect(stderr).not.toContain(apiKey);
    expect(stderr).not.toContain("hush");
  },
);
