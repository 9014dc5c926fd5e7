/**
 * Sinks on a real nats-server: each change once and in order in a stream, also when nats-server is
 * killed meanwhile.
 */

import { expect, onTestFinished, test, vi } from "vitest";
import {
  type NatsConnection,
  RetentionPolicy,
  StorageType,
} from "../../src/nats/nats-connection.ts";
import { connectTo, useNatsCluster } from "../cluster/support/nats-cluster.ts";
import { LinkedServer } from "../support/linked-server.ts";
import { PATIENCE } from "../support/webhook-receiver.ts";

const nats = useNatsCluster();
const SINKS = "/app/shop/sink";

interface CloudEvent {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly id: unknown; readonly document?: object };
}

async function withStream(name: string): Promise<NatsConnection> {
  const connection = await connectTo(nats());
  await connection.manager.streams.add({
    name,
    subjects: [`${name}.>`],
    num_replicas: 3,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
  });
  return connection;
}

/** All messages of a stream, with their subjects. */
async function messagesOf(
  { manager }: NatsConnection,
  name: string,
): Promise<{ readonly subject: string; readonly event: CloudEvent }[]> {
  const { state } = await manager.streams.info(name);
  const found = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const message = await manager.streams.getMessage(name, { seq });
    if (message === null) continue;
    found.push({ subject: message.subject, event: message.json<CloudEvent>() });
  }
  return found;
}

async function sinkTo(server: LinkedServer, subject: string, body: object = {}): Promise<void> {
  const { urls: servers } = nats();
  await server.manage("POST", SINKS, {
    name: "orders",
    servers,
    collection: "orders",
    subject,
    ...body,
  });
}

test("[M49] a sink publishes changes as CloudEvents", async () => {
  const connection = await withStream("events");
  const server = await LinkedServer.start({ replicationSecret: undefined });
  await sinkTo(server, "events.{collection}.{type}");
  await server.put("orders", { _id: "o1", total: 9_007_199_254_740_993n });
  await server.run("DELETE FROM orders WHERE _id = 'o1'");
  const messages = await vi.waitFor(async () => {
    const found = await messagesOf(connection, "events");
    expect(found).toHaveLength(2);
    return found;
  }, PATIENCE);
  expect(messages.map(({ subject }) => subject)).toEqual([
    "events.orders.insert",
    "events.orders.delete",
  ]);
  expect(messages[0]?.event).toMatchObject({
    specversion: "1.0",
    id: expect.stringMatching(/^[0-9a-f]{32}\.\d+\.\d+$/),
    source: expect.stringMatching(/^\/app\/[0-9a-f-]{36}\/sink\/orders$/),
    type: "bigpeer.document.insert",
    subject: "orders/o1",
    datacontenttype: "application/json",
    data: { type: "insert", collection: "orders", id: "o1" },
  });
});

test("[M49] without a stream the sink waits, and everything is there once and in order", async () => {
  const server = await LinkedServer.start({ replicationSecret: undefined });
  await sinkTo(server, "later.{id}", { name: "orders" });
  await server.put("orders", { _id: 1 }, { _id: 2 });
  await vi.waitFor(async () => {
    const status = await server.manage("GET", `${SINKS}/orders/status`);
    expect(status).toMatchObject({
      state: "retrying",
      lastError: {
        message: expect.stringMatching(/^no stream of JetStream takes the subject later\./),
      },
    });
  }, PATIENCE);
  const connection = await withStream("later");
  await server.put("orders", { _id: 3 });
  const [first] = nats().servers;
  await first?.kill();
  onTestFinished(() => nats().start());
  await server.put("orders", { _id: 4 });
  await server.restart();
  await server.put("orders", { _id: 5 });
  await vi.waitFor(async () => {
    const found = await messagesOf(connection, "later");
    expect(found.map(({ event }) => event.data.id)).toEqual([1, 2, 3, 4, 5]);
  }, PATIENCE);
});
