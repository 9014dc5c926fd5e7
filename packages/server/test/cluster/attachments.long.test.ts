/**
 * Attachments in a cluster: on two nodes before they are acknowledged, and everywhere soon after.
 */

import { createHash, randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { eventually, RunningCluster } from "./support/running-cluster.ts";

async function upload(
  cluster: RunningCluster,
  node: ClusterNode,
  content: Buffer,
): Promise<{ status: number; body: unknown }> {
  const form = new FormData();
  form.append("file", new Blob([content]), "photo.jpg");
  const answer = await cluster.request(node, "/attachments/upload", { method: "POST", body: form });
  return { status: answer.status, body: await answer.json() };
}

/** The id of the content that comes back, or the status. */
async function download(
  cluster: RunningCluster,
  node: ClusterNode,
  id: string,
): Promise<string | number> {
  const answer = await cluster.request(node, `/attachments/${id}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  return answer.status === 200 ? idOf(bytes) : answer.status;
}

function fileOf(cluster: RunningCluster, { dataDir }: ClusterNode, id: string): string {
  return join(dataDir, "apps", cluster.appId, "attachments", id.slice(0, 2), id);
}

function idOf(content: Buffer): string {
  return createHash("sha256").update(content).digest("base64url");
}

test("an upload to a node that follows outlives this node, and every node serves it", async () => {
  const cluster = await RunningCluster.start();
  await cluster.openApp();
  const { evaluator, followers } = cluster.inOrder;
  const [receiver, other] = followers as [ClusterNode, ClusterNode];
  const content = randomBytes(3_000_000);
  const id = idOf(content);
  const expected = { status: 200, body: { id, len: content.length } };
  expect(await upload(cluster, receiver, content)).toEqual(expected);
  // The same answer as that of the evaluating node.
  expect(await upload(cluster, evaluator, content)).toEqual(expected);
  const holders = cluster.nodes.filter((node) => existsSync(fileOf(cluster, node, id)));
  expect(holders.length).toBeGreaterThanOrEqual(2);
  // The node that received it has it at once.
  expect(await download(cluster, receiver, id)).toBe(id);

  await receiver.kill();
  for (const node of [other, evaluator]) {
    await eventually(async () => expect(await download(cluster, node, id)).toBe(id));
    expect(existsSync(fileOf(cluster, node, id))).toBe(true);
  }

  // With the node that is left alone, an upload cannot be on two nodes.
  await other.kill();
  const refused = await upload(cluster, evaluator, randomBytes(1000));
  expect(refused.status).toBe(503);
  await Promise.all([receiver.startUntilReady(), other.startUntilReady()]);
  await eventually(async () => {
    expect((await upload(cluster, other, Buffer.from("later"))).status).toBe(200);
  });

  // A lost file is fetched again.
  rmSync(fileOf(cluster, evaluator, id));
  await eventually(async () => expect(await download(cluster, evaluator, id)).toBe(id));
});
