/**
 * `bigpeer status`: one look at a server.
 */

import {
  dataClient,
  findAddresses,
  managementClient,
  requireUrl,
} from "../connection/addresses.ts";
import {
  countPeers,
  readCollections,
  readHealth,
  readVersion,
} from "../connection/server-state.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { EXIT } from "../program/failure.ts";
import { BOTH, OUTPUT } from "./shared-options.ts";
import { unreachable } from "./unreachable.ts";

export const STATUS: CommandDefinition = {
  name: "status",
  meaning: "show the health, the version and the contents of a server",
  group: "Look at a server",
  examples: ["status", "status --format json", "status --url https://peer.example.com"],
  groups: [BOTH, OUTPUT],
  run: status,
};

async function status({ options, host, output }: Call): Promise<number> {
  const addresses = findAddresses(options, host);
  const url = requireUrl(addresses);
  const health = await readHealth(url, host.signal).catch((error: unknown) => {
    throw unreachable(url, error);
  });
  const client = dataClient(addresses, host);
  const { transactionId } = await client.execute("SELECT 1 AS one FROM system:dual");
  const collections = await readCollections(client);
  const peers = await countPeers(client);
  const apps = await readApps({ options, host });
  await output.item({
    url,
    status: health.status ?? `HTTP ${health.httpStatus}`,
    version: (await readVersion(url, host.signal)) ?? "unknown",
    transactionId,
    collections,
    ...(peers !== undefined && { peers }),
    ...apps,
    answeredInMs: health.elapsedMs,
  });
  return health.status === "ready" ? EXIT.done : EXIT.failed;
}

/** Of the management API where it is known and answers: it is no part of the health of the data. */
async function readApps(call: Pick<Call, "options" | "host">) {
  const addresses = findAddresses(call.options, call.host);
  if (addresses.managementUrl === undefined) return {};
  try {
    const { management } = managementClient(addresses, call.host);
    const { data: apps } = await management.listApps({ timeoutMs: 10_000, retries: 0 });
    return { managementUrl: addresses.managementUrl.value, apps: apps.map(({ name }) => name) };
  } catch {
    call.host.signal.throwIfAborted();
    return { managementUrl: `${addresses.managementUrl.value} (no answer for this credential)` };
  }
}
