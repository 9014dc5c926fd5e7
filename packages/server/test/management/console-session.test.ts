/**
 * Signing in to the console: the token in the link, the session in a cookie, and how both end.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { CONSOLE_SESSION_MS, CONSOLE_SESSIONS_MAX } from "../../src/limits/limits.ts";
import type { QuickstartContent } from "../../src/registry/quickstart.ts";
import { startServer } from "../../src/server.ts";
import { ConsoleClient, openConsole, tokenOf } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";
import { testConfig } from "../support/test-config.ts";

const ADMIN_TOKEN = "a-token-of-the-administrator";

const { api, client, token } = await openConsole();
const { client: guarded } = await openConsole({ adminToken: ADMIN_TOKEN });
const { url } = client;

function newClient(of: string = url): ConsoleClient {
  return new ConsoleClient(of);
}

test("[M51] a token is exchanged for a cookie that scripts and other sites cannot use", async () => {
  const { status, headers, body } = await newClient().signIn(token);
  expect(status).toBe(200);
  const { port } = new URL(url);
  expect(headers.get("set-cookie")).toMatch(
    new RegExp(
      `^bigpeer_console_${port}=[\\w-]{43}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict$`,
    ),
  );
  expect(headers.get("cache-control")).toBe("no-store");
  expect(body).toEqual({
    isSignedIn: true,
    by: "console token",
    expiresAt: expect.any(String),
    namespace: "default",
    name: "big-peer",
    prefix: BIG_PEER,
    version: expect.any(String),
    dataUrl: api.server.url,
  });
});

test("[M51] behind a proxy with TLS the cookie is Secure", async () => {
  const { host } = new URL(url);
  const { headers } = await newClient().ask(
    "POST",
    "/console/session",
    { token },
    {
      origin: `https://${host}`,
    },
  );
  // Without an admin token, the own origin of this machine has no TLS.
  expect(headers.get("set-cookie")).toBeNull();
  const behind = await newClient(guarded.url).ask(
    "POST",
    "/console/session",
    { token: ADMIN_TOKEN },
    { origin: `https://${new URL(guarded.url).host}` },
  );
  expect(behind.headers.get("set-cookie")).toMatch(/; Secure$/);
});

test("[M51] a page learns whether it is signed in, and without a session nothing else", async () => {
  expect((await newClient().ask("GET", "/console/session")).body).toEqual({ isSignedIn: false });
  expect((await client.ask("GET", "/console/session")).body).toMatchObject({ isSignedIn: true });
});

test.each(["", "bpc_", "x", `${token}x`, token.slice(0, -1)])(
  "[M51] the token %j is 401 and gives no cookie",
  async (wrong) => {
    const { status, headers, body } = await newClient(guarded.url).signIn(wrong);
    expect([status, headers.get("set-cookie")]).toEqual([401, null]);
    expect(body).toMatchObject({ title: "Unauthorized" });
  },
);

test("[M51] after 20 wrong tokens within a minute all are 429, with Retry-After", async () => {
  const { client: other, token: right } = await openConsole({ adminToken: ADMIN_TOKEN });
  await other.ask("DELETE", "/console/session");
  const statuses = [];
  for (let i = 0; i < 22; i++) statuses.push((await newClient(other.url).signIn("wrong")).status);
  expect(new Set(statuses.slice(0, 20))).toEqual(new Set([401]));
  expect(statuses.slice(20)).toEqual([429, 429]);
  const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` };
  // The tokens of the console and of the API are throttled together.
  const { status, headers } = await newClient(other.url).send(
    "GET",
    `${BIG_PEER}/app`,
    undefined,
    bearer,
  );
  expect([status, headers.get("retry-after") === null]).toEqual([429, false]);
  // The right token was accepted from this address before.
  expect((await newClient(other.url).signIn(right)).status).toBe(200);
});

test("[M51] with an admin token, that signs in too", async () => {
  const browser = newClient(guarded.url);
  expect((await browser.ask("GET", `${BIG_PEER}/app`)).status).toBe(401);
  expect((await browser.signIn(ADMIN_TOKEN)).body).toMatchObject({ by: "admin token" });
  expect((await browser.ask("GET", `${BIG_PEER}/app`)).status).toBe(200);
});

test("[M51] signing out ends the session, also for a copy of the cookie", async () => {
  const browser = newClient();
  await browser.signIn(token);
  const { cookie } = browser;
  const { status, headers } = await browser.ask("DELETE", "/console/session");
  expect([status, headers.get("set-cookie")]).toEqual([
    200,
    expect.stringMatching(/^bigpeer_console_\d+=; Path=\/; Max-Age=0;/),
  ]);
  browser.cookie = cookie;
  expect((await browser.ask("GET", "/console/session")).body).toEqual({ isSignedIn: false });
  expect((await newClient().ask("DELETE", "/console/session")).status).toBe(200);
});

test("[M52] the session counts as the admin, and the audit log names it", async () => {
  expect((await client.ask("POST", `${BIG_PEER}/app`, { name: "made" })).status).toBe(200);
  const { data } = (await client.get("/audit?size=1")) as { data: unknown[] };
  expect(data).toMatchObject([{ actor: "console", action: "app.create", target: "app/made" }]);
});

test("[M51] the list of sessions shows how each was opened, and which is the own one", async () => {
  const browser = newClient();
  await browser.signIn(token);
  const { data } = (await browser.get("/consoleSession")) as { data: { isCurrent: boolean }[] };
  expect(data.length).toBeGreaterThan(1);
  expect(data.filter(({ isCurrent }) => isCurrent)).toEqual([
    expect.objectContaining({ by: "console token", address: "127.0.0.1" }),
  ]);
});

test("[M54] a new token ends the former one and all sessions, and is in the file", async () => {
  const { api: other, client: browser, token: former } = await openConsole();
  const second = newClient(browser.url);
  await second.signIn(former);
  const { status, body } = await browser.ask("POST", "/console/token");
  expect(status).toBe(200);
  const { consoleUrl } = body as { consoleUrl: string };
  expect(consoleUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=bpc_[\w-]{43}$/);
  for (const each of [browser, second]) {
    expect((await each.ask("GET", "/console/session")).body).toEqual({ isSignedIn: false });
  }
  expect((await newClient(browser.url).signIn(former)).status).toBe(401);
  expect((await newClient(browser.url).signIn(tokenOf(consoleUrl))).status).toBe(200);
  const text = readFileSync(join(other.config.dataDir, "quickstart.json"), "utf8");
  expect((JSON.parse(text) as QuickstartContent).consoleUrl).toBe(consoleUrl);
});

test("[M54] a new token needs a session or the admin token, also on this machine", async () => {
  expect((await newClient().ask("POST", "/console/token")).status).toBe(401);
  const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const anonymous = newClient(guarded.url);
  expect((await anonymous.send("POST", "/console/token", undefined, {})).status).toBe(401);
  expect((await anonymous.send("POST", "/console/token", undefined, bearer)).status).toBe(200);
});

test("[M54] a start at the same address keeps link and sessions, and another admin token ends its own", async () => {
  const dataDir = temporaryFolder();
  const host = testHost();
  const begin = (managementPort: number, adminToken: string) =>
    startServer(testConfig({ dataDir, managementPort, adminToken }), host);
  const first = await begin(0, ADMIN_TOKEN);
  const link = first.consoleLink?.url;
  const of = first.managementUrl ?? "";
  const [byLink, byAdmin] = [newClient(of), newClient(of)];
  await byLink.signIn(tokenOf(link));
  await byAdmin.signIn(ADMIN_TOKEN);
  await first.close();
  const second = await begin(Number(new URL(of).port), "another-token-of-the-administrator");
  expect(second.consoleLink?.url).toBe(link);
  expect((await byLink.ask("GET", "/console/session")).body).toMatchObject({ isSignedIn: true });
  expect((await byAdmin.ask("GET", "/console/session")).body).toEqual({ isSignedIn: false });
  await second.close();
});

test("[M51] a session ends after a week, and the oldest one when there are too many", async () => {
  const { registry } = api.server;
  const admin = { actor: "console token", address: "192.0.2.1" };
  const opened = [];
  for (let i = 0; i < CONSOLE_SESSIONS_MAX + 1; i++) {
    opened.push(await registry.console.signIn(token, "console token", admin));
  }
  const [first, second] = opened;
  expect(registry.console.find(first?.text ?? "", undefined)).toBeUndefined();
  expect(registry.console.find(second?.text ?? "", undefined)).toBeDefined();
  expect((second?.expiresAt ?? 0) - (second?.createdAt ?? 0)).toBe(CONSOLE_SESSION_MS);
  expect(registry.console.list()).toHaveLength(CONSOLE_SESSIONS_MAX);
});
