/**
 * `bigpeer webhook`: manages the webhooks of an app.
 */

import type { Webhook } from "@bigpeer/client";
import type { CommandDefinition } from "../program/definition.ts";
import { destinationCommand } from "./destination.ts";
import { type DestinationCalls, secretFields } from "./destination-runs.ts";

export const WEBHOOK: CommandDefinition = destinationCommand({
  name: "webhook",
  meaning: "list, create, watch and repair webhooks, which get changes",
  examples: [
    "webhook create orders https://example.com/hook --collection orders",
    "webhook status",
    "webhook pause orders",
    "webhook dead-letters orders",
    "webhook resend orders",
  ],
  calls: ({ webhooks }): DestinationCalls => webhooks,
  address: { meaning: "URL that gets the changes", example: "https://example.com/hook" },
  addressFields: (url) => ({ url }),
  options: [
    {
      name: "allow-private",
      meaning: "the URL may lead to an address that is not on the public internet",
    },
    {
      name: "secret",
      argument: "SECRET",
      meaning: "signs deliveries; @FILE reads it from a file; default: the server makes one",
    },
  ],
  optionFields: async (call) => ({
    ...(call.options.has("allow-private") && { allowPrivate: true }),
    ...(await secretFields(call, ["secret"])),
  }),
  summary: ({ name, url, collection, query, events, isPaused }: Webhook) => ({
    name,
    url,
    collection,
    query,
    events: events.join(", "),
    isPaused,
  }),
  note: "the secret is not shown again; the receiver verifies deliveries with it",
});
