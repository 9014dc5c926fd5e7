/**
 * Links that a node of a cluster passes on: what it sends to the node that runs the links, and how
 * both connections end. The channels are real connections.
 */

import { type AddressInfo, createServer } from "node:net";
import { decodeLinkMessage, encodeMessage, type LinkMessage } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { listenHttp, type UpgradeRequest } from "../../src/http/http-server.ts";
import type { ProvenLink } from "../../src/link/incoming-link.ts";
import { LinkRelays, passedLinkOf } from "../../src/link/link-relays.ts";
import type { DialOptions } from "../../src/sync/dial.ts";
import { ChannelMaker, type WebSocketChannel } from "../../src/sync/web-socket.ts";
import { RawSocket } from "../support/sync-client.ts";

const NONCE = new Uint8Array(32).fill(9);
const HEARD = [new Uint8Array([1]), new Uint8Array([2, 2])];

/** One end of a connection that a test holds. */
interface End {
  readonly channel: WebSocketChannel;
  readonly asked: UpgradeRequest;
  readonly heard: Uint8Array[];
  readonly isClosed: () => boolean;
}

/** Listens for WebSockets; `take` gets each of them. */
async function listening(take: (channel: WebSocketChannel, asked: UpgradeRequest) => void) {
  const channels = new ChannelMaker(1 << 26, 1 << 20);
  const http = await listenHttp({
    host: "127.0.0.1",
    port: 0,
    log: () => {},
    answer: () => Promise.reject(new Error("expected a WebSocket")),
    upgrades: {
      connectionsMax: 100,
      take: (asked) => {
        const channel = channels.accept(asked);
        if (channel !== undefined) take(channel, asked);
        onTestFinished(() => channel?.cut());
        return true;
      },
    },
  });
  onTestFinished(() => http.close());
  return http.url.replace(/^http/, "ws");
}

/** A node that runs links: records what comes. */
async function runningNode(): Promise<{ target: DialOptions; ends: End[] }> {
  const ends: End[] = [];
  const url = await listening((channel, asked) => {
    const heard: Uint8Array[] = [];
    let isClosed = false;
    channel.trust();
    channel.listen({
      message: (bytes) => heard.push(bytes),
      malformed: () => {},
      overfull: () => {},
      drained: () => {},
      closed: () => {
        isClosed = true;
      },
    });
    ends.push({ channel, asked, heard, isClosed: () => isClosed });
  });
  return { target: { url, timeoutMs: 5_000, headers: { "x-own": "1" } }, ends };
}

/** A caller that has proved the secret to this node. */
async function provenCaller(): Promise<{ caller: RawSocket; proven: ProvenLink }> {
  let accepted: WebSocketChannel | undefined;
  const url = await listening((channel) => {
    accepted = channel;
    channel.pause();
  });
  const caller = await RawSocket.open(url);
  await vi.waitFor(() => expect(accepted).toBeDefined());
  const channel = accepted as WebSocketChannel;
  const proven = { channel, appId: "shop", remoteAddress: "192.0.2.7", nonce: NONCE, heard: HEARD };
  return { caller, proven: { ...proven, isPassedOn: false } };
}

function relaysTo(targetOf: () => DialOptions | undefined): LinkRelays {
  const relays = new LinkRelays(new ChannelMaker(1 << 26, 1 << 20), targetOf);
  onTestFinished(() => relays.close());
  return relays;
}

function lastOf(caller: RawSocket): LinkMessage {
  const bytes = caller.received.at(-1);
  if (bytes === undefined) throw new Error("expected a message");
  return decodeLinkMessage(bytes);
}

