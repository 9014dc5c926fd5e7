/**
 * The management API over the wire: who may ask, in which form, and what is told of failures.
 */

import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { nodePlatform } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { Config } from "../../src/config/config.ts";
import {
  managementElsewhere,
  RESOURCES,
  startManagement,
} from "../../src/management/management-server.ts";
import { BIG_PEER, openManagement, reported, sendTo } from "../support/management-api.ts";
import { testConfig } from "../support/test-config.ts";

const TOKEN = "a-token-of-the-administrator";
const api = await openManagement();
const guarded = await openManagement({ adminToken: TOKEN });

/** With headers that fetch does not let through. */
function statusOf(url: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest(url + path, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

test("[M1] health needs no credential", async () => {
  for (const { server } of [api, guarded]) {
    expect(reported(await sendTo(server.url, "GET", "/health/live"))).toEqual({
      status: 200,
      body: { status: "live" },
    });
    expect(reported(await sendTo(server.url, "GET", "/health/ready"))).toEqual({
      status: 200,
      body: { status: "ready" },
    });
  }
});

test("[M38] a path of the data API is 404, with the address of the data API", async () => {
  const { registry, apps } = api;
  const config = testConfig({ managementPort: 0 });
  const options = { config, registry, apps, log: () => {}, platform: nodePlatform };
  const server = await startManagement({ ...options, dataUrl: () => "http://data.example:8080" });
  onTestFinished(() => server.close());
  const id = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";
  const paths = ["/api/v4/store/execute", "/api/v4/store/nothing", "/docs", "/docs/", "/docs/sdk"];
  for (const path of [...paths, `/${id}/sync`]) {
    const where = "this is the management API; the data API is at http://data.example:8080";
    expect(reported(await sendTo(server.url, "POST", path))).toEqual({
      status: 404,
      body: { title: "NotFound", detail: `there is nothing at ${path}: ${where}` },
    });
  }
  const { body } = reported(await sendTo(server.url, "GET", "/nowhere"));
  expect(body).toEqual({ title: "NotFound", detail: "there is nothing at /nowhere" });
  expect(managementElsewhere("/namespace/default/bigPeer/big-peer/app")).toContain(
    "management-port",
  );
  expect(managementElsewhere("/api/v4/store/execute")).toBeUndefined();
});

/** Starts one that must not come so far as to look at its registry. */
function start(changes: Partial<Config>): Promise<unknown> {
  const config = testConfig({ managementPort: 0, ...changes });
  const { registry, apps } = api;
  return startManagement({ config, registry, apps, log: () => {}, platform: nodePlatform });
}

test("[M2] on an address that others can reach it does not start without a token", async () => {
  for (const managementHost of ["0.0.0.0", "::", "192.0.2.1", "example.com"]) {
    const error = await start({ managementHost }).catch((caught: unknown) => caught);
    expect(error, managementHost).toBeInstanceOf(PeerError);
    expect((error as PeerError).code).toBe("config.invalid");
    expect((error as PeerError).message).toContain("BIGPEER_ADMIN_TOKEN");
  }
});

test("a port in use is reported with the setting that changes it", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  await expect(start({ managementPort: port })).rejects.toThrow(
    `port ${port} of 127.0.0.1 is in use by another program; choose one with --management-port`,
  );
});

test("[M3] a foreign name that resolves to this machine, and a page of another origin, are 403", async () => {
  const { url } = api.server;
  const path = `${BIG_PEER}/app`;
  expect(await statusOf(url, path, { host: "localhost" })).toBe(200);
  expect(await statusOf(url, path, { host: "rebound.example.com" })).toBe(403);
  expect(await statusOf(url, path, { origin: url })).toBe(200);
  expect(await statusOf(url, path, { origin: "https://example.com" })).toBe(403);
  const reply = await api.send("POST", `${BIG_PEER}/app`, '{"name": "evil"}', {
    origin: "https://example.com",
    "content-type": "application/json",
  });
  expect(reported(reply)).toEqual({
    status: 403,
    body: {
      title: "OriginNotAllowed",
      detail: `expected no header Origin, or ${url}; without an admin token no other page may call`,
    },
  });
});

const UNAUTHORIZED = {
  status: 401,
  body: {
    title: "Unauthorized",
    detail: "expected the header `Authorization: Bearer <admin token>`, found none",
  },
};

test("[M4] with a token every resource requires it", async () => {
  for (const { path, methods, isOutside, access } of RESOURCES) {
    if (access === "page") continue;
    for (const method of Object.keys(methods)) {
      const target = (isOutside === true ? "" : BIG_PEER) + path.replaceAll(/\{\w+\}/g, "x");
      expect(reported(await guarded.send(method, target)), `${method} ${path}`).toEqual(
        UNAUTHORIZED,
      );
    }
  }
  const headers = { authorization: `Bearer ${TOKEN}` };
  const path = `${BIG_PEER}/app`;
  const reply = await sendTo(guarded.server.url, "GET", path, { headers });
  expect(reply.status).toBe(200);
});

test("[M4] wrong tokens are 401 with a challenge, and many of them 429", async () => {
  const headers = { authorization: "Bearer wrong" };
  const found: unknown[] = [];
  for (let i = 0; i < 21; i++) {
    const reply = await sendTo(guarded.server.url, "GET", `${BIG_PEER}/app`, { headers });
    const { status, headers: shown } = reply;
    found.push([status, shown.get("www-authenticate"), shown.get("retry-after") !== null]);
  }
  expect(found.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => [401, "Bearer", false]));
  expect(found[20]).toEqual([429, null, true]);
});

