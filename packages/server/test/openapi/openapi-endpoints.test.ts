/**
 * The OpenAPI document and its page over HTTP.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { parseJson } from "@bigpeer/protocol";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { type HttpServer, listenHttp } from "../../src/http/http-server.ts";
import { type Endpoint, Router } from "../../src/http/router.ts";
import { docsEndpoints } from "../../src/openapi/docs-page.ts";
import { FixedContent } from "../../src/openapi/fixed-content.ts";
import { openApiDocument } from "../../src/openapi/openapi.ts";
import { openApiEndpoints } from "../../src/openapi/openapi-endpoints.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

const log = (): void => {};

async function listen(
  endpoints: readonly Endpoint[],
  dataEndpoints: readonly Endpoint[] = [],
): Promise<HttpServer> {
  const router = new Router({ endpoints, dataEndpoints, log });
  const answer = router.answer.bind(router);
  return listenHttp({ host: "127.0.0.1", port: 0, answer, log });
}

const folder = folderOfFile();

/** A folder with small files in the place of Swagger UI. */
function createPage(name: string): URL {
  const path = join(folder, name);
  mkdirSync(path);
  const files = {
    "swagger-ui.css": "the style",
    "swagger-ui-bundle.js": "the script ".repeat(3000),
    "swagger-ui-bundle.js.LICENSE.txt": "the licenses in the script",
    LICENSE: "the license",
    NOTICE: "the notice",
    secret: "not of the page",
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return pathToFileURL(`${path}/`);
}

const VERSION = "1.2.3";
const own = openApiEndpoints({ version: VERSION });
const document = own.endpoints.filter(({ path }) => path === "/openapi.json");
const page = docsEndpoints({ folder: createPage("page") });
const server = await listen([...document, ...page], own.dataEndpoints);
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

test.each(["/openapi.json", "/docs", "/docs/swagger-ui-bundle.js", "/docs/NOTICE"])(
  "a client that has %s gets 304 the second time",
  async (path) => {
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
  },
);

test.each([
  ["/docs", "text/html; charset=utf-8"],
  ["/docs/start.js", "text/javascript; charset=utf-8"],
  ["/docs/swagger-ui.css", "text/css; charset=utf-8"],
  ["/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  ["/docs/swagger-ui-bundle.js.LICENSE.txt", "text/plain; charset=utf-8"],
  ["/docs/LICENSE", "text/plain; charset=utf-8"],
  ["/docs/NOTICE", "text/plain; charset=utf-8"],
])("%s is %s, and nothing is loaded from other hosts", async (path, type) => {
  const response = await get(path);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("content-security-policy")?.split("; ")).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
});

test("every link of the page leads to an existing path", async () => {
  const text = await (await get("/docs")).text();
  const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link = ""]) => link);
  const local = links.filter((link) => link !== "data:,");
  expect(local).toEqual([
    "docs/swagger-ui.css",
    "openapi.json",
    "docs/swagger-ui-bundle.js",
    "docs/start.js",
  ]);
  for (const link of local) {
    const url = new URL(link, `${server.url}/docs`);
    expect((await fetch(url)).status, link).toBe(200);
  }
});

test("the page has no inline script, and its script neither stores a key nor calls a validator", async () => {
  const text = await (await get("/docs")).text();
  expect(text).not.toMatch(/<script>|<style|onload=|https?:/);
  const script = await (await get("/docs/start.js")).text();
  expect(() => new Script(script)).not.toThrow();
  expect(script).not.toMatch(/https?:/);
  for (const setting of [
    'new URL("openapi.json", location.href).href',
    "persistAuthorization: false",
    "tryItOutEnabled: true",
    "validatorUrl: null",
  ]) {
    expect(script).toContain(setting);
  }
});

test("a trailing slash redirects to the page without one, where its links are right", async () => {
  const response = await get("/docs/");
  expect([response.status, response.headers.get("location")]).toEqual([308, "../docs"]);
  const { url, status } = await fetch(`${server.url}/docs/`);
  expect([url, status]).toEqual([`${server.url}/docs`, 200]);
});

test.each(["secret", "index.html", "version", "..%2fsecret", "a/b", "__proto__"])(
  "/docs/%s is not found",
  async (name) => {
    expect((await get(`/docs/${name}`)).status).toBe(404);
  },
);

test("the page may call the public address of the server", async () => {
  const pages = docsEndpoints({
    folder: createPage("elsewhere"),
    serverUrl: "https://peer.example.com/big",
  });
  const elsewhere = await listen(pages);
  onTestFinished(() => elsewhere.close());
  const { headers } = await fetch(`${elsewhere.url}/docs`);
  expect(headers.get("content-security-policy")).toContain(
    "; connect-src 'self' https://peer.example.com; ",
  );
});

test("without its files the page says so, until they are there", async () => {
  const path = join(folder, "later");
  const bare = await listen(docsEndpoints({ folder: pathToFileURL(`${path}/`) }));
  onTestFinished(() => bare.close());
  for (const target of ["/docs", "/docs/swagger-ui.css"]) {
    const response = await fetch(bare.url + target);
    expect([response.status, await response.text()]).toEqual([
      503,
      "The files of this page are not there: build the server (npm run build) and ask again.\n",
    ]);
  }
  createPage("later");
  expect((await fetch(`${bare.url}/docs`)).status).toBe(200);
});

test("a short page is compressed once, not for each request", async () => {
  const bytes = Buffer.from("the same words again ".repeat(100));
  const content = new FixedContent(bytes, { "content-type": "text/plain" });
  const request = handMadeRequest({ headers: { "accept-encoding": "gzip" } });
  const bytesOf = async (): Promise<Uint8Array> => {
    const { body } = (await content.answer(request)) as { body: { bytes: Uint8Array } };
    return body.bytes;
  };
  const first = await bytesOf();
  expect(first.length).toBeLessThan(bytes.length);
  expect(await bytesOf()).toBe(first);
});
