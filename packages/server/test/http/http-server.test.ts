/**
 * The listener over real connections: bytes, bodies and their bounds, closing.
 */

import { once } from "node:events";
import { request as sendRequest } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAnswer, encodeAnswer } from "../../src/http/answer.ts";
import type { HttpRequest } from "../../src/http/http-request.ts";
import { type HttpServer, listenHttp } from "../../src/http/http-server.ts";
import { refusalOf } from "../../src/http/refusal.ts";
import { BODY_SIZE_MAX } from "../../src/limits.ts";

const log = (): void => {};

type Decide = (request: HttpRequest) => Promise<number>;

/** A server that answers with the status that `decide` finds, or with the one of its refusal. */
async function listen(decide: Decide, host = "127.0.0.1"): Promise<HttpServer> {
  const answer = async (request: HttpRequest) => {
    const status = await decide(request).catch((error: unknown) => refusalOf(error)?.status ?? 500);
    return encodeAnswer(createAnswer(status, { status }));
  };
  const server = await listenHttp({ host, port: 0, answer, log });
  onTestFinished(() => server.close());
  return server;
}

/** Reads the body and answers 200 with nothing said about it. */
const readAll: Decide = async (request) => {
  await request.readBody();
  return 200;
};

const refuseAll: Decide = async () => 401;

interface Connection {
  readonly socket: Socket;
  readonly received: () => string;
}

async function connectTo({ url }: HttpServer): Promise<Connection> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  // The server may end it while we write.
  socket.on("error", () => {});
  await once(socket, "connect");
  return { socket, received: () => text };
}

const HEAD = "POST / HTTP/1.1\r\nHost: x\r\n";

test("over the wire: JSON with its length and the id of the request, and HEAD without a body", async () => {
  let id = "";
  const { url } = await listen(async (request) => {
    id = request.id;
    return 200;
  });
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "application/json",
    "content-length": "15",
    "cache-control": "no-store",
    "x-request-id": id,
  });
  expect(await response.json()).toEqual({ status: 200 });
  const head = await fetch(url, { method: "HEAD" });
  expect(head.status).toBe(200);
  expect(head.headers.get("content-length")).toBe("15");
  expect(await head.text()).toBe("");
  expect(head.headers.get("x-request-id")).not.toBe(response.headers.get("x-request-id"));
});

test("a body arrives whole, announced or in chunks", async () => {
  const bodies: string[] = [];
  const { url } = await listen(async (request) => {
    bodies.push(Buffer.from(await request.readBody()).toString());
    return 200;
  });
  await fetch(url, { method: "POST", body: "announced" });
  const stream = new Blob(["in ", "chunks"]).stream();
  await fetch(url, { method: "POST", body: stream, duplex: "half" } as RequestInit);
  await fetch(url, { method: "POST" });
  expect(bodies).toEqual(["announced", "in chunks", ""]);
});

test("[H5] a body of exactly the bound is read", async () => {
  let size = 0;
  const { url } = await listen(async (request) => {
    size = (await request.readBody()).length;
    return 200;
  });
  const body = new Uint8Array(BODY_SIZE_MAX);
  expect((await fetch(url, { method: "POST", body })).status).toBe(200);
  expect(size).toBe(BODY_SIZE_MAX);
});

test("[H5] a body that is announced as too large is 413 before any of it is sent", async () => {
  const { socket, received } = await connectTo(await listen(readAll));
  socket.write(`${HEAD}Content-Length: ${BODY_SIZE_MAX + 1}\r\n\r\n`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 413 [^]*"status":413/));
  expect(received()).toMatch(/connection: close/i);
});

test("[H5] a body that grows too large in chunks is 413, and the client sees it", async () => {
  const { url } = await listen(readAll);
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = sendRequest(url, { method: "POST" }, ({ statusCode }) => resolve(statusCode));
    request.on("error", reject);
    const chunk = new Uint8Array(1024 * 1024);
    const send = (left: number): void => {
      if (left > 0) request.write(chunk, () => send(left - 1));
      else request.end();
    };
    send(BODY_SIZE_MAX / chunk.length + 4);
  });
  expect(status).toBe(413);
});

