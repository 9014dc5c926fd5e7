/**
 * Presence on a peer: who else is connected, as a real server tells it, and what others see of this one.
 */
import { platform } from "node:os";
import { expect, test } from "vitest";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import type { Peer, PresenceGraph } from "../src/index.ts";
import { startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

interface Watched {
  readonly graphs: PresenceGraph[];
  readonly names: () => string[];
  readonly stop: () => void;
}

/** What a peer is told of the others from now on. */
function watch(peer: Peer): Watched {
  const graphs: PresenceGraph[] = [];
  const observer = peer.presence.observe((graph) => graphs.push(graph));
  const names = (): string[] =>
    (graphs.at(-1)?.remotePeers ?? []).map(({ deviceName }) => deviceName).toSorted();
  return { graphs, names, stop: () => observer.stop() };
}

test("without a connection a peer sees only itself", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ deviceName: "till", metadata: { shop: 7 } });
  const { graph } = peer.presence;
  expect(graph).toEqual({
    localPeer: {
      peerKeyString: expect.any(String),
      deviceName: "till",
      // Without its version: others choose by it.
      os: platform(),
      sdkVersion: expect.stringMatching(/^bigpeer-node\//),
      peerMetadata: { shop: 7 },
      isConnected: false,
    },
    remotePeers: [],
    remotePeerCount: 0,
  });
  const watched = watch(peer);
  await until(() => watched.graphs.length === 1);
  expect(watched.graphs[0]).toEqual(graph);
});

test("[S41, S42] peers see each other connect, change and leave", async () => {
  const server = await startRealServer();
  const [a, b] = [
    await server.peer({ deviceName: "till" }),
    await server.peer({ deviceName: "phone", metadata: { battery: 80 } }),
  ];
  const before = Date.now();
  const watched = watch(a);
  a.sync.start();
  b.sync.start();
  await until(() => watched.names().length === 1);
  const graph = watched.graphs.at(-1);
  expect(graph?.localPeer.isConnected).toBe(true);
  expect(graph?.remotePeerCount).toBe(1);
  const { localPeer } = b.presence.graph;
  const { isConnected: _, ...described } = localPeer;
  expect(graph?.remotePeers).toEqual([{ ...described, connectedSince: expect.any(Number) }]);
  expect(graph?.remotePeers[0]?.connectedSince).toBeGreaterThanOrEqual(before - 1000);
  b.presence.setPeerMetadata({ battery: 79 });
  expect(b.presence.peerMetadata).toEqual({ battery: 79 });
  await until(() => watched.graphs.at(-1)?.remotePeers[0]?.peerMetadata["battery"] === 79);
  const { items } = await a.store.execute("SELECT * FROM system:peers");
  expect(items).toEqual([
    { _id: described.peerKeyString, ...watched.graphs.at(-1)?.remotePeers[0] },
  ]);
  await b.close();
  await until(() => watched.names().length === 0);
  expect(watched.graphs.at(-1)?.remotePeerCount).toBe(0);
});

test("[S40] metadata that was set without a connection is in the next hello", async () => {
  const server = await startRealServer();
  const [a, b] = [await server.peer(), await server.peer({ metadata: { v: 1 } })];
  const watched = watch(a);
  a.sync.start();
  b.presence.setPeerMetadata({ v: 2 });
  b.sync.start();
  await until(() => watched.names().length === 1);
  expect(watched.graphs.at(-1)?.remotePeers[0]?.peerMetadata).toEqual({ v: 2 });
});

test.runIf(isFullSize)(
  "without a connection no other peer is listed, and the list returns with the connection",
  async () => {
    const server = await startRealServer();
    const [a, b] = [await server.peer(), await server.peer()];
    const watched = watch(a);
    for (const peer of [a, b]) peer.sync.start();
    await until(() => watched.names().length === 1);
    await a.sync.stop();
    await until(() => watched.graphs.at(-1)?.localPeer.isConnected === false);
    expect(watched.graphs.at(-1)?.remotePeers).toEqual([]);
    a.sync.start();
    await until(() => watched.names().length === 1);
  },
);

test("a stopped observer receives nothing more, and close stops all", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const watched = watch(peer);
  const second = peer.presence.observe(() => undefined);
  await until(() => watched.graphs.length === 1);
  watched.stop();
  watched.stop();
  peer.sync.start();
  await until(() => peer.presence.graph.localPeer.isConnected);
  peer.presence.setPeerMetadata({ v: 2 });
  expect(watched.graphs).toHaveLength(1);
  expect(second.isStopped).toBe(false);
  await peer.close();
  expect(second.isStopped).toBe(true);
  expect(() => peer.presence.observe(() => undefined)).toThrow("closed");
  expect(() => peer.presence.setPeerMetadata({})).toThrow("closed");
});

test("a callback that throws or rejects is reported as an error and called again", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const errors: string[] = [];
  peer.on("error", ({ message }) => errors.push(message));
  let calls = 0;
  peer.presence.observe(() => {
    calls++;
    throw new Error("thrown");
  });
  peer.presence.observe(async () => {
    throw new Error("rejected");
  });
  await until(() => calls === 1 && errors.length === 2);
  peer.presence.setPeerMetadata({ v: 2 });
  await until(() => calls === 2 && errors.length === 4);
  expect(errors.toSorted()).toEqual(["rejected", "rejected", "thrown", "thrown"]);
});

test("[S40] metadata that is set repeatedly is sent once, when it differs", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ metadata: { v: 1 } });
  const watched = watch(peer);
  await until(() => watched.graphs.length === 1);
  peer.presence.setPeerMetadata({ v: 1 });
  for (let v = 2; v < 100; v++) peer.presence.setPeerMetadata({ v });
  await until(() => watched.graphs.length > 1);
  peer.presence.setPeerMetadata({ v: 99 });
  peer.sync.start();
  await until(() => watched.graphs.at(-1)?.localPeer.isConnected === true);
  const reported = watched.graphs.map(({ localPeer }) => localPeer.peerMetadata["v"]);
  expect(reported).toEqual([1, 99, 99]);
});

test("metadata is copied, checked and limited in size", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const given = { tags: ["a"] };
  peer.presence.setPeerMetadata(given);
  given.tags.push("b");
  expect(peer.presence.peerMetadata).toEqual({ tags: ["a"] });
  const set = (metadata: unknown) => (): void =>
    peer.presence.setPeerMetadata(metadata as Record<string, unknown>);
  expect(set(undefined)).toThrow("expected an object as metadata, found undefined");
  expect(set("x")).toThrow('expected an object as metadata, found "x"');
  expect(set({ at: new Date() })).toThrow("metadata.at");
  expect(set({ x: "x".repeat(17_000) })).toThrow("expected at most 16384 bytes of metadata");
  expect(() => peer.presence.observe(7 as never)).toThrow("expected a callback, found number");
  expect(peer.presence.peerMetadata).toEqual({ tags: ["a"] });
});
