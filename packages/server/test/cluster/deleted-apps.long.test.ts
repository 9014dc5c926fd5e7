/**
 * A deleted app on the nodes of a cluster: every node removes its data, also one that was away.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { eventually, manage, RunningCluster } from "./support/running-cluster.ts";

function hasData({ dataDir }: ClusterNode, appId: string): boolean {
  return existsSync(join(dataDir, "apps", appId));
}

test("the data of a deleted app is removed on all nodes, with its log", async () => {
  const cluster = await RunningCluster.start(["--cluster-away", "5", "--app-grace", "0"]);
  const [one, two, three] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode];
  const { appId = "" } = (await manage(one, "POST", "/app", { name: "short" })) as {
    appId?: string;
  };
  // A closed app comes to all nodes by itself.
  for (const node of cluster.nodes) await eventually(() => expect(hasData(node, appId)).toBe(true));
  await manage(two, "DELETE", "/app/short");
  await three.kill();
  for (const node of [one, two]) {
    await eventually(() => expect(hasData(node, appId)).toBe(false));
  }
  const log = await cluster.log(appId);
  await eventually(async () => expect(await log.end()).toBe(0));
  await three.startUntilReady();
  await eventually(() => expect(hasData(three, appId)).toBe(false));
  expect(hasData(three, cluster.appId)).toBe(true);
});
