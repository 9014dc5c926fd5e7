/**
 * Change paths: the change feed in the OpenAPI document.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { CHANGES_PATH, CHANGES_TICKET_PATH } from "../data-api/change-streams.ts";
import { CHANGES_WAIT_S_MAX } from "../limits/limits.ts";
import { schemaReference } from "./component-schemas.ts";
import { failureResponses, responseOf, valueContent } from "./responses.ts";

const TYPES = ["application/json", "application/cbor"];

const TEXT = { type: "string" } as const;

function parameter(name: string, description: string, schema: Value = TEXT): Value {
  return { name, in: "query", required: false, description, schema };
}

const LINE: ValueObject = {
  type: "object",
  description: "A change. A marker has no `type`.",
  properties: {
    type: { enum: ["insert", "update", "delete", "leave"] },
    collection: TEXT,
    id: {},
    txnId: { type: "integer", format: "int64" },
    at: { type: "string", description: "In ISO 8601." },
    by: { type: ["object", "null"], additionalProperties: TEXT },
    document: { type: "object", additionalProperties: true },
    before: { type: "object", additionalProperties: true },
    initial: { const: true },
    marker: { enum: ["ready", "transaction", "heartbeat", "end"] },
    cursor: TEXT,
  },
};

const CHANGE: ValueObject = {
  type: "insert",
  collection: "orders",
  id: "o1",
  txnId: 42,
  at: "2026-11-18T09:00:00.000Z",
  by: { credential: "shop" },
  document: { _id: "o1", status: "open" },
  cursor: "3f0c6a1b2c3d4e5f60718293a4b5c6d7.42.0",
};

const FAILURES = {
  statuses: [400, 401, 408, 429, 500, 503],
  others: { 410: "The log does not have the position. `oldest` is the oldest that it has." },
  content: valueContent({ types: TYPES, schema: schemaReference("RpcError") }),
  example: { message: "expected true or false at initial (value.invalid)" },
};

const CHANGES: ValueObject = {
  operationId: "changes",
  tags: ["store"],
  summary: "Follow what changes",
  description:
    "A stream of changes in the order of transactions: Server-Sent Events, or lines of JSON if " +
    "`Accept` prefers `application/x-ndjson`. `Last-Event-ID` wins over `since`.",
  parameters: [
    parameter("collection", "Only this collection; by default all that the caller may read."),
    parameter("query", "Only documents that this filter chooses."),
    parameter("args", "A JSON object with the values of the parameters in `query`."),
    parameter("since", "Continue after this cursor; `0` for the oldest change."),
    parameter("initial", "Begin with the current rows.", { type: "boolean", default: false }),
    parameter("view", "`fields`: only the changed fields of an update.", {
      enum: ["document", "fields"],
      default: "document",
    }),
    parameter("wait", "Seconds: the answer ends with the first changes, or after this time.", {
      type: "number",
      minimum: 0,
      maximum: CHANGES_WAIT_S_MAX,
    }),
    parameter("ticket", "Stands for the credential."),
  ],
  responses: {
    200: responseOf("The changes.", {
      "text/event-stream": { schema: TEXT },
      "application/x-ndjson": {
        schema: LINE,
        examples: { example: { summary: "A change", value: CHANGE } },
      },
    }),
    ...failureResponses(FAILURES),
  },
};

const TICKET: ValueObject = {
  operationId: "changes_ticket",
  tags: ["store"],
  summary: "Get a ticket for a stream of changes",
  description:
    "For pages whose EventSource cannot send a header. It is valid for 60 seconds and one stream.",
  responses: {
    200: responseOf(
      "The ticket.",
      valueContent({
        types: TYPES,
        schema: { type: "object", required: ["ticket"], properties: { ticket: TEXT } },
        examples: { example: { summary: "A ticket", value: { ticket: "k3jC…" } } },
      }),
    ),
    ...failureResponses({ ...FAILURES, others: {} }),
  },
};

export const CHANGE_PATHS: ValueObject = {
  [CHANGES_PATH]: { get: CHANGES },
  [CHANGES_TICKET_PATH]: { post: TICKET },
};
