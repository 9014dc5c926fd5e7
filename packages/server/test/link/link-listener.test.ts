/**
 * The replication port, as somebody sees it who has not proved anything: what can be learnt there,
 * and what it costs.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { nodePlatform } from "@bigpeer/node";
import { SYNC_VERSION } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import type { IncomingLink, ProvenLink } from "../../src/link/incoming-link.ts";
import type { LinkEnd } from "../../src/link/link-dialler.ts";
import { LinkListener } from "../../src/link/link-listener.ts";
import { ChannelMaker } from "../../src/sync/web-socket.ts";
import { CALLER_NONCE, LinkCaller } from "../support/link-caller.ts";
import { RawSocket } from "../support/sync-client.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";
const OTHER = "11111111-2222-4333-8444-555555555555";
const SECRET = "a secret of sixteen and more";

interface Opened {
  readonly listener: LinkListener;
  readonly proven: ProvenLink[];
  readonly refused: LinkEnd[];
  readonly pass: (ms: number) => void;
}

async function open(after?: number, isAdmitted = true): Promise<Opened> {
  let passed = 0;
  const proven: ProvenLink[] = [];
  const refused: LinkEnd[] = [];
  const listener = new LinkListener({
    host: "127.0.0.1",
    port: 0,
    tls: undefined,
    channels: new ChannelMaker(1 << 20, 4096),
    log: () => {},
    elapsed: () => nodePlatform.elapsed() + passed,
    random: (size) => nodePlatform.random(size),
    acceptedCount: () => proven.length,
    secretOf: (app) => (app === APP ? SECRET : undefined),
    admits: () => isAdmitted,
    onProven: (link) => void proven.push(link),
    onRefused: (_incoming: IncomingLink, end) => {
      refused.push(end);
      return after;
    },
  });
  await listener.listen();
  onTestFinished(async () => {
    for (const { channel } of proven) channel.cut();
    await listener.close();
  });
  return {
    listener,
    proven,
    refused,
    pass: (ms) => {
      passed += ms;
    },
  };
}

const UNKNOWN = "there is no such app to be linked with here, or its replication secret is another";

test("[S48] a caller that knows the secret of an app is accepted, with the earlier messages", async () => {
  const { listener, proven } = await open();
  const caller = await LinkCaller.dial(listener.url);
  await caller.prove(APP, SECRET);
  await vi.waitFor(() => expect(proven.length).toBe(1));
  const [link] = proven;
  expect(link?.appId).toBe(APP);
  expect(link?.heard.length).toBe(2);
  expect(caller.socket.received.length).toBe(1);
  expect(listener.incomingCount).toBe(0);
});

test("[S83] a wrong secret, an unknown app and an app without a secret get the same answer", async () => {
  const { listener, refused } = await open();
  const answers = [];
  for (const app of [APP, OTHER, "no app at all", ""]) {
    const caller = await LinkCaller.dial(listener.url);
    caller.greet(app);
    const hello = await caller.next();
    caller.say({ t: "proof", proof: new Uint8Array(32) });
    const bye = await caller.next();
    expect(await caller.next()).toBe(undefined);
    answers.push([hello, bye]);
  }
  for (const [i, app] of [APP, OTHER, "no app at all", ""].entries()) {
    expect(answers[i]).toEqual([
      { t: "link", version: SYNC_VERSION, app, nonce: expect.any(Uint8Array) },
      { t: "bye", code: "unauthorized", message: UNKNOWN },
    ]);
  }
  expect(refused.map(({ code }) => code)).toEqual(Array(4).fill("unauthorized"));
});

test("[S48] a proof is valid for one connection: a listener cannot use it again", async () => {
  const { listener, proven } = await open();
  const caller = await LinkCaller.dial(listener.url);
  await caller.prove(APP, SECRET);
  await vi.waitFor(() => expect(proven.length).toBe(1));
  const [hello, proof] = proven[0]?.heard ?? [];
  const thief = await LinkCaller.dial(listener.url);
  thief.socket.send(hello ?? new Uint8Array());
  const own = await thief.next();
  thief.socket.send(proof ?? new Uint8Array());
  expect(await thief.next()).toEqual({ t: "bye", code: "unauthorized", message: UNKNOWN });
  expect(own).not.toEqual({ t: "link", version: SYNC_VERSION, app: APP, nonce: CALLER_NONCE });
  expect(proven.length).toBe(1);
});

test("[S48] a proof is valid for one side: the proof of the accepting side is not one of the caller", async () => {
  const { listener, proven } = await open();
  const caller = await LinkCaller.dial(listener.url);
  await caller.prove(APP, SECRET, "accept");
  expect(await caller.next()).toEqual({ t: "bye", code: "unauthorized", message: UNKNOWN });
  expect(proven).toEqual([]);
});

test("[S83] another version gets an answer that says so, whatever the app", async () => {
  const { listener } = await open();
  for (const app of [APP, OTHER]) {
    const caller = await LinkCaller.dial(listener.url);
    caller.greet(app, { version: SYNC_VERSION + 1 });
    const versions = "the accepting Big Peer speaks protocol 2, the dialing Big Peer speaks 3";
    const message = `${versions}: upgrade the accepting Big Peer`;
    expect(await caller.next()).toEqual({ t: "bye", code: "version", message });
  }
});

test.each([
  ["a message of sync", { t: "ping", now: 1 }, "expected link, found ping"],
  [
    "the proof before the greeting",
    { t: "proof", proof: CALLER_NONCE },
    "expected link, found proof",
  ],
] as const)("[S47] %s ends the connection", async (_name, message, reason) => {
  const { listener, proven } = await open();
  const caller = await LinkCaller.dial(listener.url);
  caller.say(message);
  expect(await caller.next()).toEqual({ t: "bye", code: "malformed", message: reason });
  expect(await caller.next()).toBe(undefined);
  expect(proven).toEqual([]);
});

test("[S47] an invalid message, and a second greeting, end the connection", async () => {
  const { listener } = await open();
  const broken = await LinkCaller.dial(listener.url);
  broken.socket.send(Uint8Array.of(0xff, 0x00));
  expect(await broken.next()).toEqual(expect.objectContaining({ t: "bye", code: "malformed" }));
  const twice = await LinkCaller.dial(listener.url);
  twice.greet(APP);
  twice.greet(APP);
  expect((await twice.next())?.t).toBe("link");
  const message = "expected proof, found link";
  expect(await twice.next()).toEqual({ t: "bye", code: "malformed", message });
});

test("before the proof no more than a greeting is read", async () => {
  const { listener } = await open();
  const caller = await LinkCaller.dial(listener.url);
  caller.greet("x".repeat(5_000));
  const message = "expected a hello of at most 4096 bytes";
  expect(await caller.next()).toEqual({ t: "bye", code: "malformed", message });
});

test("a caller that proves nothing within five seconds is disconnected", async () => {
  const { listener, pass, refused } = await open();
  const silent = await LinkCaller.dial(listener.url);
  const half = await LinkCaller.dial(listener.url);
  half.greet(APP);
  expect((await half.next())?.t).toBe("link");
  listener.tick();
  expect(listener.incomingCount).toBe(2);
  pass(5_000);
  listener.tick();
  const bye = { t: "bye", code: "malformed", message: "expected a proof within 5000 ms" };
  expect(await silent.next()).toEqual(bye);
  expect(await half.next()).toEqual(bye);
  await vi.waitFor(() => expect(listener.incomingCount).toBe(0));
  expect(refused.length).toBe(2);
});

test("a caller that does not read is cut after it was refused", async () => {
  const { listener, pass } = await open();
  const caller = await LinkCaller.dial(listener.url);
  caller.socket.pause();
  pass(5_000);
  listener.tick();
  pass(2_000);
  listener.tick();
  await vi.waitFor(() => expect(listener.incomingCount).toBe(0));
});

/** The status line of the answer to a request for a link. */
async function statusOf(url: string, more = ""): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.write(
    `GET /link HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${more}` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return chunk.toString().split("\r\n")[0] ?? "";
}

