/**
 * `bigpeer sink`: manages the sinks of an app, which publish changes to NATS JetStream.
 */

import type { Sink } from "@bigpeer/client";
import type { CommandDefinition } from "../program/definition.ts";
import { destinationCommand } from "./destination.ts";
import { type DestinationCalls, secretFields, textFields } from "./destination-runs.ts";

export const SINK: CommandDefinition = destinationCommand({
  name: "sink",
  meaning: "list, create, watch and repair sinks, which publish changes to NATS",
  examples: [
    "sink create orders nats://127.0.0.1:4222 --collection orders",
    "sink status",
    "sink dead-letters orders",
  ],
  calls: ({ sinks }): DestinationCalls => sinks,
  address: { meaning: "addresses of NATS, with commas", example: "nats://127.0.0.1:4222" },
  addressFields: (addresses) => ({ servers: addresses.split(",") }),
  options: [
    {
      name: "subject",
      argument: "TEMPLATE",
      meaning: "with any of {app}, {collection}, {type} and {id}",
    },
    { name: "user", argument: "NAME", meaning: "user of NATS" },
    { name: "password", argument: "TEXT", meaning: "password of the user; @FILE reads a file" },
    { name: "token", argument: "TEXT", meaning: "token of NATS; @FILE reads a file" },
  ],
  optionFields: async (call) => ({
    ...textFields(call, ["subject", "user"]),
    ...(await secretFields(call, ["password", "token"])),
  }),
  summary: ({ name, servers, collection, query, events, subject, isPaused }: Sink) => ({
    name,
    servers: servers.join(", "),
    collection,
    query,
    events: events.join(", "),
    subject,
    isPaused,
  }),
});
