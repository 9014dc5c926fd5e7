/**
 * What a change by the management API does to a running server: it holds with the next request of the
 * data API, and after a restart.
 */

import { readFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseJson, type Value } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { Config } from "../../src/config/config.ts";
import { type RunningServer, startServer } from "../../src/server.ts";
import { BIG_PEER, sendTo } from "../support/management-api.ts";
import { testConfig } from "../support/test-config.ts";

const ALL = { read: { everything: true }, write: { everything: true } };

async function start(changes: Partial<Config> = {}): Promise<RunningServer> {
  const server = await startServer(testConfig({ managementPort: 0, ...changes }), testHost());
  onTestFinished(() => server.close());
  return server;
}

async function manage(
  { managementUrl = "" }: RunningServer,
  method: string,
  path: string,
  given?: unknown,
): Promise<Value> {
  const { status, body } = await sendTo(managementUrl, method, BIG_PEER + path, {
    ...(given !== undefined && {
      body: JSON.stringify(given),
      headers: { "content-type": "application/json" },
    }),
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** The status of a count of the data API. */
async function count({ url }: RunningServer, token: Value, collection = "cars"): Promise<number> {
  const { status } = await fetch(`${url}/api/v4/store/count`, {
    method: "POST",
    headers: { authorization: `Bearer ${token as string}`, "content-type": "application/json" },
    body: JSON.stringify({ collection, query: "true" }),
  });
  return status;
}

async function logIn({ url }: RunningServer, appId: string, token: string): Promise<Value> {
  const response = await fetch(`${url}/${appId}/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ provider: "guests", token }),
  });
  return (parseJson(await response.text()) as { readonly accessToken: string }).accessToken;
}

test("[M1] quickstart.json has the address of the management API", async () => {
  const dataDir = temporaryFolder();
  const { managementUrl } = await start({ dataDir });
  expect(managementUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const text = readFileSync(join(dataDir, "quickstart.json"), "utf8");
  const content = JSON.parse(text) as { readonly managementUrl: unknown };
  expect(content.managementUrl).toBe(managementUrl);
});

test("[M1] with a certificate the management API speaks HTTPS", async () => {
  const file = (name: string): string =>
    fileURLToPath(new URL(`../support/${name}`, import.meta.url));
  const certFile = file("tls-certificate.pem");
  const { managementUrl = "" } = await start({ tls: { certFile, keyFile: file("tls-key.pem") } });
  expect(managementUrl).toMatch(/^https:/);
  const agent = new Agent({ ca: readFileSync(certFile), checkServerIdentity: () => undefined });
  const status = await new Promise((resolve, reject) => {
    get(`${managementUrl}${BIG_PEER}/app`, { agent }, (response) => {
      resolve(response.resume().statusCode);
    }).on("error", reject);
  });
  agent.destroy();
  expect(status).toBe(200);
});

test("[M9] an answered change applies to the next request, and after a restart", async () => {
  const dataDir = temporaryFolder();
  const server = await start({ dataDir });
  await manage(server, "POST", "/app", { name: "shop" });
  const key = await manage(server, "POST", "/app/shop/apiKey", { name: "till", permissions: ALL });
  const gone = await manage(server, "POST", "/app/shop/apiKey", { name: "old", permissions: ALL });
  expect([await count(server, key), await count(server, gone)]).toEqual([400, 400]);
  await manage(server, "DELETE", "/app/shop/apiKey/old");
  expect(await count(server, gone)).toBe(401);
  await manage(server, "PATCH", "/app/shop/settings", { unknownCollectionsAreEmpty: true });
  expect(await count(server, key)).toBe(200);
  const replication = { name: "north", connections: ["a:1"], queriesByCollection: { c: ["true"] } };
  await manage(server, "POST", "/app/shop/bigPeerReplication", replication);
  const paths = ["/app", "/app/shop", "/app/shop/settings", "/app/shop/bigPeerReplication/north"];
  const before = await Promise.all(paths.map((path) => manage(server, "GET", path)));
  await server.close();
  const again = await start({ dataDir });
  expect(await Promise.all(paths.map((path) => manage(again, "GET", path)))).toEqual(before);
  expect([await count(again, key), await count(again, gone)]).toEqual([200, 401]);
});

test("[M14] keys and sessions of a deleted app open nothing from then on, and other apps are not affected", async () => {
  const server = await start();
  const guests = { type: "anonymous", sharedToken: "open sesame, please", sessionLength: 60 };
  const made: Value[] = [];
  for (const name of ["shop", "bar"]) {
    const authProviders = { guests: { ...guests, permission: ALL } };
    const app = await manage(server, "POST", "/app", { name, authProviders });
    const { appId } = app as { readonly appId: string };
    await manage(server, "PATCH", `/app/${name}/settings`, { unknownCollectionsAreEmpty: true });
    const content = { name: "till", permissions: ALL };
    made.push(await manage(server, "POST", `/app/${name}/apiKey`, content));
    made.push(await logIn(server, appId, "open sesame, please"));
  }
  const statuses = (): Promise<number[]> => Promise.all(made.map((token) => count(server, token)));
  expect(await statuses()).toEqual([200, 200, 200, 200]);
  await manage(server, "DELETE", "/app/shop");
  expect(await statuses()).toEqual([401, 401, 200, 200]);
});

test("[M28] two rotations end the sessions of an app", async () => {
  const server = await start();
  const guests = { type: "anonymous", sharedToken: "open sesame, please", sessionLength: 60 };
  const authProviders = { guests: { ...guests, permission: ALL } };
  const app = await manage(server, "POST", "/app", { name: "shop", authProviders });
  await manage(server, "PATCH", "/app/shop/settings", { unknownCollectionsAreEmpty: true });
  const session = await logIn(
    server,
    (app as { readonly appId: string }).appId,
    "open sesame, please",
  );
  const found: number[] = [];
  for (let i = 0; i < 3; i++) {
    found.push(await count(server, session));
    await manage(server, "POST", "/app/shop/sessionKey/rotate");
  }
  expect(found).toEqual([200, 200, 401]);
});

test("[M30] a restored app has its data and its sessions, and no keys", async () => {
  const dataDir = temporaryFolder();
  const server = await start({ dataDir });
  const guests = { type: "anonymous", sharedToken: "open sesame, please", sessionLength: 60 };
  const authProviders = { guests: { ...guests, permission: ALL } };
  const app = await manage(server, "POST", "/app", { name: "shop", authProviders });
  const { appId } = app as { readonly appId: string };
  const content = { name: "till", permissions: ALL };
  const key = await manage(server, "POST", "/app/shop/apiKey", content);
  const session = await logIn(server, appId, "open sesame, please");
  const written = await fetch(`${server.url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${key as string}`, "content-type": "application/json" },
    body: JSON.stringify({ statement: "INSERT INTO cars DOCUMENTS ({'_id': 'a'})" }),
  });
  expect(written.status).toBe(200);
  const statuses = async (from: RunningServer): Promise<number[]> => [
    await count(from, key),
    await count(from, session),
  ];
  expect(await statuses(server)).toEqual([200, 200]);
  await manage(server, "DELETE", "/app/shop");
  expect(await statuses(server)).toEqual([401, 401]);
  expect(await manage(server, "POST", `/deletedApp/${appId}/restore`)).toEqual(app);
  expect(await statuses(server)).toEqual([401, 200]);
  await server.close();
  const again = await start({ dataDir });
  expect(await statuses(again)).toEqual([401, 200]);
});
