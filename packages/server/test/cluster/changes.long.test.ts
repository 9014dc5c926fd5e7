/**
 * The change feed of a cluster: every node has it, with the same cursors, also one that a reader
 * comes to because its node was killed.
 */

import { expect, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { eventually, RunningCluster } from "./support/running-cluster.ts";

interface Line {
  readonly type?: string;
  readonly id?: number;
  readonly cursor: string;
}

/** The changes after a cursor, as one node has them. Waits for the first one. */
async function changesAfter(
  cluster: RunningCluster,
  node: ClusterNode,
  since: string,
): Promise<Line[]> {
  const query = new URLSearchParams({ collection: "orders", since, wait: "20" });
  const headers = { accept: "application/x-ndjson" };
  const answer = await cluster.request(node, `/store/changes?${query.toString()}`, { headers });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Line).filter(({ type }) => type !== undefined);
}

test("[C4] [C24] a cursor of one node continues on every other one, also after a kill", async () => {
  const cluster = await RunningCluster.startProgram([]);
  await cluster.openApp();
  const { evaluator, followers } = cluster.inOrder;
  for (const id of [1, 2, 3]) {
    await cluster.execute(evaluator, "INSERT INTO orders DOCUMENTS (:d)", { d: { _id: id } });
  }
  const whole = await changesAfter(cluster, evaluator, "0");
  expect(whole.map(({ id }) => id)).toEqual([1, 2, 3]);
  const [first, second] = whole as [Line, Line, Line];
  for (const node of cluster.nodes) {
    await eventually(async () => {
      expect(await changesAfter(cluster, node, first.cursor)).toEqual(whole.slice(1));
    });
  }
  await evaluator.kill();
  const [left] = followers as [ClusterNode];
  const insert = "INSERT INTO orders DOCUMENTS ({ '_id': 4 }) ON ID CONFLICT DO NOTHING";
  await eventually(() => cluster.execute(left, insert));
  for (const node of followers) {
    await eventually(async () => {
      const changes = await changesAfter(cluster, node, second.cursor);
      expect(changes.map(({ id }) => id)).toEqual([3, 4]);
    });
  }
});
