/**
 * The files of the console: which addresses lead to them, and what they are sent with.
 */

import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { NothingHere } from "../../src/http/router.ts";
import { CONSOLE_PAGES, consoleFilesEndpoint } from "../../src/web/console-files.ts";
import { openConsole } from "../support/console-client.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

const PLACE = { appId: undefined, version: undefined, parameters: {}, query: "" };
const HTML = { accept: "text/html,*/*;q=0.8" };
const SCRIPT = `console.log("${"a script that is long enough to be compressed ".repeat(60)}");`;

interface Built {
  readonly folder: string;
  readonly get: (target: string, headers?: Record<string, string>) => Promise<string>;
  readonly headersOf: (target: string) => Promise<Record<string, string>>;
}

function build(isBuilt = true): Built {
  const folder = join(temporaryFolder(), "console");
  if (isBuilt) {
    mkdirSync(join(folder, "assets"), { recursive: true });
    writeFileSync(join(folder, "assets", "main-a1.js"), SCRIPT);
    writeFileSync(join(folder, "favicon.svg"), "<svg/>");
    writeFileSync(join(folder, "stamp.json"), "[]");
    writeFileSync(join(folder, ".hidden"), "secret");
    writeFileSync(join(folder, "index.html"), "first");
  }
  const endpoint = consoleFilesEndpoint({
    checkHost: () => {},
    folder: pathToFileURL(`${folder}/`),
  });
  const answer = async (target: string, headers: Record<string, string> = {}) =>
    endpoint.answer(handMadeRequest({ method: "GET", target, headers }), PLACE);
  return {
    folder,
    get: async (target, headers) => {
      try {
        const { body } = await answer(target, headers);
        return body.kind === "bytes" ? Buffer.from(body.bytes).toString() : body.kind;
      } catch (error) {
        if (error instanceof NothingHere) return "nothing";
        throw error;
      }
    },
    headersOf: async (target) => (await answer(target, HTML)).headers,
  };
}

test("every page is the same file, for browsers, for programs that take anything, and with any query", async () => {
  const { get } = build();
  for (const path of CONSOLE_PAGES) {
    expect(await get(path, HTML), path).toBe("first");
    expect(await get(`${path}?app=shop&collection=orders`, HTML)).toBe("first");
    expect(await get(path, { accept: "application/json" })).toBe("nothing");
    expect(await get(path, { accept: "*/*" })).toBe("first");
    expect(await get(path)).toBe("first");
  }
});

test.each([
  "/index.html",
  "/stamp.json",
  "/.hidden",
  "/assets",
  "/assets/",
  "/assets/other.js",
  "/assets/../index.html",
  "/assets/%2e%2e/stamp.json",
  "/other",
  "/data/more",
  "//favicon.svg",
])("there is nothing at %s", async (path) => {
  const { get } = build();
  expect(await get(path, HTML)).toBe("nothing");
});

test("files whose names have a hash are kept by browsers for ever, others are asked for again", async () => {
  const { get, headersOf } = build();
  expect(await get("/assets/main-a1.js")).toBe(SCRIPT);
  expect(await headersOf("/assets/main-a1.js")).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
  });
  for (const path of ["/", "/favicon.svg"]) {
    expect(await headersOf(path)).toMatchObject({
      "cache-control": "no-cache",
      etag: expect.stringMatching(/^W\/"/),
    });
  }
});

test("files are compressed", async () => {
  const { folder } = build();
  const endpoint = consoleFilesEndpoint({
    checkHost: () => {},
    folder: pathToFileURL(`${folder}/`),
  });
  const headers = { "accept-encoding": "gzip, br" };
  const request = handMadeRequest({ method: "GET", target: "/assets/main-a1.js", headers });
  const { body, headers: sent } = await endpoint.answer(request, PLACE);
  expect(sent["content-encoding"]).toBe("br");
  const bytes = body.kind === "bytes" ? body.bytes : new Uint8Array();
  expect(brotliDecompressSync(bytes).toString()).toBe(SCRIPT);
});

test("a console that is built again is served at the next request", async () => {
  const { folder, get } = build();
  expect(await get("/", HTML)).toBe("first");
  writeFileSync(join(folder, "assets", "main-b2.js"), "2;");
  writeFileSync(join(folder, "draft"), "second");
  renameSync(join(folder, "draft"), join(folder, "index.html"));
  expect(await get("/", HTML)).toBe("second");
  expect(await get("/assets/main-b2.js")).toBe("2;");
});

test("without a build a page says how to make one", async () => {
  const { get } = build(false);
  expect(await get("/", HTML)).toContain("npm run build");
  expect(await get("/data", HTML)).toContain("The console is not built");
  expect(await get("/assets/main-a1.js")).toBe("nothing");
});

test("the paths of the API go before the pages, and JSON clients get what they got before", async () => {
  const { client } = await openConsole();
  const at = (path: string, headers: Record<string, string> = {}) =>
    client.send("GET", path, undefined, headers);
  const { status, body } = await at("/", { accept: "application/json" });
  expect([status, body]).toEqual([404, { title: "NotFound", detail: "there is nothing at /" }]);
  expect((await at("/docs/api", HTML)).status).not.toBe(404);
  expect((await at("/livez", HTML)).status).toBe(200);
  expect((await at("/console/session", HTML)).body).toMatchObject({ isSignedIn: true });
  expect((await at("/", HTML)).headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect((await at("/nothing-here", HTML)).status).toBe(404);
});