test("the node that runs the links gets the address, the nonce and the messages so far", async () => {
  const { target, ends } = await runningNode();
  const { caller, proven } = await provenCaller();
  const relays = relaysTo(() => target);
  relays.pass(proven);
  expect(relays.count).toBe(1);
  await vi.waitFor(() => expect(ends[0]?.heard.length).toBe(2), 5_000);
  const [node] = ends as [End];
  const { headers } = node.asked.incoming;
  expect(headers["x-own"]).toBe("1");
  const passed = passedLinkOf(headers);
  expect(passed?.remoteAddress).toBe("192.0.2.7");
  expect(new Uint8Array(passed?.nonce ?? [])).toEqual(NONCE);
  expect(node.heard.map((bytes) => [...bytes])).toEqual([[1], [2, 2]]);
  caller.send(new Uint8Array([3]));
  node.channel.send(new Uint8Array([4]));
  await vi.waitFor(() => expect(node.heard.length).toBe(3), 5_000);
  await vi.waitFor(() => expect(caller.received.map((bytes) => [...bytes])).toEqual([[4]]), 5_000);
});

test.runIf(isFullSize)(
  "many large messages arrive whole and in order in both directions",
  async () => {
    const { target, ends } = await runningNode();
    const { caller, proven } = await provenCaller();
    relaysTo(() => target).pass(proven);
    await vi.waitFor(() => expect(ends[0]?.heard.length).toBe(2), 5_000);
    const [node] = ends as [End];
    const count = 60;
    for (let i = 0; i < count; i++) {
      caller.send(new Uint8Array(256 * 1024).fill(i));
      node.channel.send(new Uint8Array(64 * 1024).fill(i));
    }
    await vi.waitFor(() => expect(node.heard.length).toBe(2 + count), 20_000);
    await vi.waitFor(() => expect(caller.received.length).toBe(count), 20_000);
    const numbers = Array.from({ length: count }, (_, i) => i);
    expect(node.heard.slice(2).map((bytes) => bytes[0])).toEqual(numbers);
    expect(caller.received.map((bytes) => bytes[0])).toEqual(numbers);
  },
);

test("when one side closes, the other one gets what was sent and is closed", async () => {
  const { target, ends } = await runningNode();
  const { caller, proven } = await provenCaller();
  const relays = relaysTo(() => target);
  relays.pass(proven);
  await vi.waitFor(() => expect(ends.length).toBe(1), 5_000);
  const bye = {
    t: "bye",
    code: "stopped",
    message: "the app has no replication any more",
  } as const;
  ends[0]?.channel.send(encodeMessage(bye));
  ends[0]?.channel.close();
  await vi.waitFor(() => expect(caller.isClosed).toBe(true), 5_000);
  expect(lastOf(caller)).toEqual(bye);
  expect(relays.count).toBe(0);

  const second = await provenCaller();
  relays.pass(second.proven);
  await vi.waitFor(() => expect(ends.length).toBe(2), 5_000);
  second.caller.close();
  await vi.waitFor(() => expect(ends[1]?.isClosed()).toBe(true), 5_000);
});

test("a caller is sent away busy while no node runs the links, or it cannot be reached", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await vi.waitFor(() => expect(closed.listening).toBe(true));
  const url = `ws://127.0.0.1:${(closed.address() as AddressInfo).port}`;
  closed.close();
  for (const target of [undefined, { url, timeoutMs: 1_000 }]) {
    const { caller, proven } = await provenCaller();
    relaysTo(() => target).pass(proven);
    await vi.waitFor(() => expect(caller.isClosed).toBe(true), 5_000);
    expect(lastOf(caller)).toMatchObject({ t: "bye", code: "busy", after: 5_000 });
  }
});

test("a caller is sent away busy when another node runs the links, even if the first one hangs", async () => {
  const { target, ends } = await runningNode();
  const { caller, proven } = await provenCaller();
  let now: DialOptions | undefined = target;
  const relays = relaysTo(() => now);
  relays.pass(proven);
  await vi.waitFor(() => expect(ends.length).toBe(1), 5_000);
  relays.tick();
  expect(relays.count).toBe(1);
  now = { ...target, url: "ws://127.0.0.1:1" };
  relays.tick();
  await vi.waitFor(() => expect(caller.isClosed).toBe(true), 5_000);
  expect(lastOf(caller)).toMatchObject({ t: "bye", code: "busy" });
});
