/**
 * The connection of a peer: what is told when there is something else where its server should be.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { dialWebSocket } from "../src/web-socket.ts";

/** A web server without WebSockets. */
async function listen(status = 404): Promise<number> {
  const server = createServer((_request, response) => response.writeHead(status).end("none here"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

function reasonOf(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const opened = (): void => reject(new Error("expected no connection"));
    dialWebSocket(url, { opened, message: opened, closed: resolve });
  });
}

test("a place without a Big Peer is told by its answer", async () => {
  const url = `ws://127.0.0.1:${await listen()}/sync`;
  expect(await reasonOf(url)).toBe(`expected a Big Peer at ${url}, found HTTP status 404`);
});

test("status 426 asks about a proxy: the upgrade that we asked for did not get there", async () => {
  const url = `ws://127.0.0.1:${await listen(426)}/sync`;
  expect(await reasonOf(url)).toBe(
    `expected a Big Peer at ${url}, found HTTP status 426; does a proxy in between pass on WebSockets (the headers Upgrade and Connection)?`,
  );
});

test("a server that does not speak TLS is told in words", async () => {
  const url = `wss://127.0.0.1:${await listen()}/sync`;
  expect(await reasonOf(url)).toBe(`expected TLS at ${url}, found something else`);
});

test("a server that is not there is told as the system tells it", async () => {
  expect(await reasonOf("ws://127.0.0.1:9/sync")).toBe("connect ECONNREFUSED 127.0.0.1:9");
});
