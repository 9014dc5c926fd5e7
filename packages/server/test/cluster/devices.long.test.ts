/**
 * Devices in a cluster of real processes: peers on different nodes see each other, every node lists
 * them, runs statements on them and explains what they have, and their records outlive nodes.
 */

import { expect, onTestFinished, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { openPeer, type Peer } from "../../../peer/src/index.ts";
import { eventually, RunningCluster } from "./support/running-cluster.ts";

/** A peer in memory that connects to one node. */
async function connect(cluster: RunningCluster, node: ClusterNode, name: string): Promise<Peer> {
  const { appId, apiKey: token } = cluster.processes.quickstart;
  const url = node.clientUrl;
  const peer = await openPeer({ appId, url, token, memory: true, deviceName: name });
  onTestFinished(() => peer.close());
  peer.sync.start();
  return peer;
}

function namesSeenBy(peer: Peer): string[] {
  return peer.presence.graph.remotePeers.map(({ deviceName }) => deviceName).toSorted();
}

async function listed(cluster: RunningCluster, node: ClusterNode): Promise<string[]> {
  const answer = await cluster.request(node, "/sync/peers");
  const { peers } = (await answer.json()) as { peers: { deviceName: string }[] };
  return peers.map(({ deviceName }) => deviceName).toSorted();
}

/** What the records say of each device, by its name. */
async function recorded(cluster: RunningCluster, node: ClusterNode): Promise<object> {
  const items = await cluster.execute(node, "SELECT deviceName, status FROM __small_peer_info");
  const records = items as { deviceName: string; status: string }[];
  return Object.fromEntries(records.map(({ deviceName, status }) => [deviceName, status]));
}

/** Counts on each device. */
async function ask(cluster: RunningCluster, node: ClusterNode): Promise<object> {
  const statement = "SYNC CONTEXT ( PEERS ) SELECT COUNT(*) AS n FROM notes";
  const answer = await cluster.request(node, "/sync/remote_execute", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ statement }),
  });
  const { result } = (await answer.json()) as {
    result: { peer: { deviceName: string }; items: unknown[] }[];
  };
  return Object.fromEntries(result.map(({ peer, items }) => [peer.deviceName, items]));
}

test("[W12] [R11] devices of all nodes are one list, on each node", async () => {
  const cluster = await RunningCluster.start();
  const [one, two, three] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode];
  const till = await connect(cluster, one, "till");
  const phone = await connect(cluster, two, "phone");
  for (const peer of [till, phone]) peer.presence.observe(() => undefined);
  await till.store.execute("INSERT INTO notes DOCUMENTS ({ '_id': 'n1' })");
  await eventually(() => {
    expect(namesSeenBy(till)).toEqual(["phone"]);
    expect(namesSeenBy(phone)).toEqual(["till"]);
  });
  // The app may have been closed on the third node until now.
  expect(await listed(cluster, three)).toEqual(["phone", "till"]);
  expect(await ask(cluster, three)).toEqual({ till: [{ n: 1 }], phone: [{ n: 0 }] });
  const key = phone.presence.graph.localPeer.peerKeyString;
  const statement = "EXPLAIN SYNC notes, 'n1' FOR :key";
  for (const node of cluster.nodes) {
    const [row] = await cluster.execute(node, statement, { key });
    expect(row).toMatchObject({ verdict: "not_subscribed", peer: { deviceName: "phone" } });
  }
  await eventually(async () => {
    expect(await recorded(cluster, three)).toEqual({ till: "connected", phone: "connected" });
  });
  phone.presence.setPeerMetadata({ floor: 2 });
  await eventually(() => {
    expect(till.presence.graph.remotePeers[0]?.peerMetadata).toEqual({ floor: 2 });
  });
});

test("[W12] a node that takes over keeps the devices of other nodes, and marks those of the lost one", async () => {
  const cluster = await RunningCluster.start();
  const [first] = cluster.nodes as [ClusterNode];
  await cluster.execute(first, "INSERT INTO notes DOCUMENTS ({ '_id': 'n1' })");
  const { evaluator, followers } = cluster.inOrder;
  const [one, two] = followers as [ClusterNode, ClusterNode];
  const lost = await connect(cluster, evaluator, "lost");
  await connect(cluster, one, "till");
  const phone = await connect(cluster, two, "phone");
  const all = { lost: "connected", till: "connected", phone: "connected" };
  await eventually(async () => expect(await recorded(cluster, one)).toEqual(all));
  // Every state of the records that reaches a peer from now on.
  const left = new Set<unknown>();
  const query = "SELECT * FROM __small_peer_info WHERE status = 'left'";
  phone.sync.registerSubscription("SELECT * FROM __small_peer_info");
  phone.store.registerObserver(query, ({ items }) => {
    for (const { deviceName } of items) left.add(deviceName);
  });

  await evaluator.kill();
  await eventually(async () => {
    expect(await recorded(cluster, one)).toEqual({ ...all, lost: "left" });
  });
  await eventually(async () => expect(await listed(cluster, two)).toEqual(["phone", "till"]));
  await eventually(() => expect(left).toEqual(new Set(["lost"])));

  // The node comes back, and another device connects to it.
  await lost.close();
  await evaluator.startUntilReady();
  await connect(cluster, evaluator, "tablet");
  await eventually(async () => {
    expect(await recorded(cluster, two)).toEqual({ ...all, lost: "left", tablet: "connected" });
    expect(await listed(cluster, one)).toEqual(["phone", "tablet", "till"]);
  });
  expect(left).toEqual(new Set(["lost"]));
});
