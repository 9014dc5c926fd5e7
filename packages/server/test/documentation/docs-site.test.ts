/**
 * The documentation site over HTTP, with a small folder in the place of the built site.
 */

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { apiPageEndpoints } from "../../src/documentation/api-page.ts";
import { docsSiteEndpoints } from "../../src/documentation/docs-site.ts";
import type { HttpServer } from "../../src/http/http-server.ts";
import { listenEndpoints } from "../support/endpoint-server.ts";
import { RawConnection, requestBytes } from "../support/raw-connection.ts";

const FILES = {
  "index.html": "the home page",
  "404.html": "there is no such page",
  "sdk.html": `the guide ${"again ".repeat(1000)}`,
  "sdk.md": "# The guide",
  "llms.txt": "# Big Peer",
  "hashmap.json": "{}",
  "big-peer.svg": "<svg/>",
  "decisions/index.html": "all decisions",
  "decisions/0001-lmdb.html": "a decision",
  "my-index.html": "an index",
  "assets/app.Cx1y2z.js": "the script",
  "assets/style.Dx1y2z.css": "the style",
  "assets/chunks/inter.Ex1y2z.woff2": "the font ".repeat(1000),
};

const SCRIPT_HASHES = ["sha256-AAAA", "sha256-BBBB"];

const folder = folderOfFile();

/** Writes a built site, and beside its files one that it does not name. */
function buildSite(name: string, files: Readonly<Record<string, string>> = FILES): URL {
  const path = join(folder, name);
  const manifest = { scriptHashes: SCRIPT_HASHES, files: Object.keys(files) };
  const written = { ...files, secret: "not of the site", "site.json": JSON.stringify(manifest) };
  for (const [file, text] of Object.entries(written)) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  return pathToFileURL(`${path}/`);
}

async function listenSite(site: URL): Promise<HttpServer> {
  const other = pathToFileURL(`${folder}/no-page/`);
  return listenEndpoints([...apiPageEndpoints({ folder: other }), ...docsSiteEndpoints(site)]);
}

const server = await listenSite(buildSite("site"));
afterAll(() => server.close());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.url + path, { headers, redirect: "manual" });
}

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

test.each([
  ["/docs/", "index.html", "text/html; charset=utf-8"],
  ["/docs/sdk", "sdk.html", "text/html; charset=utf-8"],
  ["/docs/sdk?from=here", "sdk.html", "text/html; charset=utf-8"],
  ["/docs/my-index", "my-index.html", "text/html; charset=utf-8"],
  ["/docs/decisions/", "decisions/index.html", "text/html; charset=utf-8"],
  ["/docs/decisions/0001-lmdb", "decisions/0001-lmdb.html", "text/html; charset=utf-8"],
  ["/docs/sdk.md", "sdk.md", "text/markdown; charset=utf-8"],
  ["/docs/llms.txt", "llms.txt", "text/plain; charset=utf-8"],
  ["/docs/hashmap.json", "hashmap.json", "application/json"],
  ["/docs/big-peer.svg", "big-peer.svg", "image/svg+xml"],
  ["/docs/assets/app.Cx1y2z.js", "assets/app.Cx1y2z.js", "text/javascript; charset=utf-8"],
  ["/docs/assets/style.Dx1y2z.css", "assets/style.Dx1y2z.css", "text/css; charset=utf-8"],
  ["/docs/assets/chunks/inter.Ex1y2z.woff2", "assets/chunks/inter.Ex1y2z.woff2", "font/woff2"],
] as const)("%s is the file %s, of type %s", async (path, file, type) => {
  const response = await get(path);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
  expect(await response.text()).toBe(FILES[file]);
});

test.each([
  ["/docs", "docs/", "/docs/"],
  ["/docs/index", "./", "/docs/"],
  ["/docs/index.html", "./", "/docs/"],
  ["/docs/sdk.html", "sdk", "/docs/sdk"],
  ["/docs/sdk/", "../sdk", "/docs/sdk"],
  ["/docs/decisions", "decisions/", "/docs/decisions/"],
  ["/docs/decisions/index.html", "./", "/docs/decisions/"],
  ["/docs/decisions/0001-lmdb.html", "0001-lmdb", "/docs/decisions/0001-lmdb"],
])("%s leads by %s to %s, where links are right", async (path, location, target) => {
  const response = await get(path);
  expect([response.status, response.headers.get("location")]).toEqual([308, location]);
  const { url, status } = await fetch(server.url + path);
  expect([url, status]).toEqual([server.url + target, 200]);
});

