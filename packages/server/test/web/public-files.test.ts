/**
 * Static files of an app, served by a real server with `--public`: what is served, what is not, and
 * that the paths of the server go first.
 */

import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { startServer } from "../../src/server.ts";
import { openDataApi } from "../support/data-api.ts";
import { testConfig } from "../support/test-config.ts";

const folder = folderOfFile();
const publicDir = join(folder, "public");
mkdirSync(join(publicDir, "assets", "empty"), { recursive: true });
mkdirSync(join(publicDir, ".well-known"));
mkdirSync(join(publicDir, "help"));
mkdirSync(join(publicDir, "docs"));
mkdirSync(join(publicDir, "sdk"));
const SCRIPT = `export const text = "${"a".repeat(5000)}";`;
writeFileSync(join(publicDir, "assets", "app.js"), SCRIPT);
writeFileSync(join(publicDir, "assets", "film.mp4"), Buffer.alloc(3 * 1024 * 1024, 7));
writeFileSync(join(publicDir, "a name.txt"), "with a blank");
writeFileSync(join(publicDir, "app.webmanifest"), "{}");
writeFileSync(join(publicDir, "LICENSE"), "free");
writeFileSync(join(publicDir, ".env"), "SECRET=1");
writeFileSync(join(publicDir, ".well-known", "app.json"), "{}");
writeFileSync(join(publicDir, "help", "index.html"), "<p>help</p>");
writeFileSync(join(publicDir, "docs", "mine.html"), "<p>mine</p>");
writeFileSync(join(publicDir, "sdk", "mine.js"), "mine");
writeFileSync(join(folder, "secret.txt"), "secret");
symlinkSync(join(folder, "secret.txt"), join(publicDir, "out.txt"));
symlinkSync(join(publicDir, "LICENSE"), join(publicDir, "inside.txt"));

