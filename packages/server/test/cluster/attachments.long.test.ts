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

/** Sends a part, or asks for the offset without one. */
async function uploadPart(
  cluster: RunningCluster,
  node: ClusterNode,
  content: Buffer,
  part?: { readonly offset: number; readonly end: number },
): Promise<{ status: number; offset: unknown }> {
  const path = `/attachments/${idOf(content)}/upload`;
  const len = content.length;
  const answer = await cluster.request(
    node,
    path,
    part === undefined
      ? {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ len }),
        }
      : {
          method: "PATCH",
          headers: {
            "content-type": "application/octet-stream",
            "upload-offset": String(part.offset),
            "upload-length": String(len),
          },
          body: content.subarray(part.offset, part.end),
        },
  );
  const { offset } = (await answer.json()) as { offset?: number };
  return { status: answer.status, offset };
}

test("[H58] an upload in parts is on one node, starts over on another, and is on two nodes when it is complete", async () => {
  const cluster = await RunningCluster.start();
  await cluster.openApp();
  const { followers } = cluster.inOrder;
  const [first, second] = followers as [ClusterNode, ClusterNode];
  const content = randomBytes(2_000_000);
  const id = idOf(content);
  const half = { offset: 0, end: 1_000_000 };
  expect(await uploadPart(cluster, first, content)).toEqual({ status: 200, offset: 0 });
  const sent = await uploadPart(cluster, first, content, half);
  expect(sent).toEqual({ status: 200, offset: 1_000_000 });
  // Another node does not have this part.
  const rest = { offset: 1_000_000, end: content.length };
  expect(await uploadPart(cluster, second, content)).toEqual({ status: 200, offset: 0 });
  expect(await uploadPart(cluster, second, content, rest)).toEqual({ status: 409, offset: 0 });
  const all = { offset: 0, end: content.length };
  const whole = { status: 200, offset: content.length };
  expect(await uploadPart(cluster, second, content, all)).toEqual(whole);
  const holders = cluster.nodes.filter((node) => existsSync(fileOf(cluster, node, id)));
  expect(holders.length).toBeGreaterThanOrEqual(2);
  // The first node need not get the rest: the content is there, and the caller may read it.
  await eventually(async () => {
    expect(await uploadPart(cluster, first, content)).toEqual(whole);
  });
  for (const node of cluster.nodes) expect(await download(cluster, node, id)).toBe(id);
});

test("[H56] an upload in parts that no second node takes stays complete, and is stored when one is back", async () => {
  const cluster = await RunningCluster.start();
  await cluster.openApp();
  const { evaluator, followers } = cluster.inOrder;
  await Promise.all(followers.map((node) => node.kill()));
  const content = randomBytes(1_000_000);
  const all = { offset: 0, end: content.length };
  expect((await uploadPart(cluster, evaluator, content, all)).status).toBe(503);
  await Promise.all(followers.map((node) => node.startUntilReady()));
  // No byte is sent again.
  await eventually(async () => {
    const begun = await uploadPart(cluster, evaluator, content);
    expect(begun).toEqual({ status: 200, offset: content.length });
  });
  expect(await download(cluster, evaluator, idOf(content))).toBe(idOf(content));
});
