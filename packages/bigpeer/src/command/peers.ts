/**
 * `bigpeer peers`: lists connected peers.
 */

import type { SyncPeer } from "@bigpeer/client";
import type { Value } from "@bigpeer/protocol";
import { dataClient, findAddresses } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { DATA, OUTPUT } from "./shared-options.ts";

export const PEERS: CommandDefinition = {
  name: "peers",
  meaning: "list connected peers",
  group: "Look at a server",
  examples: ["peers", "peers --format json"],
  groups: [DATA, OUTPUT],
  run: peers,
};

async function peers({ options, host, output }: Call): Promise<void> {
  const client = dataClient(findAddresses(options, host), host);
  const found: SyncPeer[] = [];
  let after: number | undefined;
  do {
    const page = await client.peers({ after }, { signal: host.signal });
    found.push(...page.peers);
    after = page.next;
  } while (after !== undefined);
  const isForPeople = output.format === "table" || output.format === "csv";
  const rows = isForPeople ? found.map(summary) : (found as unknown as readonly Value[]);
  await output.rows(rows, { empty: "" });
  // A script gets an empty list; a person, a sentence in its place.
  if (found.length === 0 && output.format === "table") await output.write("no peer is connected\n");
}

function summary(peer: SyncPeer): Value {
  const { deviceName, peerKeyString, os, sdkVersion, userId, connectedSince, sync } = peer;
  return {
    device: deviceName,
    peer: peerKeyString.slice(0, 12),
    os,
    version: sdkVersion,
    user: userId ?? null,
    since: new Date(connectedSince).toISOString(),
    subscriptions: peer.subscriptions.length + (peer.otherSubscriptions ?? 0),
    lag: sync.lag,
    roundTripMs: peer.transport.roundTripMs ?? null,
  };
}
