/**
 * Clients that leave: what they asked for is stopped and given back, also when it waits behind other
 * requests of their connection.
 */

import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import { contentAnswer } from "../../src/http/answer.ts";
import { connectTo, HEAD, listen, listenWith } from "../support/http-listener.ts";

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

test("the stream of a pipelined request is closed when its client disconnects", async () => {
  const opened: Readable[] = [];
  const server = await listenWith(async () => {
    const open = (): Readable => {
      const source = Readable.from(endless());
      opened.push(source);
      return source;
    };
    const content = { kind: "stream" as const, size: 1e12, open };
    const { status, headers } = contentAnswer(200, content, {});
    return { status, headers, content };
  });
  const { socket } = await connectTo(server);
  socket.pause();
  socket.write(GET.repeat(5));
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  expect(server.requestCount).toBe(1);
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(server.requestCount).toBe(0));
  await vi.waitFor(() => expect(opened.every(({ destroyed }) => destroyed)).toBe(true));
});

test("[H17] the handler of a pipelined request is notified when its client disconnects", async () => {
  let waiting = 0;
  let left = 0;
  const server = await listen(
    (request) =>
      new Promise(() => {
        waiting++;
        request.onHangUp(() => left++);
      }),
  );
  const { socket } = await connectTo(server);
  socket.write(`${HEAD}Content-Length: 0\r\n\r\n`.repeat(3));
  await vi.waitFor(() => expect(waiting).toBe(1));
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(left).toBe(1));
  expect(server.requestCount).toBe(0);
});

async function* endless(): AsyncGenerator<Uint8Array> {
  const chunk = new Uint8Array(64 * 1024);
  for (;;) yield chunk;
}
