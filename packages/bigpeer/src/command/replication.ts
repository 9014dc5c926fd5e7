/**
 * `bigpeer replication`: manages the links of an app with other Big Peers.
 */

import type { Replication } from "@bigpeer/client";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { managedApp, resourceCommand } from "./resource.ts";
import { APP, MANAGEMENT, OUTPUT, own } from "./shared-options.ts";

const STATUS: CommandDefinition = {
  name: "status",
  meaning: "show the links of a replication and how far they lag",
  examples: ["replication status west"],
  words: [{ name: "name", meaning: "name of the replication" }],
  groups: [own(APP), MANAGEMENT, OUTPUT],
  run: status,
};

export const REPLICATION: CommandDefinition = resourceCommand({
  name: "replication",
  meaning: "list, create and delete replications with other Big Peers",
  example: {
    name: "west",
    config: '{"connections": ["west.example.com:4040"], "queriesByCollection": {"cars": ["true"]}}',
  },
  list: async (management, app) => (await management.listReplications(app)).data,
  show: (management, app, name) => management.getReplication(app, name),
  create: (management, app, name, config) => management.createReplication(app, { ...config, name }),
  remove: (management, app, name) => management.deleteReplication(app, name),
  summary: ({ name, connections, queriesByCollection }: Replication) => ({
    name,
    connections: connections.join(", "),
    collections: Object.keys(queriesByCollection).join(", "),
  }),
  more: [STATUS],
});

async function status(call: Call): Promise<void> {
  const { management, app } = managedApp(call);
  const found = await management.getReplicationStatus(app, call.words[0] ?? "");
  const { output } = call;
  if (output.format !== "table" && output.format !== "csv") {
    await output.item(found);
    return;
  }
  const rows = found.links.map(({ direction, address, state, partner, lag, lastError }) => ({
    direction,
    address,
    state,
    partner,
    lagTransactions: lag.transactions,
    lagSeconds: lag.seconds,
    lastError: lastError?.message ?? null,
  }));
  await output.rows(rows, { empty: "there is no link" });
}
