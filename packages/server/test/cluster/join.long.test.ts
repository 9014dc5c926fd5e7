/**
 * Nodes that begin with a copy of another node while the cluster is written to, since the log has
 * forgotten what they lack.
 */

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { eventually, Load, RunningCluster } from "./support/running-cluster.ts";

async function idsOn(cluster: RunningCluster, node: ClusterNode): Promise<Set<string>> {
  const items = await cluster.execute(node, "SELECT _id FROM tasks");
  return new Set((items as { _id: string }[]).map(({ _id }) => _id));
}

/** Ids that were acknowledged and are not on a node. */
async function missingOn(
  cluster: RunningCluster,
  node: ClusterNode,
  load: Load,
): Promise<string[]> {
  const found = await idsOn(cluster, node);
  return load.acknowledged.filter((id) => !found.has(id));
}

function copiesOf({ dataDir }: ClusterNode): string[] {
  const folder = join(dataDir, "copies");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** The name of a node among the others. */
function nameOf({ dataDir }: ClusterNode): string {
  const content = readFileSync(join(dataDir, "cluster.json"), "utf8");
  return (JSON.parse(content) as { node: string }).node;
}

/** Resolves when the log has forgotten all that it has now. */
async function trimmed(cluster: RunningCluster): Promise<void> {
  const log = await cluster.log();
  const end = await log.end();
  await eventually(async () => {
    const first = (await log.next(0))?.sequence ?? 0;
    expect(first).toBeGreaterThan(end);
  });
}

test("an emptied node, and one that was away for too long, begin with copies under load", async () => {
  const cluster = await RunningCluster.start();
  await cluster.openApp();
  const { evaluator, followers } = cluster.inOrder;
  const [away, other] = followers as [ClusterNode, ClusterNode];
  const load = new Load(cluster, other);
  // All nodes have the app, so the log is trimmed below the three.
  await trimmed(cluster);

  await away.kill();
  rmSync(away.dataDir, { recursive: true });
  const logged = away.log().length;
  await trimmed(cluster);
  await away.startUntilReady();
  await eventually(async () => expect(await missingOn(cluster, away, load)).toEqual([]));
  // The evaluating node is spared.
  const giver = nameOf(other);
  const copied = `the store ${cluster.appId} was copied from the node ${giver}`;
  expect(away.log().slice(logged)).toContain(copied);

  await away.kill();
  await trimmed(cluster);
  await away.startUntilReady();
  await eventually(async () => expect(await missingOn(cluster, away, load)).toEqual([]));

  await load.stop();
  expect(load.acknowledged.length).toBeGreaterThan(100);
  for (const node of cluster.nodes) {
    await eventually(async () => expect(await missingOn(cluster, node, load)).toEqual([]));
    await eventually(() => expect(copiesOf(node)).toEqual([]));
  }
  // The node can be the last one.
  await evaluator.kill();
  await eventually(async () => {
    await cluster.execute(away, "INSERT INTO tasks DOCUMENTS ({ '_id': 'b' })");
  });
  expect(await missingOn(cluster, away, load)).toEqual([]);
});
