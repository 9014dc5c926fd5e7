/**
 * Three nats-servers for the tests of a file, and connections to them that end with the test.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { AppendOutcome, AppendTarget, SharedLog } from "@bigpeer/engine/cluster";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import {
  type NatsCluster,
  type NatsClusterOptions,
  startNatsCluster,
} from "../../../../../scripts/nats-cluster.mjs";
import { NatsLogs, type NatsLogsOptions } from "../../../src/cluster/nats/nats-logs.ts";
import {
  connectNats,
  type NatsConnection,
  type NatsOptions,
} from "../../../src/nats/nats-connection.ts";

const RETRY_MS = 50;

/** Starts servers that run during all tests of the file. Call it once, and the result in tests. */
export function useNatsCluster(
  options: Omit<NatsClusterOptions, "folder"> = {},
): () => NatsCluster {
  let started: { readonly cluster: NatsCluster; readonly folder: string } | undefined;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-nats-"));
    started = { cluster: await startNatsCluster({ ...options, folder }), folder };
  });
  afterAll(async () => {
    if (started === undefined) return;
    await started.cluster.stop();
    rmSync(started.folder, { recursive: true });
  });
  return () => {
    if (started === undefined) throw new Error("the NATS cluster is not started");
    return started.cluster;
  };
}

/** Closed when the test ends. */
export async function connectTo(
  { urls }: Pick<NatsCluster, "urls">,
  options: Partial<NatsOptions> = {},
): Promise<NatsConnection> {
  const connection = await connectNats({ servers: urls, name: "test", ...options });
  onTestFinished(() => connection.close());
  return connection;
}

let clusters = 0;

/** The name of a cluster of Big Peers that no other test of the file uses. */
export function newClusterName(): string {
  clusters++;
  return `test-${clusters}`;
}

/** Logs of their own, by default in one stream. */
export function openLogs(
  connection: NatsConnection,
  options: Partial<NatsLogsOptions> = {},
): Promise<NatsLogs> {
  return NatsLogs.open(connection, { cluster: newClusterName(), streams: 1, ...options });
}

/**
 * Appends as a writer does: an append whose outcome is unknown is repeated with the same id. On a
 * busy machine that can happen to any append, for example because the stream changes its leader.
 */
export async function appendUntilKnown(
  log: SharedLog,
  bytes: Uint8Array,
  target: AppendTarget,
): Promise<AppendOutcome> {
  let outcome = await log.append(bytes, target);
  while (outcome.kind === "unknown") {
    await setTimeout(RETRY_MS);
    outcome = await log.append(bytes, target);
  }
  return outcome;
}
