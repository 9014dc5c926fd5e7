/**
 * Bodies and answers that are not held in memory, over real connections.
 */

import { once } from "node:events";
import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import type { EncodedAnswer } from "../../src/http/answer.ts";
import { connectTo, createGate, HEAD, listen, listenWith } from "../support/http-listener.ts";

function streamAnswer(size: number, open: () => Readable): EncodedAnswer {
  const headers = { "content-type": "application/octet-stream" };
  return { status: 200, headers, content: { kind: "stream", size, open } };
}

const CHUNK = new Uint8Array(64 * 1024).fill(7);

/** A stream of so many chunks, made when they are taken. */
function chunks(count: number): Readable {
  return Readable.from(
    (function* () {
      for (let i = 0; i < count; i++) yield CHUNK;
    })(),
  );
}

/** A stream with one chunk and then an error. */
function failing(): Readable {
  return Readable.from(
    (function* () {
      yield CHUNK;
      throw new Error("the disk is gone");
    })(),
  );
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

test("a stream arrives completely, with its size, and the connection serves the next request", async () => {
  const server = await listenWith(async () => streamAnswer(5, () => Readable.from(["hel", "lo"])));
  const { socket, received } = await connectTo(server);
  socket.write(GET + GET);
  await vi.waitFor(() =>
    expect(received().match(/content-length: 5\r\n[^]*?hello/g)).toHaveLength(2),
  );
});

test("HEAD has the size of a stream and does not open it", async () => {
  let opened = 0;
  const { url } = await listenWith(async () =>
    streamAnswer(5, () => {
      opened++;
      return Readable.from(["hello"]);
    }),
  );
  const response = await fetch(url, { method: "HEAD" });
  expect(response.headers.get("content-length")).toBe("5");
  expect(await response.text()).toBe("");
  expect(opened).toBe(0);
});

test("a stream whose client disconnects is destroyed, and is not logged", async () => {
  const lines: string[] = [];
  let stream = Readable.from([]);
  const server = await listenWith(
    async () => {
      stream = chunks(1_000_000);
      return streamAnswer(CHUNK.length * 1_000_000, () => stream);
    },
    { log: (_, message) => void lines.push(message) },
  );
  const { socket, received } = await connectTo(server);
  socket.write(GET);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 200 /));
  socket.destroy();
  await vi.waitFor(() => expect(stream.destroyed).toBe(true));
  await vi.waitFor(async () => expect((await fetch(server.url, { method: "HEAD" })).ok).toBe(true));
  expect(lines).toEqual([]);
});

test.each([
  ["fails", () => failing()],
  ["ends before its size", () => chunks(1)],
])("a stream that %s ends the connection, and is logged", async (_, open) => {
  const lines: string[] = [];
  const server = await listenWith(async () => streamAnswer(CHUNK.length * 2, open), {
    log: (level, message) => void lines.push(`${level} ${message}`),
  });
  const { socket } = await connectTo(server);
  socket.write(GET);
  await once(socket, "close");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^error failed to send the whole of an answer: /);
});

test("[H14] closing lets a stream under way finish", async () => {
  const gate = createGate();
  const server = await listenWith(async () =>
    streamAnswer(10, () =>
      Readable.from(
        (async function* () {
          yield "first";
          await gate.opened;
          yield "after";
        })(),
      ),
    ),
  );
  const { socket, received } = await connectTo(server);
  socket.write(GET);
  await vi.waitFor(() => expect(received()).toMatch(/first$/));
  const closed = server.close();
  gate.open();
  await closed;
  await vi.waitFor(() => expect(received()).toMatch(/firstafter$/));
});

test("an opened body arrives as it is sent, and may be larger than one that is read at once", async () => {
  let size = 0;
  const { url } = await listen(async (request) => {
    for await (const chunk of request.openBody()) size += (chunk as Uint8Array).length;
    return 200;
  });
  const body = new Uint8Array(20 * 1024 * 1024);
  expect((await fetch(url, { method: "POST", body })).status).toBe(200);
  expect(size).toBe(body.length);
});

test("a client that waits for 100 Continue gets it when its body is opened", async () => {
  const server = await listen(async (request) => {
    for await (const _ of request.openBody());
    return 200;
  });
  const { socket, received } = await connectTo(server);
  socket.write(`${HEAD}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
  await vi.waitFor(() => expect(received()).toBe("HTTP/1.1 100 Continue\r\n\r\n"));
  socket.write("hello");
  await vi.waitFor(() => expect(received()).toMatch(/HTTP\/1.1 200 /));
});

test("a handler that destroys an opened body can still answer, and a short rest does not harm the connection", async () => {
  const { socket, received } = await connectTo(
    await listen(async (request) => {
      for await (const _ of request.openBody()) return 413;
      return 200;
    }),
  );
  socket.write(`${HEAD}Content-Length: 10\r\n\r\nhello`);
  await vi.waitFor(() => expect(received()).toMatch(/^HTTP\/1.1 413 /));
  socket.write(`world${HEAD}Content-Length: 0\r\n\r\n`);
  await vi.waitFor(() => expect(received()).toMatch(/HTTP\/1.1 200 /));
});

test("a handler that does not read an opened body can answer as well", async () => {
  const { url } = await listen(async (request) => {
    request.openBody();
    return 413;
  });
  const body = new Uint8Array(4 * 1024 * 1024);
  expect((await fetch(url, { method: "POST", body })).status).toBe(413);
  expect((await fetch(url, { method: "POST", body })).status).toBe(413);
});

test("an opened body fails if its client disconnects, even without a listener", async () => {
  let failure: unknown;
  const server = await listen(async (request) => {
    const body = request.openBody();
    if (request.target === "/unheard") return 200;
    failure = await body.toArray().catch((error: unknown) => error);
    return 200;
  });
  for (const path of ["/", "/unheard"]) {
    const { socket } = await connectTo(server);
    socket.write(`${HEAD.replace("/", path)}Content-Length: 10\r\n\r\nhello`);
    await fetch(server.url);
    socket.destroy();
    if (path === "/unheard") continue;
    await vi.waitFor(() =>
      expect(failure).toMatchObject({
        status: 400,
        message: "the connection ended inside the body",
      }),
    );
  }
  expect((await fetch(server.url)).status).toBe(200);
});
