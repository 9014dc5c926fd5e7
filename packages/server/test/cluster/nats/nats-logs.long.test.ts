/** The streams of a cluster: created once, with a number that never changes. */

import { expect, test } from "vitest";
import { NatsLogs } from "../../../src/cluster/nats/nats-logs.ts";
import {
  appendUntilKnown,
  connectTo,
  newClusterName,
  openLogs,
  useNatsCluster,
} from "../support/nats-cluster.ts";

const nats = useNatsCluster();
const single = useNatsCluster({ size: 1 });

test("the streams keep three copies in files and forget nothing by themselves", async () => {
  const connection = await connectTo(nats());
  const cluster = newClusterName();
  const logs = await NatsLogs.open(connection, { cluster });
  expect(logs.streams).toBe(16);
  const { config } = await connection.manager.streams.info(`bigpeer-${cluster}-log-15`);
  expect(config).toMatchObject({
    subjects: [`bigpeer.${cluster}.log.15.*`],
    storage: "file",
    retention: "limits",
    discard: "new",
    num_replicas: 3,
    deny_delete: true,
    allow_direct: false,
    max_age: 0,
    max_msgs: -1,
    max_bytes: -1,
    duplicate_window: 120e9,
  });
});

test("the number of streams is that of the node that created the cluster", async () => {
  const connection = await connectTo(nats());
  const cluster = newClusterName();
  await openLogs(connection, { cluster, streams: 3 });
  expect((await openLogs(connection, { cluster, streams: 8 })).streams).toBe(3);
});

test("nodes that create a cluster together with other settings agree on the number", async () => {
  const connections = await Promise.all([4, 2, 3].map(() => connectTo(nats())));
  const cluster = newClusterName();
  const opened = await Promise.all(
    connections.map((connection, index) => openLogs(connection, { cluster, streams: index + 2 })),
  );
  const numbers = opened.map((logs) => logs.streams);
  expect(new Set(numbers).size).toBe(1);
  const [one, other] = opened.map((logs) => logs.log("app"));
  await one?.append(new Uint8Array(1), { after: 0, id: "a" });
  expect(await other?.end()).toBeGreaterThan(0);
});

test("a stream that could forget entries is refused with what to correct", async () => {
  const connection = await connectTo(nats());
  const cluster = newClusterName();
  await openLogs(connection, { cluster });
  const name = `bigpeer-${cluster}-log-0`;
  await connection.manager.streams.update(name, { max_age: 3600e9, num_replicas: 1 });
  await expect(openLogs(connection, { cluster })).rejects.toMatchObject({
    code: "config.invalid",
    message: `expected stream ${name} with at least 3 replicas, found 1; no max_age, found 3600000000000 ns; correct it with \`nats stream edit\``,
  });
});

test("more replicas than servers are refused", async () => {
  const connection = await connectTo(nats());
  await expect(openLogs(connection, { replicas: 5, openMsMax: 1_000 })).rejects.toMatchObject({
    code: "config.invalid",
  });
});

test("a single server is refused at once, unless one copy is enough", async () => {
  const connection = await connectTo(single());
  await expect(openLogs(connection)).rejects.toThrow("three or more servers form one NATS cluster");
  const log = (await openLogs(connection, { replicas: 1 })).log("app");
  expect(await appendUntilKnown(log, new Uint8Array(1), { after: 0, id: "a" })).toEqual({
    kind: "appended",
    sequence: 1,
  });
});

test("a cluster name that is no part of a subject is refused", async () => {
  const connection = await connectTo(single());
  await expect(openLogs(connection, { cluster: "a.b" })).rejects.toThrow(
    "expected a cluster name of 1 to 32 letters, digits, `-` or `_`, found 'a.b'",
  );
});
