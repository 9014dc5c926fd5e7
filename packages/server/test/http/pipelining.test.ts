/** Requests that come before the answers of others: one is taken at a time, in their order. */

import { Readable } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { contentAnswer } from "../../src/http/answer.ts";
import { Intake } from "../../src/limits/intake.ts";
import { CLOSE_MS_MAX, HTTP_UNREAD_PER_OWNER_SIZE_MAX } from "../../src/limits/limits.ts";
import { connectTo, HEAD, listen, listenWith, readAll } from "../support/http-listener.ts";

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

function answersIn(text: string): number {
  return text.split("HTTP/1.1 200").length - 1;
}

test("[H51] pipelined requests are handled one at a time, however many arrive together", async () => {
  let taken = 0;
  const server = await listen(() => {
    taken++;
    return new Promise<number>(() => {});
  });
  const { socket } = await connectTo(server);
  socket.write(GET.repeat(2_000));
  await vi.waitFor(() => expect(taken).toBe(1));
  socket.write(GET.repeat(10));
  // Requests of another connection go on.
  const other = await connectTo(server);
  other.socket.write(GET);
  await vi.waitFor(() => expect(taken).toBe(2));
  expect(server.requestCount).toBe(2);
});

test("[H51] all of them are answered in order, each after the previous one", async () => {
  const seen: string[] = [];
  let underWay = 0;
  let underWayMax = 0;
  const server = await listen(async (request) => {
    underWayMax = Math.max(underWayMax, ++underWay);
    const body = Buffer.from(await request.readBody()).toString();
    seen.push(`${request.target} ${String(request.headers["x-a"])} ${body}`);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    return 200;
  });
  const { socket, received } = await connectTo(server);
  const expected: string[] = [];
  let text = "";
  for (let i = 0; i < 300; i++) {
    const body = "ä".repeat(i % 7);
    expected.push(`/${i} v${i} ${body}`);
    const isChunked = i % 3 === 0 && body !== "";
    const size = Buffer.byteLength(body);
    const head = `POST /${i} HTTP/1.1\r\nHost: x\r\nX-A: v${i}\r\n`;
    text += isChunked
      ? `${head}Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      : `${head}Content-Length: ${size}\r\n\r\n${body}`;
  }
  const bytes = Buffer.from(text);
  // In pieces that end anywhere.
  for (let at = 0; at < bytes.length; at += 997) socket.write(bytes.subarray(at, at + 997));
  await vi.waitFor(() => expect(answersIn(received())).toBe(300), 10_000);
  expect(seen).toEqual(expected);
  expect(underWayMax).toBe(1);
  expect(server.requestCount).toBe(0);
});

test("[H51] a long answer is sent completely while later requests wait", async () => {
  const size = sized(2_000_000, 20_000_000);
  const server = await listenWith(async () => {
    const open = (): Readable =>
      Readable.from(Array.from({ length: 200 }, () => Buffer.alloc(size / 200)));
    const content = { kind: "stream" as const, size, open };
    const { status, headers } = contentAnswer(200, content, {});
    return { status, headers, content };
  });
  const { socket, received } = await connectTo(server);
  socket.pause();
  socket.write(GET.repeat(3));
  await vi.waitFor(() => expect(server.requestCount).toBe(1));
  socket.resume();
  await vi.waitFor(() => expect(answersIn(received())).toBe(3), 10_000);
  await vi.waitFor(() => expect(received().length).toBeGreaterThan(3 * size), 10_000);
});

test("[H51] held requests leave no listeners behind", async () => {
  const server = await listen(async () => 200);
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  const { socket, received } = await connectTo(server);
  socket.write(GET.repeat(100));
  await vi.waitFor(() => expect(answersIn(received())).toBe(100), 10_000);
  process.off("warning", note);
  expect(warnings).toEqual([]);
  // And the connection is kept as any other.
  socket.write(GET);
  await vi.waitFor(() => expect(answersIn(received())).toBe(101));
});

test.runIf(isFullSize)(
  "[H51] held requests are bounded: a client that sends more is disconnected",
  async () => {
    const met: string[] = [];
    const server = await listen(() => new Promise<number>(() => {}), {
      onRefused: (bound) => void met.push(bound),
    });
    const held = `${GET}${GET}${"x".repeat(60_000)}`;
    const count = Math.ceil(HTTP_UNREAD_PER_OWNER_SIZE_MAX / 60_000) + 50;
    const connections = [];
    for (let i = 0; i < count; i++) {
      const connection = await connectTo(server);
      connection.socket.write(held);
      connections.push(connection);
    }
    await vi.waitFor(() => expect(met).toContain("pipelined"), 10_000);
    expect(server.requestCount).toBeGreaterThan(100);
  },
);

test("[H52] requests that arrive when there is no time wait, and are answered in later passes", async () => {
  const server = await listen(readAll, { intake: new Intake(0) });
  const connections = await Promise.all(Array.from({ length: 30 }, () => connectTo(server)));
  for (const { socket } of connections) socket.write(`${HEAD}Content-Length: 3\r\n\r\nabc`);
  await vi.waitFor(() => {
    for (const { received } of connections) expect(answersIn(received())).toBe(1);
  });
});

test("[H52] a request whose client disconnects while it waits is not started", async () => {
  let taken = 0;
  const late: (() => boolean)[] = [];
  const intake = {
    isOpen: () => false,
    wait: ({ readLate }: { readLate: () => boolean }) => late.push(readLate),
  };
  const decide = async (): Promise<number> => ++taken;
  const server = await listen(decide, { intake: intake as unknown as Intake });
  const { socket } = await connectTo(server);
  socket.write(GET);
  await vi.waitFor(() => expect(late).toHaveLength(1));
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(server.requestCount).toBe(0));
  expect(late[0]?.()).toBe(false);
  expect(taken).toBe(0);
});

test("[H51] a client that keeps sending faster than it is answered is disconnected", async () => {
  const met: string[] = [];
  const server = await listen(async () => 200, { onRefused: (bound) => void met.push(bound) });
  const { socket } = await connectTo(server);
  const bytes = GET.repeat(2_000);
  const pour = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on("drain", pour);
  pour();
  await vi.waitFor(() => expect(met).toEqual(["pipelined"]));
  await vi.waitFor(() => expect(socket.closed).toBe(true));
});

test("[H51] a connection with held requests is cut when the server has been closing for long enough", async () => {
  const server = await listen(() => new Promise<number>(() => {}));
  const { socket } = await connectTo(server);
  socket.write(GET.repeat(3));
  await vi.waitFor(() => expect(server.requestCount).toBe(1));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const closed = server.close();
  vi.advanceTimersByTime(CLOSE_MS_MAX);
  // It ends when every connection has.
  await closed;
});
