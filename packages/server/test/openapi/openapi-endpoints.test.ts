/**
 * The OpenAPI document over HTTP.
 */

import { parseJson } from "@bigpeer/protocol";
import { afterAll, expect, test } from "vitest";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import { openApiEndpoints } from "../../src/openapi/openapi-endpoints.ts";
import { listenEndpoints } from "../support/endpoint-server.ts";

const VERSION = "1.2.3";
const own = openApiEndpoints({ version: VERSION });
const server = await listenEndpoints(own.endpoints, own.dataEndpoints);
afterAll(() => server.close());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.url + path, { headers, redirect: "manual" });
}

test.each([
  "/openapi.json",
  "/api/v4/swagger.json",
  "/api/v5/swagger.json",
  "/6bb92a35-e1bf/api/v4/swagger.json",
])("%s is the document, without a credential", async (path) => {
  const response = await get(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(parseJson(await response.text())).toEqual(openApiDocument({ version: VERSION }));
});

test("the document is JSON for a client that prefers CBOR, and supports HEAD", async () => {
  const wanted = await get("/openapi.json", { accept: "application/cbor" });
  expect(wanted.headers.get("content-type")).toBe("application/json");
  const asked = await fetch(`${server.url}/openapi.json`, { method: "HEAD" });
  expect([asked.status, await asked.text()]).toEqual([200, ""]);
  const sent = await fetch(`${server.url}/openapi.json`, { method: "POST" });
  expect([sent.status, sent.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test.each(["br", "gzip", "identity"])("the document is available in %s", async (coding) => {
  const headers = { "accept-encoding": coding };
  for (let time = 0; time < 2; time++) {
    const response = await get("/openapi.json", headers);
    const expected = coding === "identity" ? null : coding;
    expect(response.headers.get("content-encoding")).toBe(expected);
    expect(response.headers.get("vary")).toContain("accept-encoding");
    expect(await response.json()).toEqual(openApiDocument({ version: VERSION }));
  }
});

test("a client that has the document gets 304 the second time", async () => {
  const path = "/openapi.json";
  const first = await get(path, { "accept-encoding": "gzip" });
  await first.arrayBuffer();
  const etag = first.headers.get("etag") ?? "";
  expect([etag, first.headers.get("cache-control")]).toEqual([
    expect.stringMatching(/^W\/"[\w-]+"$/),
    "no-cache",
  ]);
  for (const known of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
    const again = await get(path, { "if-none-match": known });
    expect([again.status, await again.text()], known).toEqual([304, ""]);
    expect(again.headers.get("etag")).toBe(etag);
  }
  expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
});
