/**
 * The page of the data API over HTTP, with small files in the place of Swagger UI.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { apiPageEndpoints } from "../../src/documentation/api-page.ts";
import { openApiEndpoints } from "../../src/openapi/openapi-endpoints.ts";
import { listenEndpoints } from "../support/endpoint-server.ts";

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

const document = openApiEndpoints({ version: "1.2.3" }).endpoints;
const server = await listenEndpoints([
  ...document,
  ...apiPageEndpoints({ folder: createPage("page") }),
]);
afterAll(() => server.close());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.url + path, { headers, redirect: "manual" });
}

test.each(["/docs/api", "/docs/api/swagger-ui-bundle.js", "/docs/api/NOTICE"])(
  "a client that has %s already gets 304 without the content",
  async (path) => {
    const first = await get(path, { "accept-encoding": "gzip" });
    await first.arrayBuffer();
    const etag = first.headers.get("etag") ?? "";
    expect([etag, first.headers.get("cache-control")]).toEqual([
      expect.stringMatching(/^W\/"[\w-]+"$/),
      "no-cache",
    ]);
    const again = await get(path, { "if-none-match": etag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
  },
);

test.each([
  ["/docs/api", "text/html; charset=utf-8"],
  ["/docs/api/start.js", "text/javascript; charset=utf-8"],
  ["/docs/api/swagger-ui.css", "text/css; charset=utf-8"],
  ["/docs/api/swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  ["/docs/api/swagger-ui-bundle.js.LICENSE.txt", "text/plain; charset=utf-8"],
  ["/docs/api/LICENSE", "text/plain; charset=utf-8"],
  ["/docs/api/NOTICE", "text/plain; charset=utf-8"],
])("%s is %s, and nothing is loaded from elsewhere", async (path, type) => {
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

test("every link of the page leads to something here", async () => {
  const text = await (await get("/docs/api")).text();
  const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link = ""]) => link);
  const local = links.filter((link) => link !== "data:,");
  expect(local).toEqual([
    "api/swagger-ui.css",
    "../openapi.json",
    "api/swagger-ui-bundle.js",
    "api/start.js",
  ]);
  for (const link of local) {
    const url = new URL(link, `${server.url}/docs/api`);
    expect((await fetch(url)).status, link).toBe(200);
  }
});

test("the page has no script in its text, and its script neither keeps a key nor calls a validator", async () => {
  const text = await (await get("/docs/api")).text();
  expect(text).not.toMatch(/<script>|<style|onload=|https?:/);
  const script = await (await get("/docs/api/start.js")).text();
  expect(() => new Script(script)).not.toThrow();
  expect(script).not.toMatch(/https?:/);
  for (const setting of [
    'new URL("../openapi.json", location.href).href',
    "persistAuthorization: false",
    "tryItOutEnabled: true",
    "validatorUrl: null",
  ]) {
    expect(script).toContain(setting);
  }
});

test("a slash at the end leads to the page without one, where its links are right", async () => {
  const response = await get("/docs/api/");
  expect([response.status, response.headers.get("location")]).toEqual([308, "../api"]);
  const { url, status } = await fetch(`${server.url}/docs/api/`);
  expect([url, status]).toEqual([`${server.url}/docs/api`, 200]);
});

test.each(["secret", "index.html", "version", "..%2fsecret", "a/b", "__proto__"])(
  "/docs/api/%s is nothing",
  async (name) => {
    expect((await get(`/docs/api/${name}`)).status).toBe(404);
  },
);

test("the page may call the address that clients use", async () => {
  const pages = apiPageEndpoints({
    folder: createPage("elsewhere"),
    serverUrl: "https://peer.example.com/big",
  });
  const elsewhere = await listenEndpoints(pages);
  onTestFinished(() => elsewhere.close());
  const { headers } = await fetch(`${elsewhere.url}/docs/api`);
  expect(headers.get("content-security-policy")).toContain(
    "; connect-src 'self' https://peer.example.com; ",
  );
});

test("without its files the page says so, until they are there", async () => {
  const path = join(folder, "later");
  const bare = await listenEndpoints(apiPageEndpoints({ folder: pathToFileURL(`${path}/`) }));
  onTestFinished(() => bare.close());
  for (const target of ["/docs/api", "/docs/api/swagger-ui.css"]) {
    const response = await fetch(bare.url + target);
    expect([response.status, await response.text()]).toEqual([
      503,
      "The files of this page are not there: build the server (npm run build) and ask again.\n",
    ]);
  }
  createPage("later");
  expect((await fetch(`${bare.url}/docs/api`)).status).toBe(200);
});
