/**
 * `/sync` of a real server up to the hello: who gets a WebSocket, and how all others are answered.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { SYNC_MESSAGE_BYTES_MAX, SYNC_VERSION } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { SYNC_NEWCOMERS } from "../../src/limits/limits.ts";
import { RawConnection, requestBytes } from "../support/raw-connection.ts";
import { DialRefused, helloOf, SyncClient } from "../support/sync-client.ts";
import { serveSync } from "../support/sync-server.ts";

async function refusedDial(...given: Parameters<typeof SyncClient.dial>): Promise<DialRefused> {
  const error = await SyncClient.dial(...given).catch((reason: unknown) => reason);
  if (error instanceof DialRefused) return error;
  throw new Error("expected a refusal", { cause: error });
}

test("[S1] a WebSocket is at /sync and after the id of an app, and nowhere else", async () => {
  const { url, appId, apiKey } = await serveSync();
  for (const path of ["/sync", `/${appId}/sync`, `/${appId.toUpperCase()}/sync?a=b`]) {
    const client = await SyncClient.greet(url, `${apiKey}x`, { path });
    expect(await client.next(), path).toEqual(expect.objectContaining({ code: "unauthorized" }));
  }
  for (const path of [
    "/x",
    "/sync/",
    "/a/b/sync",
    "/api/v4/sync",
    "/%zz/sync",
    "/metrics/sync/x",
  ]) {
    const { status, body } = await refusedDial(url, { path });
    expect([path, status]).toEqual([path, 404]);
    expect(JSON.parse(body)).toEqual({ message: expect.stringContaining("there is nothing at") });
  }
  const plain = await fetch(`${url}/sync`);
  expect([plain.status, plain.headers.get("upgrade")]).toEqual([426, "websocket"]);
  const { message } = (await plain.json()) as { message: string };
  expect(message).toMatch(/; if a proxy stands in between, does it pass on .*Upgrade/);
});

test("a request to upgrade to another protocol is answered like any other, its body included", async () => {
  const { url, apiKey } = await serveSync();
  const connection = await RawConnection.open(url);
  const ask = (target: string): Uint8Array =>
    requestBytes({
      method: "POST",
      target,
      headers: [
        ["Host", new URL(url).host],
        ["Connection", "Upgrade, HTTP2-Settings"],
        ["Upgrade", "h2c"],
        ["HTTP2-Settings", "AAMAAABkAAQAAP__"],
        ["Authorization", `Bearer ${apiKey}`],
        ["Content-Type", "application/json"],
      ],
      body: JSON.stringify({ statement: "SELECT * FROM cars" }),
    });
  for (const [target, status] of [
    ["/api/v4/store/execute", 200],
    ["/sync", 405],
    ["/api/v4/store/execute", 200],
  ] as const) {
    const bytes = ask(target);
    // The body comes behind its head, as it does where it is long.
    await connection.write(bytes.subarray(0, bytes.length - 5));
    await connection.write(bytes.subarray(bytes.length - 5));
    expect((await connection.next())?.status, target).toBe(status);
  }
  connection.destroy();
});

test("a page of another origin is refused, one of this machine is not", async () => {
  const { url, apiKey } = await serveSync();
  const refused = await refusedDial(url, { headers: { origin: "https://app.example.com" } });
  expect(refused.status).toBe(403);
  const options = { headers: { origin: "http://localhost:3000" } };
  const client = await SyncClient.greet(url, `${apiKey}x`, options);
  expect((await client.next())?.t).toBe("bye");
  const open = await serveSync({ corsOrigins: ["https://app.example.com"] });
  await SyncClient.dial(open.url, { headers: { origin: "https://app.example.com" } });
  expect((await refusedDial(open.url, options)).status).toBe(403);
});

test("beyond the limit of connections the answer is 503, until one of them ends", async () => {
  const served = await serveSync({ syncConnectionsMax: 2 });
  const { url } = served;
  const first = await SyncClient.dial(url);
  await SyncClient.dial(url);
  const { status, headers } = await refusedDial(url);
  expect([status, headers["retry-after"]]).toEqual([503, "10"]);
  const { samples } = await served.stats();
  expect(samples.get('bigpeer_sync_refused_total{reason="full"}')).toBe(1);
  expect(samples.get("bigpeer_sync_connections")).toBe(2);
  first.cut();
  await vi.waitFor(async () => {
    await SyncClient.dial(url);
  });
});

test("[S2] a connection without a hello is ended after five seconds", async () => {
  const { url, pass, log } = await serveSync();
  const client = await SyncClient.dial(url);
  pass(4_500);
  const later = await SyncClient.dial(url);
  pass(1_500);
  expect(await client.next()).toEqual({
    t: "bye",
    code: "malformed",
    message: "expected hello within 5000 ms",
  });
  await client.closed();
  expect(later.isClosed).toBe(false);
  expect(log.at(-1)).toEqual({
    level: "debug",
    message: "a peer was refused",
    remoteAddress: "127.0.0.1",
    appId: undefined,
    code: "malformed",
  });
});

test("[S65] peers of one address without a credential are limited, and silent ones are ended first", async () => {
  const syncConnectionsMax = SYNC_NEWCOMERS.perAddressMax + 2;
  const served = await serveSync({ syncConnectionsMax }, { isClockStopped: true });
  const { url, pass, apiKey } = served;
  const known = await SyncClient.greet(url, apiKey);
  await known.nextOf("welcome");
  const silent = [];
  for (let i = 0; i < SYNC_NEWCOMERS.perAddressMax; i++) silent.push(await SyncClient.dial(url));
  const { status, headers } = await refusedDial(url);
  expect([status, headers["retry-after"]]).toEqual([503, "1"]);
  pass(1_000);
  const next = await SyncClient.greet(url, apiKey);
  await next.nextOf("welcome");
  await silent[0]?.closed();
  expect([silent[1]?.isClosed, known.isClosed]).toEqual([false, false]);
  // All places are taken: who has said nothing gives way there as well.
  await (await SyncClient.greet(url, apiKey)).nextOf("welcome");
  await (await SyncClient.greet(url, apiKey)).nextOf("welcome");
  await silent[1]?.closed();
  const { samples } = await served.stats();
  expect(samples.get('bigpeer_sync_refused_total{reason="newcomers"}')).toBeGreaterThanOrEqual(3);
});

test("[S65] peers of one credential leave connections for others", async () => {
  const { url, apiKey, server, appId } = await serveSync({ syncConnectionsMax: 4 });
  const peers = [];
  for (let i = 0; i < 3; i++) {
    const peer = await SyncClient.greet(url, apiKey);
    await peer.nextOf("welcome");
    peers.push(peer);
  }
  const refused = await (await SyncClient.greet(url, apiKey)).next();
  expect(refused).toMatchObject({ t: "bye", code: "busy", after: 10_000 });
  const key = server.registry.keys.draw();
  await server.registry.keys.add(key, { appId, name: "other", permissions: FULL_PERMISSIONS });
  await vi.waitFor(async () => (await SyncClient.greet(url, key)).nextOf("welcome"));
  peers[0]?.cut();
  await vi.waitFor(async () => (await SyncClient.greet(url, apiKey)).nextOf("welcome"));
});

test("[S1] text, an invalid message and another message before hello end the connection", async () => {
  const { url } = await serveSync();
  const reasons: string[] = [];
  for (const content of ["{}", new Uint8Array([1, 2, 3]), new Uint8Array()]) {
    const client = await SyncClient.dial(url);
    client.sendRaw(content);
    const message = await client.next();
    expect(message).toEqual({ t: "bye", code: "malformed", message: expect.any(String) });
    if (message?.t === "bye") reasons.push(message.message);
    await client.closed();
  }
  expect(reasons[0]).toBe("expected a binary frame, found text");
  const client = await SyncClient.dial(url);
  client.send({ t: "ping", now: 1 });
  expect(await client.next()).toEqual({
    t: "bye",
    code: "malformed",
    message: "expected hello first, found ping",
  });
});

test.runIf(isFullSize)(
  "[S1] the server reports a frame above the limit before it closes the connection, and so a long hello",
  async () => {
    const { url } = await serveSync();
    const huge = await SyncClient.dial(url);
    huge.sendRaw(new Uint8Array(SYNC_MESSAGE_BYTES_MAX + 1));
    expect(await huge.next()).toEqual({
      t: "bye",
      code: "malformed",
      message: expect.stringContaining(`at most ${SYNC_MESSAGE_BYTES_MAX} bytes`),
    });
    const long = await SyncClient.dial(url);
    long.sendRaw(new Uint8Array(1024 * 1024));
    expect(await long.next()).toEqual({
      t: "bye",
      code: "malformed",
      message: expect.stringContaining("expected a hello of at most"),
    });
    await Promise.all([huge.closed(), long.closed()]);
  },
);

test("[S2] an unsupported version is answered with the supported one", async () => {
  const { url, apiKey } = await serveSync();
  const client = await SyncClient.dial(url);
  client.send(helloOf(apiKey, { version: SYNC_VERSION + 1 }));
  expect(await client.next()).toEqual({
    t: "bye",
    code: "version",
    message: "the server speaks protocol 2, the peer speaks 3: upgrade the server",
  });
});

test("[S3] wrong credentials get one sentence, and after many of them a time to wait", async () => {
  const served = await serveSync();
  const { url, apiKey, appId } = served;
  const other = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";
  const messages = new Set<string>();
  for (const [token, path, app] of [
    ["nobody", "/sync", undefined],
    [`${apiKey}x`, "/sync", undefined],
    [apiKey, `/${other}/sync`, undefined],
    [apiKey, "/sync", other],
    [apiKey, `/${appId}/sync`, other],
  ] as const) {
    const client = await SyncClient.dial(url, { path });
    client.send(helloOf(token, app === undefined ? {} : { app }));
    const bye = await client.next();
    expect(bye).toEqual({ t: "bye", code: "unauthorized", message: expect.any(String) });
    if (bye?.t === "bye") messages.add(bye.message);
  }
  expect(messages.size).toBe(1);
  let bye = await (await SyncClient.greet(url, "nobody")).next();
  for (let i = 0; i < 20; i++) bye = await (await SyncClient.greet(url, "nobody")).next();
  expect(bye).toEqual({
    t: "bye",
    code: "unauthorized",
    message: expect.stringContaining("too many"),
    after: expect.any(Number),
  });
  const { samples } = await served.stats();
  expect(samples.get('bigpeer_sync_refused_total{reason="unauthorized"}')).toBe(26);
  expect(samples.get("bigpeer_failed_credentials_total")).toBe(26);
});

test.runIf(isFullSize)(
  "[S6] a closing server sends bye also to peers that have not logged in yet",
  async () => {
    const { server, url } = await serveSync();
    const client = await SyncClient.dial(url);
    const silent = await SyncClient.dial(url);
    silent.stopReading();
    const closing = server.close();
    expect(await client.next()).toEqual({
      t: "bye",
      code: "closing",
      message: "the server is closing",
      after: expect.any(Number),
    });
    await closing;
  },
);

test("HTTPS has /sync as well, and a long message passes through it", async () => {
  const support = fileURLToPath(new URL("../support", import.meta.url));
  const tls = {
    certFile: join(support, "tls-certificate.pem"),
    keyFile: join(support, "tls-key.pem"),
  };
  const { url } = await serveSync({ tls });
  const client = await SyncClient.dial(url);
  client.sendRaw(new Uint8Array(100_000));
  expect((await client.next())?.t).toBe("bye");
  const { status } = await refusedDial(url, { path: "/nothing" });
  expect(status).toBe(404);
});

test("a ping of the WebSocket itself is answered", async () => {
  const { url } = await serveSync();
  const client = await SyncClient.dial(url);
  const pong = client.pong();
  client.ping(new Uint8Array([7]));
  expect(await pong).toEqual(Buffer.of(7));
});
