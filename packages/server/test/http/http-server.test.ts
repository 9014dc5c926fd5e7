/**
 * The listener over real connections: bytes, bodies and their bounds, closing.
 */

import { once } from "node:events";
import { request as sendRequest } from "node:http";
import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAnswer, type EncodedAnswer } from "../../src/http/answer.ts";
import { encodeAnswer } from "../../src/http/answer-encoding.ts";
import { type Answered, listenHttp } from "../../src/http/http-server.ts";
import {
  ANSWERS_PER_CREDENTIAL_SIZE_MAX,
  BODY_MS_MAX,
  BODY_SIZE_MAX,
  LINGER_MS_MAX,
} from "../../src/limits/limits.ts";
import {
  connectTo,
  createGate,
  HEAD,
  listen,
  listenWith,
  readAll,
  refuseAll,
} from "../support/http-listener.ts";

test("the server sends JSON with its length and the request id, and HEAD without a body", async () => {
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

test("a body arrives completely, with a length or in chunks", async () => {
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

test("[H5] a body of exactly the limit is read", async () => {
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

test("[H5] a body that grows too large in chunks is 413, and the client sees the answer", async () => {
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

test("[H3] a client that is refused before its body is read sees the answer, however much it sends", async () => {
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

test("[H3] a client that continues sending after the refusal is read until it is done", async () => {
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

test("[H3] a client that waits for 100 Continue is refused without it, or gets it", async () => {
  const expectation = "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  const refused = await connectTo(await listen(refuseAll));
  refused.socket.write(HEAD + expectation);
  await vi.waitFor(() => expect(refused.received()).toMatch(/^HTTP\/1.1 401 /));
  // It may send the body or the next request, and we could not tell which.
  expect(refused.received()).toMatch(/connection: close/i);
  const large = await connectTo(await listen(readAll));
  large.socket.write(HEAD + expectation.replace("5", String(BODY_SIZE_MAX + 1)));
  await vi.waitFor(() => expect(large.received()).toMatch(/^HTTP\/1.1 413 /));
  const read = await connectTo(await listen(readAll));
  read.socket.write(HEAD + expectation);
  await vi.waitFor(() => expect(read.received()).toBe("HTTP/1.1 100 Continue\r\n\r\n"));
  read.socket.write("hello");
  await vi.waitFor(() => expect(read.received()).toMatch(/HTTP\/1.1 200 /));
});

test("after a short unread body the connection serves the next request", async () => {
  const { socket, received } = await connectTo(await listen(refuseAll));
  socket.write(`${HEAD}Content-Length: 5\r\n\r\nhello${HEAD}Content-Length: 0\r\n\r\n`);
  await vi.waitFor(() => expect(received().match(/HTTP\/1.1 401 /g)).toHaveLength(2));
});

test("a client that disconnects during its body affects no other client", async () => {
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

test("[H14] closing lets a request under way finish, and closes its connection", async () => {
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

test("a port in use is reported with its number", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const answer = async (): Promise<EncodedAnswer> => bytesAnswer(200, "");
  const options = { host: "127.0.0.1", port, answer, log: () => {} };
  await expect(listenHttp(options)).rejects.toMatchObject({
    code: "config.invalid",
    message: `port ${port} of 127.0.0.1 is in use by another program; choose one with --port`,
  });
});

test("an address of another machine is reported with the address", async () => {
  await expect(listen(refuseAll, { host: "192.0.2.1" })).rejects.toMatchObject({
    code: "config.invalid",
    message: "expected an address of this machine in --host, found 192.0.2.1",
  });
});

test("IPv6 addresses are in brackets", async () => {
  expect((await listen(refuseAll, { host: "::1" })).url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});

test("closing does not wait for idle connections", async () => {
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

function bytesAnswer(status: number, text: string): EncodedAnswer {
  return { status, headers: {}, content: { kind: "bytes", bytes: Buffer.from(text) } };
}

test("an answer of 204 or 304 has no length", async () => {
  for (const status of [204, 304]) {
    const response = await fetch((await listenWith(async () => bytesAnswer(status, ""))).url);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-length")).toBeNull();
    expect(response.headers.get("transfer-encoding")).toBeNull();
  }
});

test("HEAD has the headers of GET, also for a compressed answer", async () => {
  const answer = createAnswer(200, { text: "long ".repeat(1000) });
  const { url } = await listenWith(async ({ headers }) =>
    encodeAnswer(answer, { headers, isJsonOnly: false }),
  );
  const ask = async (method: string): Promise<object> => {
    const response = await fetch(url, { method, headers: { "accept-encoding": "gzip" } });
    await response.arrayBuffer();
    // The client ends its connection after HEAD; the other two differ with every answer.
    const others = ["connection", "keep-alive", "x-request-id", "date"];
    return Object.fromEntries([...response.headers].filter(([name]) => !others.includes(name)));
  };
  const get = await ask("GET");
  expect(get).toMatchObject({ "content-encoding": "gzip", "content-length": expect.any(String) });
  expect(await ask("HEAD")).toEqual(get);
});

test("a client that still sends sees a refusal without content at once", async () => {
  const server = await listenWith(async () => bytesAnswer(401, ""));
  const { socket, received } = await connectTo(server);
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 401 /));
  socket.write("0\r\n\r\n");
  await once(socket, "end");
});

test("headers of the answer itself win", async () => {
  const answer = { ...bytesAnswer(200, "x"), headers: { "cache-control": "max-age=60" } };
  const response = await fetch((await listenWith(async () => answer)).url);
  expect(response.headers.get("cache-control")).toBe("max-age=60");
});

test("a large answer arrives whole", async () => {
  const text = "0123456789".repeat(1_000_000);
  const response = await fetch((await listenWith(async () => bytesAnswer(200, text))).url);
  expect((await response.text()) === text).toBe(true);
});

test("every request is reported when it ends, with the endpoint of the answer and the bytes sent", async () => {
  const all: Answered[] = [];
  const server = await listenWith(
    async (request) => {
      if (request.target === "/read") await request.readBody();
      if (request.target === "/open") await request.openBody().toArray();
      const endpoint = request.target === "/" ? undefined : { name: `of ${request.target}` };
      return { ...bytesAnswer(200, "hello"), endpoint };
    },
    { onAnswered: (answered) => void all.push(answered) },
  );
  const { url } = server;
  await (await fetch(url)).text();
  await fetch(`${url}/head`, { method: "HEAD" });
  await (await fetch(`${url}/read`, { method: "POST", body: "four" })).text();
  await (await fetch(`${url}/open`, { method: "POST", body: "four" })).text();
  await (await fetch(`${url}/unread`, { method: "POST", body: "four" })).text();
  expect(
    all.map(({ request, operation, status, requestBytes, responseBytes }) => {
      return [request.method, operation, status, requestBytes, responseBytes];
    }),
  ).toEqual([
    ["GET", "none", 200, 0, 5],
    ["HEAD", "of /head", 200, 0, 0],
    ["POST", "of /read", 200, 4, 5],
    ["POST", "of /open", 200, 4, 5],
    ["POST", "of /unread", 200, 0, 5],
  ]);
  for (const { request, elapsedMs } of all) {
    expect(request.remoteAddress).toBe("127.0.0.1");
    expect(request.isEncrypted).toBe(false);
    expect(elapsedMs).toBeGreaterThan(0);
  }
});

test("requests under way are counted until they are answered or their client disconnects", async () => {
  const gate = createGate();
  const server = await listen(async () => {
    await gate.opened;
    return 200;
  });
  const { socket } = await connectTo(server);
  socket.write(`${HEAD}Content-Length: 0\r\n\r\n`);
  const answered = fetch(server.url);
  await vi.waitFor(() => expect(server.requestCount).toBe(2));
  socket.destroy();
  await vi.waitFor(() => expect(server.requestCount).toBe(1));
  gate.open();
  expect((await answered).status).toBe(200);
  await vi.waitFor(() => expect(server.requestCount).toBe(0));
});

test("a client that announces a short body and never sends it does not keep its connection", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { socket, received } = await connectTo(await listen(refuseAll));
  const ended = once(socket, "close");
  socket.write(`${HEAD}Content-Length: 100\r\n\r\nsome`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 401 /));
  expect(received()).not.toMatch(/connection: close/i);
  vi.advanceTimersByTime(BODY_MS_MAX);
  await ended;
});

test("a client that waits for 100 Continue and is refused has two seconds to close", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { socket, received } = await connectTo(await listen(refuseAll));
  const ended = once(socket, "close");
  socket.write(`${HEAD}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 401 [^]*"status":401/));
  vi.advanceTimersByTime(LINGER_MS_MAX);
  await ended;
});

test("a body that was too slow ends the connection: its rest would block it", async () => {
  const server = await listen(async () => 408);
  const { socket, received } = await connectTo(server);
  socket.write(`${HEAD}Content-Length: 100\r\n\r\nsome`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 408 [^]*connection: close/i));
  socket.end();
  await once(socket, "close");
});

test("an unknown Expect header is ignored", async () => {
  const { socket, received } = await connectTo(await listen(readAll));
  socket.write(`${HEAD}Content-Length: 0\r\nExpect: miracles\r\n\r\n`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 200 /));
});

test("pipelined requests are answered in order", async () => {
  const { socket, received } = await connectTo(
    await listen(async ({ target }) => {
      if (target === "/2") return 202;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 201;
    }),
  );
  const begin = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  socket.write(begin("/1") + begin("/2"));
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 201 [^]*HTTP\/1.1 202 /));
});

test("[H45] one credential has a share of the long answers that wait to be read", async () => {
  const reserved: boolean[] = [];
  const server = await listen(async (request) => {
    request.identify(request.target);
    reserved.push(request.reserveAnswer(Number(request.headers["x-size"])));
    return new Promise<number>(() => {});
  });
  for (const [owner, size] of [
    ["/a", ANSWERS_PER_CREDENTIAL_SIZE_MAX],
    ["/a", 65_537],
    ["/b", 65_537],
  ]) {
    const { socket } = await connectTo(server);
    const before = reserved.length;
    socket.write(`GET ${owner} HTTP/1.1\r\nHost: x\r\nX-Size: ${size}\r\n\r\n`);
    await vi.waitFor(() => expect(reserved).toHaveLength(before + 1));
  }
  expect(reserved).toEqual([true, false, true]);
});
