/**
 * Channels on real connections: what is sent arrives as it is, and neither side can make the other
 * keep more than its bound.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { Intake } from "../../src/limits/intake.ts";
import type { ChannelListener } from "../../src/sync/channel-listener.ts";
import { ChannelMaker, type WebSocketChannel } from "../../src/sync/web-socket.ts";
import { RawSocket } from "../support/sync-client.ts";

interface Pair {
  readonly maker: ChannelMaker;
  readonly channel: WebSocketChannel;
  readonly client: RawSocket;
  /** What the server was told, in its order. */
  readonly events: string[];
  readonly received: Uint8Array[];
}

async function connectPair(sizeMax: number = 1024 * 1024, intake?: Intake): Promise<Pair> {
  const maker = new ChannelMaker(sizeMax, undefined, intake);
  const server = createServer();
  const accepted = new Promise<WebSocketChannel>((resolve) => {
    server.on("upgrade", (incoming, duplex, head) => {
      const socket = duplex as Socket;
      const channel = maker.accept({ incoming, socket, head, remoteAddress: "127.0.0.1" });
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

/**
 * Sends until the other side's system takes nothing more, and returns what is queued here. That
 * system may make room for what it first refused, so the queue must keep its length for a while.
 */
async function fillQueue(channel: WebSocketChannel): Promise<number> {
  for (;;) {
    channel.send(bytesOf(1_000_000));
    const queued = channel.queuedBytes;
    await setTimeout(200);
    if (queued > 0 && channel.queuedBytes === queued) return queued;
  }
}

const SIZES = [0, 1, 125, 126, 127, 65_535, 65_536, 65_537, 1_000_000];

function bytesOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => (i * 31 + size) & 0xff);
}

/** All of it, in a form that is quickly compared. */
function shown(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

test("messages of every size arrive unchanged, in both directions", async () => {
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

test("the channel emits once when its whole queue has been sent", async () => {
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

test("a connection that reads nothing is cut when its queue is too long", async () => {
  const { channel, client, events } = await connectPair();
  client.pause();
  const piece = bytesOf(1_000_000);
  for (let i = 0; i < 60; i++) channel.send(piece);
  await until(() => events.includes("closed"));
  expect(events).toEqual(["closed"]);
  channel.send(piece);
  expect(channel.queuedBytes).toBe(0);
});

test("parts of messages are counted together, and give their memory back", async () => {
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

test.runIf(isFullSize)("pings whose answers are not read are not answered for ever", async () => {
  const { channel, client, events } = await connectPair();
  channel.trust();
  client.pause();
  const before = await fillQueue(channel);
  events.length = 0;
  for (let i = 0; i < 1_000; i++) client.ping(bytesOf(125));
  client.send(bytesOf(5));
  await until(() => events.length > 0);
  expect(events).toEqual(["message 5"]);
  expect(channel.queuedBytes).toBeLessThanOrEqual(before);
});

test("messages sent before the end arrive before it, and nothing after it", async () => {
  const { channel, client, events } = await connectPair();
  channel.send(bytesOf(100_000));
  channel.close();
  channel.send(bytesOf(1));
  await until(() => client.isClosed && events.length > 0);
  expect(client.received.map(({ length }) => length)).toEqual([100_000]);
  expect(events).toEqual(["closed"]);
});

/** Counts the passes of the event loop until it is told to stop. */
function countPasses(): { count: number } {
  const passes = { count: 0 };
  let isOver = false;
  const next = (): void => {
    passes.count++;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  onTestFinished(() => {
    isOver = true;
  });
  return passes;
}

/** One whose time is used up at once: all that comes is late, and one is read in each pass. */
function slowIntake(): Intake {
  return new Intake(0);
}

/** Something that was called has put its own behind what was there. */
function watchMessages({ channel }: Pair, onMessage: (bytes: Uint8Array) => void): string[] {
  const events: string[] = [];
  channel.listen({
    message: (bytes) => {
      events.push(`message ${bytes.length}`);
      onMessage(bytes);
    },
    malformed: (reason) => void events.push(`malformed ${reason}`),
    overfull: () => void events.push("overfull"),
    drained: () => void events.push("drained"),
    closed: () => void events.push("closed"),
  });
  return events;
}

test("many messages that arrive at once are read in many passes, in order", async () => {
  const { client, received } = await connectPair(undefined, slowIntake());
  const passes = countPasses();
  const sizes = Array.from({ length: 200 }, (_, i) => i * 3);
  for (const size of sizes) client.send(bytesOf(size));
  const before = passes.count;
  await until(() => received.length === sizes.length);
  expect(received.map(shown)).toEqual(sizes.map((size) => shown(bytesOf(size))));
  expect(passes.count - before).toBeGreaterThanOrEqual(sizes.length);
});

test("all connections together read as many messages in a pass as there is time for", async () => {
  const intake = slowIntake();
  const pairs = await Promise.all(Array.from({ length: 5 }, () => connectPair(undefined, intake)));
  const passes = countPasses();
  const seen: number[] = [];
  const readers: number[] = [];
  for (const [i, pair] of pairs.entries()) {
    watchMessages(pair, () => {
      seen.push(passes.count);
      readers.push(i);
    });
    for (let n = 0; n < 20; n++) pair.client.send(bytesOf(n));
  }
  await until(() => seen.length === 100);
  expect(new Set(seen).size).toBe(100);
  // Nobody waits until another one is done.
  expect(new Set(readers.slice(25, 35)).size).toBe(5);
});

test("messages that arrived before the end of a connection are read before the end is reported", async () => {
  const { client, events } = await connectPair(undefined, slowIntake());
  for (let size = 0; size < 50; size++) client.send(bytesOf(size));
  client.close();
  await until(() => events.includes("closed"));
  expect(events).toEqual([...Array.from({ length: 50 }, (_, i) => `message ${i}`), "closed"]);
});

test("messages that arrived before an invalid one are read before the error is reported", async () => {
  const { client, events } = await connectPair(undefined, slowIntake());
  for (let size = 0; size < 50; size++) client.send(bytesOf(size));
  client.sendText("text");
  client.send(bytesOf(7));
  await until(() => events.length > 50);
  const reason = "malformed expected a binary frame, found text";
  expect(events).toEqual([...Array.from({ length: 50 }, (_, i) => `message ${i}`), reason]);
});

test("a closed channel reads none of the waiting messages, and emits its end once", async () => {
  for (const end of ["close", "cut"] as const) {
    const pair = await connectPair(undefined, slowIntake());
    const events = watchMessages(pair, ({ length }) => {
      if (length === 3) pair.channel[end]();
    });
    for (let size = 0; size < 50; size++) pair.client.send(bytesOf(size));
    await until(() => events.includes("closed"));
    expect(events).toEqual(["message 0", "message 1", "message 2", "message 3", "closed"]);
    await until(() => pair.client.isClosed);
  }
});

test("waiting messages take memory, and give it back", async () => {
  const { channel, client, events } = await connectPair(600_000, slowIntake());
  channel.trust();
  // More than there is room for, were they all kept until the last has come.
  for (let i = 0; i < 100; i++) client.send(bytesOf(30_000));
  await until(() => events.length >= 100);
  expect(events).toEqual(Array.from({ length: 100 }, () => "message 30000"));
  client.send(bytesOf(500_000));
  await until(() => events.length > 100);
  expect(events.at(-1)).toBe("message 500000");
});

test.runIf(isFullSize)(
  "a paused channel continues to read when it is resumed, not when its waiting messages were read",
  async () => {
    const pair = await connectPair(8 * 1024 * 1024, slowIntake());
    const { channel, client } = pair;
    channel.trust();
    const events = watchMessages(pair, () => channel.pause());
    const COUNT = 100;
    for (let i = 0; i < COUNT; i++) client.send(bytesOf(50_000));
    await until(() => events.length > 0);
    const passes = countPasses();
    await until(() => passes.count > 2 * COUNT);
    expect(events.length).toBeLessThan(10);
    while (events.length < COUNT) {
      const before = events.length;
      channel.resume();
      await until(() => events.length > before);
    }
    expect(events).toEqual(Array.from({ length: COUNT }, () => "message 50000"));
  },
);
