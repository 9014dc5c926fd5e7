/**
 * What a client can make a channel keep with frames of its own making: little before its hello,
 * nothing after the end, and in between no more than is charged to the room of all of them.
 */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { AFTER_END_SIZE_MAX, HELLO_PIECES_MAX } from "../../src/limits/limits.ts";
import { ChannelMaker, PIECE_COST, type WebSocketChannel } from "../../src/sync/web-socket.ts";

interface Pair {
  readonly channel: WebSocketChannel;
  /** The connection as the server sees it. */
  readonly socket: Socket;
  /** Its other end, on which the upgrade is over. */
  readonly client: Socket;
  /** What the server was told, in its order. */
  readonly events: string[];
}

const UPGRADE = [
  "GET / HTTP/1.1",
  "Host: x",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  "",
  "",
].join("\r\n");

async function connectTo(maker: ChannelMaker): Promise<Pair> {
  const server = createServer();
  const events: string[] = [];
  const accepted = acceptOn(server, maker, events);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => {});
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.write(UPGRADE);
  const [channel, socket] = await accepted;
  await once(client, "data");
  client.resume();
  return { channel, socket, client, events };
}

function acceptOn(
  server: Server,
  maker: ChannelMaker,
  events: string[],
): Promise<[WebSocketChannel, Socket]> {
  return new Promise((resolve) => {
    server.on("upgrade", (incoming, duplex, head) => {
      const socket = duplex as Socket;
      const channel = maker.accept({ incoming, socket, head, remoteAddress: "127.0.0.1" });
      channel?.listen({
        message: ({ length }) => void events.push(`message ${length}`),
        malformed: (reason) => void events.push(`malformed ${reason}`),
        overfull: () => void events.push("overfull"),
        drained: () => void events.push("drained"),
        closed: () => void events.push("closed"),
      });
      if (channel !== undefined) resolve([channel, socket]);
    });
  });
}

const IGNORED = { malformed() {}, overfull() {}, drained() {}, closed() {} };

/** Waits until it is so; what it waits for comes from another turn of the event loop. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

interface FrameKind {
  readonly isFirst?: boolean;
  readonly isLast?: boolean;
}

/** A data frame of a client, masked with zeros. */
function frameOf(size: number, { isFirst = false, isLast = false }: FrameKind = {}): Buffer {
  const head = Buffer.alloc(size < 126 ? 6 : 14);
  head[0] = (isLast ? 0x80 : 0) | (isFirst ? 0x02 : 0);
  head[1] = 0x80 | (size < 126 ? size : 127);
  if (size >= 126) head.writeUIntBE(size, 4, 6);
  return Buffer.concat([head, Buffer.alloc(size)]);
}

const WHOLE: FrameKind = { isFirst: true, isLast: true };

/** The first fragments of a message, each with one byte. */
function fragments(count: number): Buffer {
  const others = Array<Buffer>(count - 1).fill(frameOf(1));
  return Buffer.concat([frameOf(1, { isFirst: true }), ...others]);
}

const PING: Buffer = Buffer.concat([Buffer.of(0x89, 0x80 | 125, 0, 0, 0, 0), Buffer.alloc(125)]);

const MEGABYTE: number = 1024 * 1024;

test.runIf(isFullSize)(
  "[S63] after the end nothing more is kept, and little is read until the client is cut",
  async () => {
    const maker = new ChannelMaker(64 * MEGABYTE);
    const { channel, client, events, socket } = await connectTo(maker);
    channel.trust();
    client.write(frameOf(15 * MEGABYTE, WHOLE).subarray(0, 1_000));
    await until(() => maker.unreadBytes > 0);
    channel.close();
    const before = socket.bytesRead;
    // It goes on with its message, and never closes its side.
    for (let i = 0; i < 14; i++) client.write(Buffer.alloc(MEGABYTE));
    await until(() => events.includes("closed"));
    // Node has received a little more when it is told to stop.
    expect(socket.bytesRead - before).toBeLessThan(AFTER_END_SIZE_MAX + 4 * 64 * 1024);
    expect([events, maker.unreadBytes]).toEqual([["closed"], 0]);
  },
);

test("[S62] a hello in many fragments is refused before they take much memory", async () => {
  const maker = new ChannelMaker(64 * MEGABYTE);
  const { client, events } = await connectTo(maker);
  client.write(fragments(HELLO_PIECES_MAX + 1));
  await until(() => events.length > 0);
  expect(events).toEqual([`malformed expected a hello in at most ${HELLO_PIECES_MAX} pieces`]);
});