test("[M5] the caller is checked before the format, the body, and the name of the Big Peer", async () => {
  const huge = "x".repeat(2_000_000);
  const headers = { "content-type": "text/plain" };
  for (const path of [`${BIG_PEER}/app`, "/namespace/x/bigPeer/y/app"]) {
    expect(reported(await guarded.send("POST", path, huge, headers))).toEqual(UNAUTHORIZED);
  }
});

test.each([
  "/namespace/other/bigPeer/big-peer/app",
  "/namespace/default/bigPeer/other/app",
  "/namespace/default/bigPeer/BIG-PEER/app",
  "/namespace/default/bigPeer/other/app/default/apiKey",
  "/namespace/default/bigPeer/other/audit",
])("[M6] %s belongs to another Big Peer", async (path) => {
  expect(reported(await api.send("GET", path))).toEqual({
    status: 404,
    body: {
      title: "BigPeerNotFound",
      detail: expect.stringMatching(
        /^there is no Big Peer named "[\w-]+" in the namespace "\w+": this is big-peer in the namespace default$/,
      ),
    },
  });
});

test("[M6] the configured names of a server are those of its paths", async () => {
  const named = await openManagement({ namespace: "shops", name: "north" });
  const reply = await named.send("GET", "/namespace/shops/bigPeer/north/app");
  expect(reply.status).toBe(200);
  expect((await named.ask("GET", "/app")).status).toBe(404);
});

test.each([
  [undefined, "none"],
  ["text/plain", "text/plain"],
  ["application/cbor", "application/cbor"],
  ["application/jsonp", "application/jsonp"],
  ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded"],
])("[M7] a body of the type %s is 415", async (type, found) => {
  const headers = type === undefined ? undefined : { "content-type": type };
  const body = new TextEncoder().encode("{}");
  expect(reported(await api.send("POST", `${BIG_PEER}/app`, body, headers ?? {}))).toEqual({
    status: 415,
    body: {
      title: "UnsupportedMediaType",
      detail: `expected the content type application/json (in UTF-8), found ${found}`,
    },
  });
});

test("[M7] a body in another charset, or compressed, is 415", async () => {
  const latin = { "content-type": "application/json; charset=latin1" };
  const gzip = { "content-type": "application/json", "content-encoding": "gzip" };
  for (const [headers, detail] of [
    [
      latin,
      `expected the content type application/json (in UTF-8), found ${latin["content-type"]}`,
    ],
    [gzip, "expected a body without content encoding, found gzip"],
  ] as const) {
    const reply = await api.send("POST", `${BIG_PEER}/app`, "{}", { ...headers });
    expect(reported(reply)).toEqual({
      status: 415,
      body: { title: "UnsupportedMediaType", detail },
    });
  }
});

