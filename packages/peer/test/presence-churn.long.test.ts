/**
 * Presence under churn: two thousand devices come and two thousand go, in order, without a word, or
 * while another connection of theirs is there already. At the end the server, all
 * who watch and the records of devices know exactly who is there, and the server has not grown.
 */

import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { callOnce, type Served } from "../../server/test/support/served-folder.ts";
import { openPeer, type Peer, type PresenceGraph } from "../src/index.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";
import { DeviceChurn, type DeviceTruth } from "./support/device-churn.ts";
import { RawDevice } from "./support/raw-device.ts";
import { ServerWatch, type WatchScripts } from "./support/server-watch.ts";

/** Devices that come, and the time from one to the next. */
const DEVICES = Number(process.env["CHURN_DEVICES"] ?? 2_000);
const EVERY_MS = 30;

/** Devices that are there at a time, and those that come and go before anything is measured. */
const HELD = 150;
const WARM = 500;

const WATCHERS = 8;
const DEAD = 10;

/** What the server may have more of afterwards, with as many connections as before. */
const GROWTH_MB_MAX = 32;
const HELD_GROWTH_MB_MAX = 6;
const MB = 1024 * 1024;

let scripts: WatchScripts;

beforeAll(async () => {
  scripts = await ServerWatch.scripts();
});

afterAll(() => scripts.remove());

/** A real peer, and what it was told last of the others. */
interface Watcher {
  readonly peer: Peer;
  readonly truth: DeviceTruth;
  graph: PresenceGraph | undefined;
}

async function openWatcher({ url, appId, apiKey }: Served, number: number): Promise<Watcher> {
  const metadata = { watcher: number };
  const folder = join(temporaryFolder(), "peer");
  const peer = await openPeer({ appId, url, token: apiKey, folder, metadata });
  onTestFinished(() => peer.close());
  const { peerKeyString: key } = peer.presence.graph.localPeer;
  const watcher: Watcher = { peer, truth: { key, metadata }, graph: undefined };
  peer.presence.observe((graph) => {
    watcher.graph = graph;
  });
  peer.sync.start();
  return watcher;
}

interface Row {
  readonly peerKeyString: string;
  readonly peerMetadata: DeviceTruth["metadata"];
  readonly status?: string;
}

function sorted(devices: readonly DeviceTruth[]): readonly DeviceTruth[] {
  return [...devices].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function truthOf(rows: readonly Row[]): readonly DeviceTruth[] {
  return sorted(rows.map(({ peerKeyString: key, peerMetadata: metadata }) => ({ key, metadata })));
}

async function listedPeers({ url, apiKey }: Served): Promise<readonly Row[]> {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${url}/api/v4/sync/peers`, { headers });
  const { peers } = (await response.json()) as { readonly peers: readonly Row[] };
  return peers;
}

async function recordedDevices(served: Served, status: string): Promise<readonly Row[]> {
  const statement = "SELECT * FROM __small_peer_info WHERE status = :status";
  const answer = await callOnce(served, "/store/execute", { statement, args: { status } });
  const { items } = answer as unknown as { readonly items: readonly Row[] };
  return items;
}

test("[S40] [S41] [S43] presence is exact after thousands of devices came and went, and the server has not grown", async () => {
  const watch = await ServerWatch.serve(scripts, []);
  const { served } = watch;
  const watchers: Watcher[] = [];
  for (let i = 0; i < WATCHERS; i++) watchers.push(await openWatcher(served, i));
  const proxy = await CuttingProxy.open(Number(new URL(served.url).port));
  onTestFinished(() => proxy.close());
  const dead: RawDevice[] = [];
  for (let i = 0; i < DEAD; i++) {
    dead.push(await RawDevice.connect({ ...served, url: proxy.url }, `dead-${i}`, { i }));
  }
  onTestFinished(() => {
    for (const device of dead) device.cut();
  });
  proxy.swallow();
  const churn = new DeviceChurn(served);
  onTestFinished(() => churn.end());
  await churn.grow(HELD);
  await churn.run(WARM, 20);
  const before = await watch.memory();
  await churn.run(DEVICES, EVERY_MS);
  expect(churn.connected).toHaveLength(HELD);
  expect(churn.connects - HELD - WARM).toBe(DEVICES);
  expect(churn.disconnects - WARM).toBe(DEVICES);

  const truth = sorted([...churn.connected, ...watchers.map((watcher) => watcher.truth)]);
  const isDeadLate = { timeout: 100_000, interval: 1_000 };
  await vi.waitFor(
    async () => expect(truthOf(await listedPeers(served))).toEqual(truth),
    isDeadLate,
  );
  for (const { truth: own, graph, peer } of watchers) {
    const others = truth.filter(({ key }) => key !== own.key);
    await vi.waitFor(() => {
      expect(truthOf(peer.presence.graph.remotePeers)).toEqual(others);
      expect(peer.presence.graph.remotePeerCount).toBe(others.length);
    }, isDeadLate);
    expect(graph?.localPeer.isConnected).toBe(true);
  }
  // Who observes is told a moment later, and of the last change too.
  for (const watcher of watchers) {
    await vi.waitFor(() => expect(watcher.graph).toEqual(watcher.peer.presence.graph));
  }
  const gone = dead.map(({ key, metadata }) => ({ key, metadata }));
  await vi.waitFor(async () => {
    expect(truthOf(await recordedDevices(served, "connected"))).toEqual(truth);
    expect(truthOf(await recordedDevices(served, "left"))).toEqual(
      sorted([...churn.left, ...gone]),
    );
  }, isDeadLate);

  const after = await watch.memory();
  const stats = JSON.stringify({ before, after });
  expect((after.rss - before.rss) / MB, stats).toBeLessThan(GROWTH_MB_MAX);
  const heldBy = ({ heapUsed, external }: typeof after): number => heapUsed + external;
  expect((heldBy(after) - heldBy(before)) / MB, stats).toBeLessThan(HELD_GROWTH_MB_MAX);
});
