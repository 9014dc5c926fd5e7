/**
 * What cannot be read as a request is told why, on connections that may send anything.
 */

import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { brokenRequestAnswer } from "../../src/http/broken-request.ts";
import type { HttpServer } from "../../src/http/http-server.ts";
import { Router } from "../../src/http/router.ts";
import {
  connectTo,
  createGate,
  HEAD,
  listen,
  listenWith,
  readAll,
} from "../support/http-listener.ts";

/** All that the server sends until it closes the connection. */
async function send(server: HttpServer, text: string): Promise<string> {
  const { socket, received } = await connectTo(server);
  const ended = once(socket, "end");
  socket.write(text);
  await ended;
  socket.destroy();
  return received();
}

function messageOf(received: string): string {
  const [, body = ""] = received.split("\r\n\r\n");
  return (JSON.parse(body) as { message: string }).message;
}

test.each([
  ["text that is no request", "hello world\r\n\r\n"],
  ["a broken header", `${HEAD}no colon\r\n\r\n`],
  [
    "a length beside chunks, which two readers would read differently",
    `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ["two lengths", `${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
  ["a length that is none", `${HEAD}Content-Length: -1\r\n\r\n`],
  ["a broken chunk", `${HEAD}Transfer-Encoding: chunked\r\n\r\nnot hexadecimal\r\n`],
])("%s is 400 with a message, and the connection is closed", async (_, text) => {
  const server = await listen(readAll);
  const received = await send(server, text);
  expect(received).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
  expect(received).toMatch(/\r\ncontent-type: application\/json\r\n/);
  expect(received).toMatch(/\r\nconnection: close\r\n/);
  expect(received).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  expect(messageOf(received)).toMatch(/^expected a request of HTTP\/1.1: ./);
  expect((await fetch(server.url)).status).toBe(200);
});

test.each([
  ["without Host", "GET / HTTP/1.1\r\n", "expected the header Host, found none"],
  [
    "with two of them",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
    "expected one header Host, found 2",
  ],
  [
    "with two credentials",
    "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n",
    "expected one header Authorization, found 2",
  ],
  ["of another version", "GET / HTTP/2.0\r\nHost: a\r\n", "expected HTTP/1.1, found HTTP/2.0"],
  [
    "in a coding that is not undone",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n",
    "expected chunked as the one transfer coding",
  ],
])("a request %s is 400 with a message", async (_, head, message) => {
  const router = new Router({ endpoints: [], dataEndpoints: [], log: () => {} });
  const server = await listenWith((request) => router.answer(request));
  const body = head.startsWith("POST") ? "0\r\n\r\n" : "";
  const received = await send(server, `${head}Connection: close\r\n\r\n${body}`);
  expect(received).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
  expect(messageOf(received)).toBe(message);
});

test("headers of more than 16 KiB are 431, however many of them are sent", async () => {
  const { socket, received } = await connectTo(await listen(readAll));
  const ended = once(socket, "end");
  socket.write(HEAD);
  for (let i = 0; i < 50; i++) socket.write(`X-Long-${i}: ${"x".repeat(4000)}\r\n`);
  await ended;
  expect(received()).toMatch(/^HTTP\/1.1 431 Request Header Fields Too Large\r\n/);
  expect(messageOf(received())).toBe("expected headers of at most 16384 bytes");
});

test("headers that do not arrive in time are 408; a connection error gets no answer", () => {
  const timeout = Object.assign(new Error("timeout"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
  const answer = brokenRequestAnswer(timeout, "id-1") ?? "";
  expect(answer).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
  expect(messageOf(answer)).toBe("expected all headers within 20000 ms");
  const reset = Object.assign(new Error("reset"), { code: "ECONNRESET" });
  expect(brokenRequestAnswer(reset, "id-1")).toBeUndefined();
});

test("an error answer is never taken for the answer to an earlier request", async () => {
  const answered = createGate();
  const server = await listen(async () => {
    await answered.opened;
    return 200;
  });
  const { socket, received } = await connectTo(server);
  const ended = once(socket, "close");
  socket.write(`${HEAD}Content-Length: 0\r\n\r\nnot a request at all\r\n\r\n`);
  await ended;
  answered.open();
  expect(received()).toBe("");
  expect((await fetch(server.url)).status).toBe(200);
});

test("invalid bytes after an answer get a 400 on the same connection", async () => {
  const { socket, received } = await connectTo(await listen(readAll));
  socket.write(`${HEAD}Content-Length: 0\r\n\r\n`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 200 /));
  socket.write("not a request at all\r\n\r\n");
  await vi.waitFor(() => expect(received()).toMatch(/HTTP\/1.1 400 /));
});
