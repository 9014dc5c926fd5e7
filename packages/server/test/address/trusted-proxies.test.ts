/**
 * A server behind a real proxy: whom it throttles, logs and records. The proxy is a process of its
 * own kind: an HTTP server that adds the address of its client, as nginx does.
 */

import { createServer, type IncomingMessage, request as send } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { encodeMessage } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { type AddressRange, readAddressRange } from "../../src/address/client-address.ts";
import { helloOf, RawSocket } from "../support/sync-client.ts";
import { serveSync } from "../support/sync-server.ts";

const LOOPBACK = [readAddressRange("127.0.0.1") as AddressRange];

/** Its clients say who they are with a header of the test. */
async function proxyTo(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const forwarded = ({ headers }: IncomingMessage): string => {
    const before = headers["x-forwarded-for"];
    const client = String(headers["x-test-client"] ?? "192.0.2.99");
    return before === undefined ? client : `${String(before)}, ${client}`;
  };
  const proxy = createServer((asked, answer) => {
    const headers = { ...asked.headers, "x-forwarded-for": forwarded(asked) };
    const { method, url: path } = asked;
    const onward = send({ host: hostname, port, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    asked.pipe(onward);
  });
  proxy.on("upgrade", (asked, socket) => {
    const onward = connect(Number(port), hostname);
    const lines = [`GET ${asked.url} HTTP/1.1`, `X-Forwarded-For: ${forwarded(asked)}`];
    for (let i = 0; i < asked.rawHeaders.length; i += 2) {
      lines.push(`${asked.rawHeaders[i]}: ${asked.rawHeaders[i + 1]}`);
    }
    onward.write(`${lines.join("\r\n")}\r\n\r\n`);
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
    onward.pipe(socket).pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

async function guess(url: string, client: string, headers: object = {}): Promise<number> {
  const response = await fetch(`${url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: "Bearer nobody", "x-test-client": client, ...headers },
  });
  await response.text();
  return response.status;
}

test("[H46] clients of a trusted proxy are throttled separately, whatever headers they send", async () => {
  const { url, log } = await serveSync({ trustedProxies: LOOPBACK });
  const proxy = await proxyTo(url);
  const made = (i: number): object => ({ "x-forwarded-for": `198.51.100.${i}` });
  for (let i = 0; i < 20; i++) expect(await guess(proxy, "192.0.2.1", made(i))).toBe(401);
  expect(await guess(proxy, "192.0.2.1", made(50))).toBe(429);
  expect(await guess(proxy, "192.0.2.2")).toBe(401);
  const addresses = log.flatMap((line) =>
    line.message === "a request was answered" ? [line["remoteAddress"]] : [],
  );
  expect(new Set(addresses)).toEqual(new Set(["192.0.2.1", "192.0.2.2"]));
});

test("[H46] without the setting all clients of a proxy count as one address", async () => {
  const { url } = await serveSync();
  const proxy = await proxyTo(url);
  for (let i = 0; i < 20; i++) expect(await guess(proxy, `192.0.2.${i}`)).toBe(401);
  expect(await guess(proxy, "192.0.2.50")).toBe(429);
});

test("[H46] a peer behind a trusted proxy has its own address", async () => {
  const { url, log } = await serveSync({ trustedProxies: LOOPBACK });
  const proxy = await proxyTo(url);
  const socket = await RawSocket.open(`${proxy.replace("http", "ws")}/sync`);
  socket.send(encodeMessage(helloOf("nobody")));
  await vi.waitFor(() => expect(socket.isClosed).toBe(true));
  const refused = log.find(({ message }) => message === "a peer was refused");
  expect(refused?.["remoteAddress"]).toBe("192.0.2.99");
});

test("[M4] [M29] the management port knows the clients of a proxy as well, in its audit log too", async () => {
  const adminToken = "an-admin-token-of-the-test";
  const { server } = await serveSync({ trustedProxies: LOOPBACK, managementPort: 0, adminToken });
  const proxy = await proxyTo(server.managementUrl ?? "");
  const call = async (client: string, token: string, path: string, body?: object) => {
    const response = await fetch(`${proxy}/namespace/default/bigPeer/big-peer${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "x-test-client": client,
        "content-type": "application/json",
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as { data: object[] } };
  };
  for (let i = 0; i < 20; i++) await call("192.0.2.1", "wrong", "/app");
  expect((await call("192.0.2.1", "wrong", "/app")).status).toBe(429);
  expect((await call("192.0.2.2", "wrong", "/app")).status).toBe(401);
  const made = await call("192.0.2.3", adminToken, "/app", { name: "shop" });
  expect(made.status).toBe(200);
  const { body } = await call("192.0.2.3", adminToken, "/audit?size=1");
  expect(body.data).toEqual([
    expect.objectContaining({ action: "app.create", address: "192.0.2.3" }),
  ]);
});
