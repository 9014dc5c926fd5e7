/**
 * Connects to the NATS servers of a cluster, checks them, and opens the streams of its logs.
 */

import type { ClusterConfig } from "../../config/config.ts";
import { connectNats, type NatsConnection } from "../../nats/nats-connection.ts";
import type { Log } from "../../observability/log.ts";
import { checkNats } from "./nats-check.ts";
import { NatsLogs } from "./nats-logs.ts";
import { checkPermissions } from "./nats-permissions.ts";

export interface ConnectedLogs {
  readonly nats: NatsConnection;
  readonly logs: NatsLogs;
}

/** Rejects with PeerError `config.invalid`, which says what to set. */
export async function connectLogs(config: ClusterConfig, log: Log): Promise<ConnectedLogs> {
  const { servers, tlsFiles, monitors: monitorUrls, isDevelopment } = config;
  const nats = await connectNats({
    servers,
    name: "bigpeer",
    credentialsFile: config.credsFile,
    tls: tlsFiles && { ca: tlsFiles.caFile, cert: tlsFiles.certFile, key: tlsFiles.keyFile },
  });
  try {
    const warnings = await checkNats(nats, { monitorUrls, isDevelopment });
    for (const warning of warnings) log("warn", warning);
    const logs = await openLogs(nats, config);
    await checkPermissions(nats, logs, config.name);
    return { nats, logs };
  } catch (error) {
    await nats.close();
    throw error;
  }
}

/** For development, a single NATS server without replicas will do. */
async function openLogs(
  nats: NatsConnection,
  { name: cluster, isDevelopment }: ClusterConfig,
): Promise<NatsLogs> {
  try {
    return await NatsLogs.open(nats, { cluster });
  } catch (error) {
    if (!isDevelopment) throw error;
    return NatsLogs.open(nats, { cluster, replicas: 1 });
  }
}