test("[S62] pings before hello are limited as well, and of many at once one is answered", async () => {
  const maker = new ChannelMaker(64 * MEGABYTE);
  const early = await connectTo(maker);
  const empty = Buffer.of(0x89, 0x80, 0, 0, 0, 0);
  early.client.write(Buffer.concat(Array<Buffer>(HELLO_PIECES_MAX).fill(empty)));
  await until(() => early.events.length > 0);
  expect(early.events).toEqual([
    `malformed expected a hello in at most ${HELLO_PIECES_MAX} pieces`,
  ]);
  const { channel, client, socket, events } = await connectTo(maker);
  channel.trust();
  const before = socket.bytesWritten;
  const whole = frameOf(1, WHOLE);
  client.write(Buffer.concat([...Array<Buffer>(5_000).fill(empty), whole]));
  await until(() => events.length > 0);
  // A pong has two bytes, and chunks have hundreds of pings.
  expect(socket.bytesWritten - before).toBeLessThan(200);
});

test("[S63] bytes after the end in a chunk are not passed to the WebSocket library", async () => {
  const maker = new ChannelMaker(64 * MEGABYTE);
  const { channel, client, events, socket } = await connectTo(maker);
  channel.trust();
  let heard = 0;
  channel.listen({
    message: () => {
      heard++;
      channel.close();
    },
    malformed: () => {},
    overfull: () => {},
    drained: () => {},
    closed: () => void events.push("closed"),
  });
  // Each of them would be kept until the connection is gone.
  const before = socket.listenerCount("data");
  client.write(Buffer.concat([frameOf(1, WHOLE), fragments(9_000)]));
  await until(() => heard > 0);
  client.destroy();
  await until(() => events.length > 0);
  expect([heard, before, maker.unreadBytes]).toEqual([1, 1, 0]);
});

test("[S1] fragments are charged more memory than their bytes, and give it back with their message", async () => {
  const maker = new ChannelMaker(3 * MEGABYTE);
  const { channel, client, events } = await connectTo(maker);
  channel.trust();
  client.write(fragments(5_000));
  await until(() => maker.unreadBytes >= 5_000 * PIECE_COST);
  client.write(frameOf(1, { isLast: true }));
  await until(() => events.length > 0);
  expect([events, maker.unreadBytes]).toEqual([["message 5001"], 0]);
  // Those behind the end of a message in the same chunk count as well.
  client.write(Buffer.concat([frameOf(3, WHOLE), fragments(5_000)]));
  await until(() => events.length > 1 && maker.unreadBytes >= 5_000 * PIECE_COST);
  const other = await connectTo(maker);
  other.channel.trust();
  other.client.write(fragments(8_000));
  other.client.write(fragments(8_000).subarray(7));
  await until(() => other.events.length > 0);
  expect([events, other.events]).toEqual([["message 5001", "message 3"], ["overfull"]]);
});

test("[S62] the number of fragments of a message is limited", async () => {
  const maker = new ChannelMaker(64 * MEGABYTE);
  const { channel, client, events } = await connectTo(maker);
  channel.trust();
  client.write(fragments(20_000));
  await until(() => events.length > 0);
  expect(events).toEqual(["malformed expected messages of at most 8192 fragments"]);
});

test("[S1] a message that is being read when its connection is paused takes memory until it continues", async () => {
  const maker = new ChannelMaker(3 * MEGABYTE);
  const { channel, client, events } = await connectTo(maker);
  channel.trust();
  channel.listen({
    ...IGNORED,
    message: () => channel.pause(),
    overfull: () => void events.push("overfull"),
  });
  client.write(frameOf(2 * MEGABYTE, WHOLE));
  await until(() => maker.unreadBytes > 2 * MEGABYTE);
  const other = await connectTo(maker);
  other.channel.trust();
  other.client.write(frameOf(2 * MEGABYTE, WHOLE));
  await until(() => other.events.length > 0);
  expect([events, other.events]).toEqual([[], ["overfull"]]);
  other.channel.cut();
  await until(() => other.events.length > 1);
  channel.resume();
  expect(maker.unreadBytes).toBe(0);
  client.write(frameOf(2 * MEGABYTE, WHOLE));
  await until(() => maker.unreadBytes > 2 * MEGABYTE);
  channel.cut();
  await until(() => maker.unreadBytes === 0);
});

test("[S1] chunks of a frame are charged more memory than their bytes", async () => {
  const maker = new ChannelMaker(MEGABYTE);
  const { channel, client, socket } = await connectTo(maker);
  channel.trust();
  const frame = frameOf(1_000, WHOLE);
  const before = socket.bytesRead;
  for (let at = 0; at < 20; at++) {
    client.write(frame.subarray(at, at + 1));
    await until(() => socket.bytesRead > before + at);
  }
  expect(maker.unreadBytes).toBeGreaterThanOrEqual(20 * PIECE_COST);
});

test("pings before, inside and after a message leave nothing behind", async () => {
  const maker = new ChannelMaker(MEGABYTE);
  const { channel, client, events } = await connectTo(maker);
  channel.trust();
  for (let i = 0; i < 10_000; i++) client.write(PING);
  client.write(frameOf(1, { isFirst: true }));
  client.write(PING);
  client.write(frameOf(1, { isLast: true }));
  client.write(PING.subarray(0, 50));
  await until(() => events.length > 0);
  client.write(PING.subarray(50));
  await until(() => maker.unreadBytes === 0);
  expect(events).toEqual(["message 2"]);
});
