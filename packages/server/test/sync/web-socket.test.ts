/**
 * Channels on real connections: what is sent arrives as it is, and neither side can make the other
 * keep more than its bound.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import {
  type ChannelListener,
  ChannelMaker,
  type WebSocketChannel,
} from "../../src/sync/web-socket.ts";
import { RawSocket } from "../support/sync-client.ts";

interface Pair {
  readonly maker: ChannelMaker;
  readonly channel: WebSocketChannel;
  readonly client: RawSocket;
  /** What the server was told, in its order. */
  readonly events: string[];
  readonly received: Uint8Array[];
}

async function connectPair(sizeMax: number = 1024 * 1024): Promise<Pair> {
  const maker = new ChannelMaker(sizeMax);
  const server = createServer();
  const accepted = new Promise<WebSocketChannel>((resolve) => {
    server.on("upgrade", (request, socket, head) => {
      const channel = maker.accept(request, socket as Socket, head);
      if (channel === undefined) return;
      channel.listen(listener);
      resolve(channel);
    });
  });
  const events: string[] = [];
  const received: Uint8Array[] = [];
  const listener: ChannelListener = {
    message: (bytes) => {
      events.push(`message ${bytes.length}`);
      received.push(Uint8Array.from(bytes));
    },
    malformed: (reason) => void events.push(`malformed ${reason}`),
    overfull: () => void events.push("overfull"),
    drained: () => void events.push("drained"),
    closed: () => void events.push("closed"),
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = await RawSocket.open(`ws://127.0.0.1:${port}`);
  return { maker, channel: await accepted, client, events, received };
}

/** Waits until it is so; what it waits for comes from another turn of the event loop. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

const SIZES = [0, 1, 125, 126, 127, 65_535, 65_536, 65_537, 1_000_000];

function bytesOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => (i * 31 + size) & 0xff);
}

/** All of it, in a form that is quickly compared. */
function shown(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

test("messages of every size arrive as they are, in both directions", async () => {
  const { channel, client, received, maker } = await connectPair(8 * 1024 * 1024);
  channel.trust();
  const all = SIZES.map(bytesOf);
  for (const bytes of all) channel.send(bytes);
  // The same one again: its frame is there already.
  const last = all.at(-3) ?? bytesOf(0);
  channel.send(last);
  channel.send(last);
  await until(() => client.received.length === SIZES.length + 2);
  expect(client.received.map(shown)).toEqual([...all, last, last].map(shown));
  for (const bytes of all) client.send(bytes);
  await until(() => received.length === SIZES.length);
  expect(received.map(shown)).toEqual(all.map(shown));
  expect(maker.sent.frames).toEqual(new Map([["other", SIZES.length + 2]]));
  expect(maker.received.bytes).toBe(SIZES.reduce((sum, size) => sum + size));
});

test("it is told when all that waited is out, and once", async () => {
  const { channel, client, events } = await connectPair();
  client.pause();
  const piece = bytesOf(1_000_000);
  while (channel.queuedBytes === 0) channel.send(piece);
  channel.send(bytesOf(10));
  expect(channel.queuedBytes).toBeGreaterThan(0);
  expect(events).toEqual([]);
  client.resume();
  await until(() => events.length > 0);
  expect([events, channel.queuedBytes]).toEqual([["drained"], 0]);
});

test("a connection that takes nothing is cut when too much waits for it", async () => {
  const { channel, client, events } = await connectPair();
  client.pause();
  const piece = bytesOf(1_000_000);
  for (let i = 0; i < 60; i++) channel.send(piece);
  await until(() => events.includes("closed"));
  expect(events).toEqual(["closed"]);
  channel.send(piece);
  expect(channel.queuedBytes).toBe(0);
});

test("parts of messages count together, and give back what they took", async () => {
  const { channel, client, events } = await connectPair(512 * 1024);
  channel.trust();
  for (let i = 0; i < 5; i++) {
    client.send(bytesOf(300_000));
    client.ping(bytesOf(100));
    await until(() => events.length === i + 1);
  }
  client.send(bytesOf(1_000_000));
  await until(() => events.length === 6);
  expect(events).toEqual([...Array.from({ length: 5 }, () => "message 300000"), "overfull"]);
});

test("pings that nobody reads the answers of are not answered for ever", async () => {
  const { channel, client, events } = await connectPair();
  client.pause();
  while (channel.queuedBytes === 0) channel.send(bytesOf(1_000_000));
  const before = channel.queuedBytes;
  for (let i = 0; i < 1_000; i++) client.ping(bytesOf(125));
  client.send(bytesOf(5));
  await until(() => events.length > 0);
  expect(events).toEqual(["message 5"]);
  expect(channel.queuedBytes).toBeLessThanOrEqual(before);
});

test("what was sent before the end arrives before it, and nothing after it", async () => {
  const { channel, client, events } = await connectPair();
  channel.send(bytesOf(100_000));
  channel.close();
  channel.send(bytesOf(1));
  await until(() => client.isClosed && events.length > 0);
  expect(client.received.map(({ length }) => length)).toEqual([100_000]);
  expect(events).toEqual(["closed"]);
});
