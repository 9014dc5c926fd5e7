/**
 * Webhooks of a cluster: the node that evaluates the app delivers, and another one goes on where it
 * stopped.
 */

import { expect, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { WebhookReceiver } from "../support/webhook-receiver.ts";
import { eventually, manage, RunningCluster } from "./support/running-cluster.ts";

const WEBHOOKS = "/app/default/webhook";

test("[M44] when the node that delivers is killed, another one goes on where it was", async () => {
  const cluster = await RunningCluster.startProgram([]);
  await cluster.openApp();
  const [first] = cluster.nodes as [ClusterNode];
  const receiver = await WebhookReceiver.start();
  const body = { name: "orders", url: receiver.url, collection: "orders", allowPrivate: true };
  const { secret } = (await manage(first, "POST", WEBHOOKS, body)) as { readonly secret: string };
  receiver.secret = secret;
  await cluster.execute(first, "INSERT INTO orders DOCUMENTS ({ '_id': 1 })");
  await receiver.holds([1]);
  for (const node of cluster.nodes) {
    await eventually(async () => {
      const status = await manage(node, "GET", `${WEBHOOKS}/orders/status`);
      expect(status).toMatchObject({ state: "live", delivered: { changes: 1 } });
    });
  }
  receiver.behaviour = () => 503;
  await cluster.execute(first, "INSERT INTO orders DOCUMENTS ({ '_id': 2 })");
  const { evaluator, followers } = cluster.inOrder;
  await evaluator.kill();
  const [follower] = followers as [ClusterNode];
  await eventually(() =>
    cluster.execute(
      follower,
      "INSERT INTO orders DOCUMENTS ({ '_id': 3 }) ON ID CONFLICT DO NOTHING",
    ),
  );
  receiver.behaviour = () => 200;
  await receiver.holds([1, 2, 3]);
});
