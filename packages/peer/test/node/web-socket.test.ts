/**
 * The connection of a peer: what is told when there is something else where its server should be.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { dialWebSocket } from "../../src/node/web-socket.ts";

/** A web server without WebSockets. */
async function listen(status = 404, headers = {}, body = "none here"): Promise<number> {
  const server = createServer((_request, response) =>
    response.writeHead(status, headers).end(body),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** Why there is no connection; `lasting` gets what somebody has to correct. */
function reasonOf(url: string, lasting: string[] = []): Promise<string> {
  return new Promise((resolve, reject) => {
    const opened = (): void => reject(new Error("expected no connection"));
    const handlers = { opened, message: opened, closed: resolve };
    dialWebSocket(url, handlers, (reason) => lasting.push(reason));
  });
}

test("an address without a Big Peer is reported with its answer", async () => {
  const url = `ws://127.0.0.1:${await listen()}/sync`;
  const lasting: string[] = [];
  const reason = await reasonOf(url, lasting);
  expect(reason).toBe(
    `expected a Big Peer at ${url}, found HTTP status 404; check the url: it is the address of the data API, without a path such as /api/v4`,
  );
  expect(lasting).toEqual([reason]);
});

test("a redirect is reported with its target", async () => {
  const url = `ws://127.0.0.1:${await listen(301, { location: "https://example.org/x" })}/sync`;
  expect(await reasonOf(url)).toBe(
    `expected a Big Peer at ${url}, found HTTP status 301; the server redirects to https://example.org/x, and a peer does not follow`,
  );
});

test("only the start of an endless answer is read", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(404);
    const more = (): boolean => response.write("x".repeat(1000));
    response.on("drain", more);
    while (more());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/sync`;
  expect(await reasonOf(url)).toContain("found HTTP status 404; check the url");
});

test.each([429, 500, 503])(
  "status %d is transient: it is a reason, not an error to fix",
  async (status) => {
    const lasting: string[] = [];
    const body = JSON.stringify({ message: "too many connections" });
    const url = `ws://127.0.0.1:${await listen(status, {}, body)}/sync`;
    expect(await reasonOf(url, lasting)).toBe(
      `expected a Big Peer at ${url}, found HTTP status ${status} (too many connections)`,
    );
    expect(lasting).toEqual([]);
  },
);

test("status 426 suggests checking the proxy: the upgrade did not reach the server", async () => {
  const url = `ws://127.0.0.1:${await listen(426)}/sync`;
  expect(await reasonOf(url)).toBe(
    `expected a Big Peer at ${url}, found HTTP status 426; does a proxy in between pass on WebSockets (the headers Upgrade and Connection)?`,
  );
});

test("a server without TLS is reported in plain words", async () => {
  const url = `wss://127.0.0.1:${await listen()}/sync`;
  const lasting: string[] = [];
  const reason = await reasonOf(url, lasting);
  expect(reason).toBe(
    `expected TLS at ${url}, found something else; if the server speaks http, not https, open the peer with an http URL`,
  );
  expect(lasting).toEqual([reason]);
});

test("an unreachable server is reported with the system's error", async () => {
  const lasting: string[] = [];
  const reason = await reasonOf("ws://127.0.0.1:9/sync", lasting);
  expect(reason).toBe("connect ECONNREFUSED 127.0.0.1:9");
  expect(lasting).toEqual([]);
});