const api = await openDataApi({ publicDir });
const { url } = api.server;

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}${path}`, { headers, redirect: "manual" });
}

/** The target as it is, which fetch would normalize. */
function statusOf(target: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path: target }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject);
    sent.end();
  });
}

test.each([
  ["/assets/app.js", "text/javascript; charset=utf-8"],
  ["/assets/film.mp4", "video/mp4"],
  ["/a%20name.txt", "text/plain; charset=utf-8"],
  ["/app.webmanifest", "application/manifest+json"],
  ["/LICENSE", "application/octet-stream"],
  ["/inside.txt", "application/octet-stream"],
  ["/.well-known/app.json", "application/json"],
  ["/help/", "text/html; charset=utf-8"],
  ["/help/index.html?version=2", "text/html; charset=utf-8"],
])("%s is served as %s", async (path, type) => {
  const answer = await get(path);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe(type);
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("cache-control")).toBe("no-cache");
});

test("a file is compressed, and not sent again while it is the same", async () => {
  const answer = await get("/assets/app.js", { "accept-encoding": "gzip" });
  expect(answer.headers.get("content-encoding")).toBe("gzip");
  expect(await answer.text()).toBe(SCRIPT);
  const etag = answer.headers.get("etag") ?? "";
  expect((await get("/assets/app.js", { "if-none-match": etag })).status).toBe(304);
});

test("a file that was replaced is sent in its new version", async () => {
  const path = join(publicDir, "changing.txt");
  writeFileSync(path, "one");
  const first = await get("/changing.txt");
  expect(await first.text()).toBe("one");
  writeFileSync(path, "second");
  const etag = first.headers.get("etag") ?? "";
  const second = await get("/changing.txt", { "if-none-match": etag });
  expect(second.status).toBe(200);
  expect(await second.text()).toBe("second");
  rmSync(path);
  expect((await get("/changing.txt")).status).toBe(404);
});

test("a range of a large file is sent alone", async () => {
  const answer = await get("/assets/film.mp4", { range: "bytes=10-19" });
  expect(answer.status).toBe(206);
  expect(answer.headers.get("content-range")).toBe("bytes 10-19/3145728");
  expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual(
    Array.from({ length: 10 }, () => 7),
  );
  expect((await get("/assets/film.mp4", { range: "bytes=3145728-" })).status).toBe(416);
});

test("HEAD has the headers alone", async () => {
  const answer = await fetch(`${url}/assets/film.mp4`, { method: "HEAD" });
  expect(answer.headers.get("content-length")).toBe("3145728");
  expect(await answer.text()).toBe("");
});

test("a folder with an index.html is found without its slash", async () => {
  const answer = await get("/help");
  expect(answer.status).toBe(308);
  expect(answer.headers.get("location")).toBe("help/");
  // As an identity provider adds it.
  const returned = await get("/help?code=a%2Fb&state=1");
  expect(returned.headers.get("location")).toBe("help/?code=a%2Fb&state=1");
});

test.each([
  "/none.txt",
  "/assets",
  "/assets/",
  "/assets/empty/",
  "/.env",
  "/assets/../.env",
  "/../secret.txt",
  "/%2e%2e/secret.txt",
  "/..%2fsecret.txt",
  "/assets/..%5c..%5csecret.txt",
  "/assets//app.js",
  "/out.txt",
  "/LICENSE/",
  "/LICENSE/none",
  "/%00",
  "/%ff",
  `/${"long".repeat(100)}`,
])("there is nothing at %s", async (target) => {
  expect(await statusOf(target)).toBe(404);
});

test("the answer for an unknown path keeps its hint, and other methods find nothing", async () => {
  expect(await (await get("/store/count")).json()).toEqual({
    message: "there is nothing at /store/count; did you mean /api/v4/store/count?",
  });
  expect((await fetch(`${url}/LICENSE`, { method: "POST" })).status).toBe(404);
});

test("paths of the server and of apps go before files", async () => {
  const { appId } = api.quickstart;
  mkdirSync(join(publicDir, appId));
  mkdirSync(join(publicDir, "api", "v4"), { recursive: true });
  writeFileSync(join(publicDir, appId, "a.txt"), "a");
  writeFileSync(join(publicDir, "api", "v4", "a.txt"), "a");
  writeFileSync(join(publicDir, "readyz"), "mine");
  expect((await get(`/${appId}/a.txt`)).status).toBe(404);
  expect((await get("/api/v4/a.txt")).status).toBe(404);
  expect(await (await get("/readyz")).text()).not.toBe("mine");
  expect((await get("/docs/mine.html")).status).toBe(404);
  expect((await get("/sdk/mine.js")).status).toBe(404);
});

test("the start page of the server is shown until there is an index.html", async () => {
  expect(await (await get("/", { accept: "text/html" })).text()).toContain("This server runs");
  writeFileSync(join(publicDir, "index.html"), "<p>my app</p>");
  expect(await (await get("/", { accept: "text/html" })).text()).toBe("<p>my app</p>");
  rmSync(join(publicDir, "index.html"));
  expect(await (await get("/")).json()).toMatchObject({ name: "Big Peer" });
});

test("requests for files are counted by the name of their endpoint", async () => {
  await get("/LICENSE");
  const metrics = await (await get("/metrics")).text();
  expect(metrics).toMatch(
    /bigpeer_http_requests_total\{operation="public",method="GET",status="200"\} \d/,
  );
});

test("a folder that is not there is refused at the start", async () => {
  const missing = join(folder, "none");
  await expect(startServer(testConfig({ publicDir: missing }), testHost())).rejects.toMatchObject({
    code: "config.invalid",
    message: `expected a folder for --public, found ${missing}`,
  });
});

test("a folder that holds the data of the server is refused at the start", async () => {
  const dataDir = join(folder, "data");
  mkdirSync(dataDir);
  const config = testConfig({ publicDir: folder, dataDir });
  await expect(startServer(config, testHost())).rejects.toThrow("without the data of the server");
});