test("[M7] a body of more than 1 MiB is 413, also in chunks", async () => {
  const text = JSON.stringify({ name: "x".repeat(1024 * 1024) });
  const problem = {
    status: 413,
    body: { title: "BodyTooLarge", detail: "expected a body of at most 1048576 bytes" },
  };
  expect(reported(await api.send("POST", `${BIG_PEER}/app`, text))).toEqual(problem);
  const chunked = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
  const init = {
    body: chunked,
    duplex: "half" as const,
    headers: { "content-type": "application/json" },
  };
  const path = `${BIG_PEER}/app`;
  const reply = await sendTo(api.server.url, "POST", path, init);
  expect(reported(reply)).toEqual(problem);
});

test.each([
  ["", "expected a value, found the end of the text at line 1, column 1"],
  ['{"name": }', 'expected a value, found "}" at line 1, column 10'],
  ["[]", "expected an object, found an array at the body"],
  ["{}", "missing required field: expected text at name"],
  ['{"name": 1}', "expected text, found the number 1 at name"],
  [
    '{"name": "a", "extra": 1}',
    "expected no other fields than name, appId, authProviders at extra",
  ],
  [
    '{"name": "a", "__proto__": 1}',
    "expected no other fields than name, appId, authProviders at __proto__",
  ],
  ['{"name": "a", "appId": "1"}', 'expected a UUID, found "1" at appId'],
])("[M7] the body %j is 400, with the place", async (body, detail) => {
  expect(reported(await api.send("POST", `${BIG_PEER}/app`, body))).toEqual({
    status: 400,
    body: { title: "InvalidRequest", detail },
  });
  expect(await api.fail("GET", "/app/a")).toBe("404 AppNotFound");
});

test.each(["/", "/app", "/namespace", BIG_PEER, `${BIG_PEER}/x`, "/x"])(
  "[M8] %s is 404 with a title",
  async (path) => {
    expect(reported(await api.send("GET", path))).toEqual({
      status: 404,
      body: { title: "NotFound", detail: `there is nothing at ${path}` },
    });
  },
);

test.each([`${BIG_PEER}/app/`, `${BIG_PEER}/apps`])(
  "[M8] %s is 404 with a suggested path",
  async (path) => {
    const detail = `there is nothing at ${path}; did you mean ${BIG_PEER}/app?`;
    const body = { title: "NotFound", detail };
    expect(reported(await api.send("GET", path))).toEqual({ status: 404, body });
  },
);

test("[M8] an unsupported method is 405 with the supported ones", async () => {
  const reply = await api.ask("DELETE", "/app");
  const path = "/namespace/{namespace}/bigPeer/{bigPeer}/app";
  expect(reported(reply)).toEqual({
    status: 405,
    body: {
      title: "MethodNotAllowed",
      detail: `expected GET or POST or HEAD on ${path}, found DELETE`,
    },
  });
  expect(reply.headers.get("allow")).toBe("GET, POST, HEAD");
  expect((await api.ask("GET", "/app/default/sessionKey/rotate")).headers.get("allow")).toBe(
    "POST",
  );
});

test("[M8] answers are JSON whatever Accept says, and each has its request id", async () => {
  const headers = { accept: "application/cbor" };
  const reply = await api.send("GET", `${BIG_PEER}/app`, undefined, headers);
  expect(reply.headers.get("content-type")).toBe("application/json");
  expect(reply.headers.get("x-request-id")).not.toBeNull();
  expect(reply.headers.get("access-control-allow-origin")).toBeNull();
});

test("HEAD is GET without its body", async () => {
  const reply = await api.ask("HEAD", "/app/default");
  expect({ status: reply.status, body: reply.body }).toEqual({ status: 200, body: null });
});