test("the number of handshakes of one address at a time is limited", async () => {
  const { listener } = await open();
  const callers = [];
  for (let i = 0; i < 20; i++) callers.push(await LinkCaller.dial(listener.url));
  expect(await statusOf(listener.url)).toBe("HTTP/1.1 503 Service Unavailable");
  callers[0]?.say({ t: "bye", code: "stopped", message: "" });
  await vi.waitFor(() => expect(listener.incomingCount).toBe(19));
  expect(await statusOf(listener.url)).toBe("HTTP/1.1 101 Switching Protocols");
});

/** A connection that has begun a request and does not end it. */
async function slow(url: string, localAddress: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write("GET /link HTTP/1.1\r\n");
  return socket.resume();
}

/** Those that the other side has not ended. */
function openOf(sockets: readonly Socket[]): number {
  return sockets.filter(({ readableEnded, destroyed }) => !readableEnded && !destroyed).length;
}

test("connections of one address that are not links are limited, and block no other address", async () => {
  const { listener } = await open();
  const sockets: Socket[] = [];
  for (let i = 0; i < 120; i++) sockets.push(await slow(listener.url, "127.0.0.2"));
  await vi.waitFor(() => expect(openOf(sockets)).toBe(100));
  // The first ones stay, and those that are links do not count.
  expect(openOf(sockets.slice(0, 100))).toBe(100);
  for (let i = 0; i < 15; i++) await LinkCaller.dial(listener.url);
  const others: Socket[] = [];
  for (let i = 0; i < 100; i++) others.push(await slow(listener.url, "127.0.0.1"));
  await vi.waitFor(() => expect(openOf(others)).toBe(100));
});

