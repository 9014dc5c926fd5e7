/**
 * The console against other pages: cross-site requests, frames and rebound names are refused.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { consoleFilesEndpoint } from "../../src/web/console-files.ts";
import { type ConsoleClient, openConsole } from "../support/console-client.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";
import { BIG_PEER } from "../support/management-api.ts";

const ADMIN_TOKEN = "a-token-of-the-administrator";

const open = await openConsole();
const guarded = await openConsole({ adminToken: ADMIN_TOKEN });
const { client } = open;
const HTML = { accept: "text/html" };

/** Status and title of a request with the cookie and these headers. */
async function answer(
  method: string,
  path: string,
  headers: Record<string, string>,
  { body, of = client }: { body?: string; of?: ConsoleClient } = {},
): Promise<string> {
  const { status, body: found } = await of.send(method, path, body, headers);
  const title = (found as { title?: string } | null)?.title;
  return title === undefined ? String(status) : `${status} ${title}`;
}

/** As `answer`, with the header Host, which fetch does not send. */
function answerTo(host: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const cookie = client.cookie ?? "";
    request(client.url + path, { headers: { ...headers, host, cookie } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

const JSON_TYPE = { "content-type": "application/json" };
const APP = '{"name": "evil"}';
const APPS = `${BIG_PEER}/app`;
const EXECUTE = `${BIG_PEER}/app/default/store/execute`;

test.each(["cross-site", "same-site"])(
  "[M37] [M52] a page that is %s gets nothing with the cookie, with any method",
  async (site) => {
    const headers = { ...JSON_TYPE, "sec-fetch-site": site };
    for (const of of [client, guarded.client]) {
      expect(await answer("GET", APPS, headers, { of })).toBe("403 OriginNotAllowed");
      expect(await answer("POST", APPS, headers, { body: APP, of })).toBe("403 OriginNotAllowed");
      expect(await answer("DELETE", `${APPS}/default`, headers, { of })).toBe(
        "403 OriginNotAllowed",
      );
      expect(await answer("GET", "/console/session", headers, { of })).toBe("403 OriginNotAllowed");
      expect((await of.send("POST", EXECUTE, '{"statement": "SELECT 1"}', headers)).status).toBe(
        403,
      );
      expect(await answer("GET", `${BIG_PEER}/app/default/store/changes`, headers, { of })).toBe(
        "403 OriginNotAllowed",
      );
    }
  },
);

test("[M52] a change with the cookie needs the page as its source", async () => {
  const host = new URL(client.url).host;
  for (const of of [client, guarded.client]) {
    expect(await answer("POST", APPS, JSON_TYPE, { body: APP, of })).toBe("403 OriginNotAllowed");
    for (const origin of [
      "null",
      "https://example.com",
      "http://127.0.0.1:1",
      `http://x.${host}`,
    ]) {
      const headers = { ...JSON_TYPE, origin };
      expect(await answer("POST", APPS, headers, { body: APP, of }), origin).toBe(
        "403 OriginNotAllowed",
      );
    }
  }
  const own = { ...JSON_TYPE, origin: guarded.client.url };
  expect(await answer("POST", APPS, own, { body: '{"name": "own"}', of: guarded.client })).toBe(
    "200",
  );
  const named = { ...JSON_TYPE, "sec-fetch-site": "same-origin" };
  expect(await answer("POST", APPS, named, { body: '{"name": "told"}', of: guarded.client })).toBe(
    "200",
  );
});

test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
  "[M52] a body of the type %s, which a form can send, is 415",
  async (type) => {
    const headers = { origin: client.url, "content-type": type };
    expect(await answer("POST", APPS, headers, { body: APP })).toBe("415 UnsupportedMediaType");
    expect(await answer("POST", "/console/session", headers, { body: APP })).toBe(
      "415 UnsupportedMediaType",
    );
    expect((await client.send("POST", EXECUTE, '{"statement": "SELECT 1"}', headers)).status).toBe(
      415,
    );
  },
);

test("[M52] a cookie of another port or a made-up one is none", async () => {
  const stolen = (client.cookie ?? "").replace(/_\d+=/, "_1=");
  for (const cookie of [stolen, "bigpeer_console=x", `${client.cookie}x`]) {
    const response = await fetch(client.url + EXECUTE, {
      method: "POST",
      headers: { ...JSON_TYPE, cookie, origin: client.url },
      body: '{"statement": "SELECT * FROM system:dual"}',
    });
    expect(response.status, cookie).toBe(401);
  }
});

test("[M3] [M58] under a name that was rebound to this machine, cookie and pages are 403", async () => {
  for (const host of ["rebound.example.com", `rebound.example.com:${new URL(client.url).port}`]) {
    expect(await answerTo(host, APPS, {})).toBe(403);
    expect(await answerTo(host, "/console/session", {})).toBe(403);
    expect(await answerTo(host, "/", HTML)).toBe(403);
    expect(await answerTo(host, "/data", HTML)).toBe(403);
  }
  expect(await answerTo(`localhost:${new URL(client.url).port}`, "/", HTML)).toBe(200);
});

test("[M58] no page can show the console in a frame", async () => {
  for (const path of ["/", "/data", "/statements", "/operations"]) {
    for (const dest of ["iframe", "frame", "embed", "object", "fencedframe"]) {
      const headers = { ...HTML, "sec-fetch-dest": dest, "sec-fetch-site": "cross-site" };
      expect(await answer("GET", path, headers), dest).toBe("403 OriginNotAllowed");
    }
  }
  const { status, headers } = await client.send("GET", "/", undefined, {
    ...HTML,
    "sec-fetch-dest": "document",
    "sec-fetch-site": "cross-site",
  });
  expect(status).toBe(200);
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
});

test("[M58] the policy of the pages allows no script and no request outside of this listener", async () => {
  const { headers } = await client.send("GET", "/", undefined, HTML);
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
      "font-src 'self'; worker-src 'self'",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
});

test("[M58] the files of the console are not loaded by pages of other sites", async () => {
  const folder = join(temporaryFolder(), "console");
  mkdirSync(join(folder, "assets"), { recursive: true });
  writeFileSync(join(folder, "index.html"), "<!doctype html>");
  writeFileSync(join(folder, "assets", "main-1.js"), "1;");
  const endpoint = consoleFilesEndpoint({
    checkHost: () => {},
    folder: pathToFileURL(`${folder}/`),
  });
  const place = { appId: undefined, version: undefined, parameters: {}, query: "" };
  const ask = async (site: string) =>
    endpoint.answer(
      handMadeRequest({
        method: "GET",
        target: "/assets/main-1.js",
        headers: { "sec-fetch-site": site },
      }),
      place,
    );
  expect((await ask("same-origin")).status).toBe(200);
  await expect(ask("cross-site")).rejects.toThrow("no page of another site may call");
});
