/**
 * Links between a cluster and another Big Peer: one node runs those of an app, and every node
 * accepts them.
 */

import { expect, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { LINK_SECRET, LinkedServer, type ShownLink } from "../support/linked-server.ts";
import { eventually, manage, RunningCluster } from "./support/running-cluster.ts";

const ALL_CARS = { cars: ["true"] };
const REPLICATIONS = "/app/default/bigPeerReplication";

async function startLinkedCluster(): Promise<RunningCluster> {
  const cluster = await RunningCluster.startLinked(LINK_SECRET);
  await cluster.openApp();
  const [first] = cluster.nodes as [ClusterNode];
  const replication = { name: "south", queriesByCollection: ALL_CARS };
  await manage(first, "POST", REPLICATIONS, replication);
  return cluster;
}

/** A Big Peer of its own that dials the nodes. */
async function startSouth(appId: string, nodes: readonly ClusterNode[]): Promise<LinkedServer> {
  const south = await LinkedServer.start({}, appId);
  const connections = nodes.map(({ linkUrl }) => new URL(linkUrl).host);
  await south.replicate("POST", { connections, queriesByCollection: ALL_CARS });
  return south;
}

async function linksAt(node: ClusterNode): Promise<readonly ShownLink[]> {
  const { links } = (await manage(node, "GET", `${REPLICATIONS}/south/status`)) as {
    readonly links: ShownLink[];
  };
  return links;
}

test("a link to a node that does not evaluate is passed on, and every node shows it", async () => {
  const cluster = await startLinkedCluster();
  const { followers } = cluster.inOrder;
  const [follower] = followers as [ClusterNode];
  const south = await startSouth(cluster.appId, [follower]);
  await south.until("linked");
  await cluster.execute(follower, "INSERT INTO cars DOCUMENTS ({ '_id': 'north' })");
  await south.put("cars", { _id: "south" });
  const both = [{ _id: "north" }, { _id: "south" }];
  await south.holds("cars", both);
  for (const node of cluster.nodes) {
    await eventually(async () => {
      expect(await cluster.execute(node, "SELECT * FROM cars ORDER BY _id")).toEqual(both);
    });
    await eventually(async () => {
      const links = await linksAt(node);
      expect(links.map(({ state, direction }) => [state, direction])).toEqual([
        ["linked", "accept"],
      ]);
    });
  }
});

test("when the node that runs the links is killed, another one runs them", async () => {
  const cluster = await startLinkedCluster();
  const { evaluator, followers } = cluster.inOrder;
  const south = await startSouth(cluster.appId, followers);
  await south.until("linked");
  await evaluator.kill();
  const [follower] = followers as [ClusterNode];
  await eventually(async () => {
    await cluster.execute(follower, "INSERT INTO cars DOCUMENTS ({ '_id': 'after' })");
  });
  await south.put("cars", { _id: "south" });
  const both = [{ _id: "after" }, { _id: "south" }];
  await eventually(async () => expect(await south.all("cars")).toEqual(both));
  for (const node of followers) {
    await eventually(async () => {
      expect(await cluster.execute(node, "SELECT * FROM cars ORDER BY _id")).toEqual(both);
    });
  }
});

test("a content that a linked Big Peer has can be downloaded from every node", async () => {
  const cluster = await startLinkedCluster();
  const { followers } = cluster.inOrder;
  const [follower, other] = followers as [ClusterNode, ClusterNode];
  const south = await startSouth(cluster.appId, [follower]);
  const content = new Uint8Array(100_000).fill(7);
  const id = await south.upload(content);
  await south.refer(id, content.length);
  await eventually(async () => {
    const answer = await cluster.request(other, `/attachments/${id}`);
    expect(answer.status).toBe(200);
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(content);
  });
});