test("when there are too many in all, the oldest handshakes are ended, and no link", async () => {
  const { listener, proven } = await open();
  const linked = await LinkCaller.dial(listener.url);
  await linked.prove(APP, SECRET);
  await vi.waitFor(() => expect(proven.length).toBe(1));
  const sockets: Socket[] = [];
  for (let i = 0; i < 520; i++) {
    sockets.push(await slow(listener.url, `127.0.1.${1 + Math.floor(i / 60)}`));
  }
  await vi.waitFor(() => expect(openOf(sockets)).toBe(500));
  expect(openOf(sockets.slice(20))).toBe(500);
  const caller = await LinkCaller.dial(listener.url);
  await caller.prove(APP, SECRET);
  await vi.waitFor(() => expect(proven.length).toBe(2));
  expect(linked.socket.isClosed).toBe(false);
});

test("a refused caller counts until it has disconnected", async () => {
  const { listener } = await open();
  // Else they would be cut in the end.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { hostname: host, port } = new URL(listener.url);
  const call = (): Socket => {
    const socket = connect({ host, port: Number(port), allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: http://localhost\r\n";
    socket.on("error", () => {}).write(`GET /link HTTP/1.1\r\n${upgrade}\r\n`);
    return socket;
  };
  for (let i = 0; i < 100; i++) {
    const [chunk] = (await once(call(), "data")) as [Buffer];
    expect(chunk.toString()).toContain("403 Forbidden");
  }
  const last = call();
  const heard: unknown[] = [];
  last.on("data", (chunk) => heard.push(chunk));
  await Promise.race([once(last, "close"), once(last, "end")]);
  expect(heard).toEqual([]);
});

test("pages of a browser are refused", async () => {
  const { listener } = await open();
  const status = await statusOf(listener.url, "Origin: http://localhost\r\n");
  expect(status).toBe("HTTP/1.1 403 Forbidden");
});

test("all other paths of the port are 404, and reveal nothing", async () => {
  const { listener } = await open();
  const answers = [];
  for (const path of ["/link", "/", "/sync", "/metrics", "/health/ready", "/api/v4/store/find"]) {
    const response = await fetch(listener.url + path);
    answers.push([path, response.status]);
    await response.text();
  }
  expect(answers).toEqual([
    ["/link", 426],
    ["/", 404],
    ["/sync", 404],
    ["/metrics", 404],
    ["/health/ready", 404],
    ["/api/v4/store/find", 404],
  ]);
  await expect(RawSocket.open(`${listener.url.replace("http", "ws")}/sync`)).rejects.toThrow("404");
});

test("a caller that failed too often gets a time to retry", async () => {
  const { listener } = await open(42_000);
  const caller = await LinkCaller.dial(listener.url);
  await caller.prove(APP, "another secret than this");
  const bye = { t: "bye", code: "unauthorized", message: UNKNOWN, after: 42_000 };
  expect(await caller.next()).toEqual(bye);
});

test("[S83] a right proof from a throttled address gets the answer of a wrong one", async () => {
  const { listener, proven } = await open(42_000, false);
  const caller = await LinkCaller.dial(listener.url);
  await caller.prove(APP, SECRET);
  const bye = { t: "bye", code: "unauthorized", message: UNKNOWN, after: 42_000 };
  expect(await caller.next()).toEqual(bye);
  expect(proven).toEqual([]);
});

test("a port that cannot be opened is reported with the name of its setting", async () => {
  const { listener } = await open();
  const second = new LinkListener({
    host: "127.0.0.1",
    port: Number(new URL(listener.url).port),
    tls: undefined,
    channels: new ChannelMaker(1),
    log: () => {},
    elapsed: () => 0,
    random: () => new Uint8Array(),
    acceptedCount: () => 0,
    secretOf: () => undefined,
    admits: () => true,
    onProven: () => {},
    onRefused: () => undefined,
  });
  await expect(second.listen()).rejects.toThrow(/in use .*; choose one with --replication-port/);
});
