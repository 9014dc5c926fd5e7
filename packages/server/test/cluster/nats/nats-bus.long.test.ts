/** Messages between nodes through a real nats-server. */

import type { Value } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { NatsBus } from "../../../src/cluster/nats/nats-bus.ts";
import { connectTo, useNatsCluster } from "../support/nats-cluster.ts";

const nats = useNatsCluster();

test("a message reaches the subscriptions of its topic in all nodes, until they stop", async () => {
  const [one, other] = [await connectTo(nats()), await connectTo(nats())];
  const [sender, receiver] = [new NatsBus(one, "c"), new NatsBus(other, "c")];
  const received: Value[] = [];
  const own: Value[] = [];
  const stop = receiver.subscribe("nodes.alive", (value) => received.push(value));
  receiver.subscribe("other", (value) => received.push(value));
  sender.subscribe("nodes.alive", (value) => own.push(value));
  new NatsBus(other, "another-cluster").subscribe("nodes.alive", (value) => received.push(value));
  await other.flush();
  const message = { node: "a", at: 1, bytes: new Uint8Array([1, 2]) };
  // The subscription spreads among the servers meanwhile.
  await vi.waitFor(() => {
    sender.publish("nodes.alive", message);
    expect(received.length).toBeGreaterThan(0);
  });
  expect(new Set(received.map((value) => JSON.stringify(value))).size).toBe(1);
  expect(received[0]).toEqual(message);
  expect(own[0]).toEqual(message);
  stop();
  await other.flush();
  const count = received.length;
  const marks: Value[] = [];
  receiver.subscribe("mark", (value) => marks.push(value));
  await other.flush();
  await vi.waitFor(() => {
    sender.publish("nodes.alive", message);
    sender.publish("mark", null);
    expect(marks.length).toBeGreaterThan(0);
  });
  expect(received).toHaveLength(count);
});

test("bytes that are no CBOR are ignored", async () => {
  const connection = await connectTo(nats());
  const bus = new NatsBus(connection, "c");
  const received: Value[] = [];
  bus.subscribe("topic", (value) => received.push(value));
  connection.publish("bigpeer.c.bus.topic", new Uint8Array([0xff]));
  bus.publish("topic", "after");
  await vi.waitFor(() => expect(received).toEqual(["after"]));
});

test("publish on a closed connection does nothing", async () => {
  const connection = await connectTo(nats());
  await connection.close();
  expect(() => new NatsBus(connection, "c").publish("topic", 1)).not.toThrow();
});