test("[H3] who is refused before the body is read sees why, however much he sends", async () => {
  const { url } = await listen(refuseAll);
  for (let i = 0; i < 3; i++) {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { "content-length": 64 * 1024 * 1024 };
      const request = sendRequest(url, { method: "POST", headers }, (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.on("error", reject);
      const chunk = new Uint8Array(1024 * 1024);
      const send = (): void => void request.write(chunk, (error) => error ?? send());
      send();
    });
    expect(status).toBe(401);
  }
});

test("[H3] who goes on sending after the refusal is listened to until he is done", async () => {
  const { socket, received } = await connectTo(await listen(refuseAll));
  const ended = once(socket, "end");
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 401 [^]*"status":401/));
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  for (let i = 0; i < 50; i++) {
    const failure = await new Promise((resolve) => void socket.write(chunk, resolve));
    expect(failure ?? undefined).toBeUndefined();
  }
  socket.write("0\r\n\r\n");
  await ended;
});

test("[H3] a client that waits for 100 Continue is refused without it, or told to go on", async () => {
  const expectation = "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  const refused = await connectTo(await listen(refuseAll));
  refused.socket.write(HEAD + expectation);
  await vi.waitFor(() => expect(refused.received()).toMatch(/^HTTP\/1.1 401 /));
  const large = await connectTo(await listen(readAll));
  large.socket.write(HEAD + expectation.replace("5", String(BODY_SIZE_MAX + 1)));
  await vi.waitFor(() => expect(large.received()).toMatch(/^HTTP\/1.1 413 /));
  const read = await connectTo(await listen(readAll));
  read.socket.write(HEAD + expectation);
  await vi.waitFor(() => expect(read.received()).toBe("HTTP/1.1 100 Continue\r\n\r\n"));
  read.socket.write("hello");
  await vi.waitFor(() => expect(read.received()).toMatch(/HTTP\/1.1 200 /));
});

test("after a short body that nobody read the connection serves the next request", async () => {
  const { socket, received } = await connectTo(await listen(refuseAll));
  socket.write(`${HEAD}Content-Length: 5\r\n\r\nhello${HEAD}Content-Length: 0\r\n\r\n`);
  await vi.waitFor(() => expect(received().match(/HTTP\/1.1 401 /g)).toHaveLength(2));
});

test("a client that leaves inside its body harms nobody", async () => {
  let outcome: unknown;
  const server = await listen(async (request) => {
    outcome = await request.readBody().catch((error: unknown) => error);
    return 200;
  });
  const { socket } = await connectTo(server);
  socket.write(`${HEAD}Content-Length: 100\r\n\r\nhello`);
  await fetch(server.url);
  outcome = undefined;
  socket.destroy();
  await vi.waitFor(() =>
    expect(outcome).toMatchObject({ status: 400, message: "the connection ended inside the body" }),
  );
  expect((await fetch(server.url)).status).toBe(200);
});

test("[H14] closing lets a request finish that has begun, and closes its connection", async () => {
  let hasBegun = false;
  const server = await listen(async (request) => {
    hasBegun = true;
    return (await request.readBody()).length === 5 ? 200 : 400;
  });
  const { socket, received } = await connectTo(server);
  socket.write(`${HEAD}Content-Length: 5\r\n\r\nhe`);
  await vi.waitFor(() => expect(hasBegun).toBe(true));
  const closed = server.close();
  socket.write("llo");
  await closed;
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 200 [^]*connection: close/i));
});

test("a port in use is told in a sentence that names it", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const answer = async () => encodeAnswer(createAnswer(200, {}));
  await expect(listenHttp({ host: "127.0.0.1", port, answer, log })).rejects.toMatchObject({
    code: "config.invalid",
    message: `port ${port} of 127.0.0.1 is in use by another program; choose one with --port`,
  });
});

test("an address of another machine is told in a sentence that names it", async () => {
  await expect(listen(refuseAll, "192.0.2.1")).rejects.toMatchObject({
    code: "config.invalid",
    message: "expected an address of this machine in --host, found 192.0.2.1",
  });
});

test("IPv6 addresses stand in brackets", async () => {
  expect((await listen(refuseAll, "::1")).url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});

test("closing does not wait for connections on which nothing is asked", async () => {
  const server = await listen(refuseAll);
  const { socket } = await connectTo(server);
  await fetch(server.url);
  const ended = once(socket, "close");
  socket.resume();
  await server.close();
  await ended;
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
  await server.close();
});