test.each([
  "/docs/nothing",
  "/docs/sdk/more",
  "/docs/nothing.html",
  "/docs/404",
  "/docs/404.html",
  "/docs/secret",
  "/docs/site.json",
  "/docs/assets/",
  "/docs/assets/../secret",
  "/docs/..%2fsecret",
  "/docs/%00",
  "/docs/__proto__",
  "/docs//sdk",
  "/docs/api/nothing/here",
])("%s is nothing: the page for that to browsers, JSON to programs", async (path) => {
  const page = await get(path, { accept: BROWSER });
  expect([page.status, page.headers.get("content-type"), await page.text()]).toEqual([
    404,
    "text/html; charset=utf-8",
    FILES["404.html"],
  ]);
  const message = await get(path);
  expect([message.status, await message.json()]).toEqual([
    404,
    { message: "there is no such page of the documentation" },
  ]);
});

test.each([
  "/docs/../secret",
  "/docs/%2e%2e/secret",
  "/docs/./../site/secret",
  "/docs/../../../../etc/passwd",
])("%s is nothing, sent as it is", async (path) => {
  const connection = await RawConnection.open(server.url);
  onTestFinished(() => connection.destroy());
  const bytes = requestBytes({ method: "GET", target: path, headers: [["Host", "a"]] });
  expect((await connection.ask(bytes))?.status).toBe(404);
});

test("files whose names have a hash are kept for good, others are asked for again", async () => {
  const asset = await get("/docs/assets/app.Cx1y2z.js");
  expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  for (const path of ["/docs/sdk", "/docs/sdk.md", "/docs/big-peer.svg", "/docs"]) {
    const response = await get(path);
    expect(response.headers.get("cache-control"), path).toBe("no-cache");
  }
  const etag = (await get("/docs/sdk")).headers.get("etag") ?? "";
  expect(etag).toMatch(/^W\/"[\w-]+"$/);
  const again = await get("/docs/sdk", { "if-none-match": etag });
  expect([again.status, await again.text()]).toEqual([304, ""]);
});

test("text is compressed, a font is not", async () => {
  for (const coding of ["br", "gzip"]) {
    const page = await get("/docs/sdk", { "accept-encoding": coding });
    expect(page.headers.get("content-encoding")).toBe(coding);
    expect(await page.text()).toBe(FILES["sdk.html"]);
  }
  const font = await get("/docs/assets/chunks/inter.Ex1y2z.woff2", { "accept-encoding": "br" });
  expect(font.headers.get("content-encoding")).toBeNull();
});

test("HEAD has the headers alone, other methods are 405", async () => {
  const headers = { "accept-encoding": "identity" };
  const head = await fetch(`${server.url}/docs/sdk`, { method: "HEAD", headers });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect(head.headers.get("content-length")).toBe(String(FILES["sdk.html"].length));
  const sent = await fetch(`${server.url}/docs/sdk`, { method: "POST" });
  expect([sent.status, sent.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("a page loads from the server alone, and runs only the scripts that the build named", async () => {
  const { headers } = await get("/docs/sdk");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")?.split("; ")).toEqual([
    "default-src 'none'",
    "script-src 'self' 'sha256-AAAA' 'sha256-BBBB'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "font-src 'self'",
  ]);
});

test("the page of the API is not a page of the site", async () => {
  const response = await get("/docs/api");
  expect([response.status, await response.text()]).toEqual([
    503,
    expect.stringContaining("npm run build"),
  ]);
});

test("a site that is not built says how to build it, until it is built", async () => {
  const path = join(folder, "later");
  const bare = await listenSite(pathToFileURL(`${path}/`));
  onTestFinished(() => bare.close());
  const page = await fetch(`${bare.url}/docs`);
  expect([page.status, page.headers.get("content-type")]).toEqual([
    200,
    "text/html; charset=utf-8",
  ]);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).toContain("<code>npm run docs:build</code>");
  expect(text).toContain('<a href="api">');
  const other = await fetch(`${bare.url}/docs/sdk`);
  expect([other.status, await other.json()]).toEqual([
    404,
    { message: "the documentation site is not built: run npm run docs:build" },
  ]);
  buildSite("later");
  expect(await (await fetch(`${bare.url}/docs/`)).text()).toBe(FILES["index.html"]);
});

test("a site that is built again is served anew, without a start of the server", async () => {
  const site = buildSite("again");
  const running = await listenSite(site);
  onTestFinished(() => running.close());
  const read = async (path: string): Promise<string> => (await fetch(running.url + path)).text();
  expect(await read("/docs/")).toBe(FILES["index.html"]);
  buildSite("again.new", { "index.html": "a new home page", "new.html": "a new page" });
  rmSync(site, { recursive: true });
  renameSync(join(folder, "again.new"), join(folder, "again"));
  expect(await read("/docs/")).toBe("a new home page");
  expect(await read("/docs/new")).toBe("a new page");
  expect((await fetch(`${running.url}/docs/sdk`)).status).toBe(404);
});

test.each(["{", "{}", "null", '{"files":[1],"scriptHashes":[]}'])(
  "a site whose list of files is %s fails",
  async (text) => {
    const site = buildSite("broken");
    writeFileSync(new URL("site.json", site), text);
    const broken = await listenSite(site);
    onTestFinished(() => broken.close());
    expect((await fetch(`${broken.url}/docs/`)).status).toBe(500);
  },
);
