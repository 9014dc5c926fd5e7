/**
 * Management texts of webhooks and sinks.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { type ManagementText, META } from "./management-text.ts";

type Noun = "webhook" | "sink";

const EVENTS: Value = ["insert", "update", "delete", "leave"];

const WEBHOOK: ValueObject = {
  name: "orders",
  collection: "orders",
  query: "status == 'paid'",
  events: EVENTS,
  isPaused: false,
  url: "https://hooks.example.com/orders",
  allowPrivate: false,
};

const NEW_WEBHOOK: Value = {
  name: "orders",
  url: "https://hooks.example.com/orders",
  collection: "orders",
  query: "status == 'paid'",
};

const SINK: ValueObject = {
  name: "orders",
  collection: "orders",
  query: null,
  events: EVENTS,
  isPaused: false,
  servers: ["nats://nats-1:4222"],
  subject: "bigpeer.{app}.{collection}.{type}",
  user: null,
};

const NEW_SINK: Value = {
  name: "orders",
  servers: ["nats://nats-1:4222"],
  collection: "orders",
};

const STATUS: Value = {
  name: "orders",
  state: "retrying",
  reason: null,
  pausedAt: null,
  cursor: "0123456789abcdef0123456789abcdef.17",
  lag: { transactions: 3, seconds: 12.5 },
  attempts: 4,
  nextAttemptAt: "2026-01-31T12:00:08.000Z",
  lastDeliveryAt: "2026-01-31T11:59:40.000Z",
  lastError: {
    message: "expected a status of 200 to 299, found 500",
    status: 500,
    at: "2026-01-31T12:00:00.000Z",
  },
  delivered: { changes: 120, deliveries: 31 },
  failures: 4,
  deadLetters: 0,
};

const LETTER: ValueObject = {
  id: "000000000001",
  at: "2026-01-31T12:00:00.000Z",
  attempts: 5,
  error: "expected a status of 200 to 299, found 400",
  messageId: "msg_47DEQpj8HBSa-_TImW-5JCeuQeR",
  changes: 1,
};

const PAYLOAD: Value = {
  type: "changes",
  timestamp: "2026-01-31T11:59:59.000Z",
  app: "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e",
  data: [
    {
      cursor: "0123456789abcdef0123456789abcdef.17.1",
      type: "insert",
      collection: "orders",
      id: "o1",
      txnId: 17,
      at: "2026-01-31T11:59:59.000Z",
      by: null,
      document: { _id: "o1", status: "paid" },
    },
  ],
};

const RESENT: Value = { delivered: 1, left: 0, error: null };

/** The operations that webhooks and sinks share. */
function deliveryTexts(kind: Noun): readonly ManagementText[] {
  return [...runTexts(kind), ...letterTexts(kind)];
}

function runTexts(kind: Noun): readonly ManagementText[] {
  const tag = `${kind}s`;
  const path = pathOf(kind);
  const [response, example] = kind === "webhook" ? ["Webhook", WEBHOOK] : ["Sink", SINK];
  return [
    {
      operationId: `get_${kind}_status`,
      method: "GET",
      path: `${path}/status`,
      tag,
      summary: `Read how far the deliveries of a ${kind} are`,
      response: "DeliveryStatus",
      example: STATUS,
    },
    {
      operationId: `pause_${kind}`,
      method: "POST",
      path: `${path}/pause`,
      tag,
      summary: `Pause a ${kind}`,
      description: "It keeps its position.",
      response,
      example: { ...example, isPaused: true },
    },
    {
      operationId: `resume_${kind}`,
      method: "POST",
      path: `${path}/resume`,
      tag,
      summary: `Resume a ${kind}`,
      description: "It goes on where it stopped, or at the position that `from` names.",
      request: "Resume",
      requestExample: { from: "now" },
      isBodyOptional: true,
      response,
      example,
    },
  ];
}

function letterTexts(kind: Noun): readonly ManagementText[] {
  const tag = `${kind}s`;
  const path = pathOf(kind);
  return [
    {
      operationId: `list_${kind}_dead_letters`,
      method: "GET",
      path: `${path}/deadLetter`,
      tag,
      summary: `List the dead letters of a ${kind}`,
      response: "DeadLetterList",
      example: { data: [LETTER], meta: META },
      isList: true,
    },
    {
      operationId: `get_${kind}_dead_letter`,
      method: "GET",
      path: `${path}/deadLetter/{letter}`,
      tag,
      summary: "Read a dead letter with its changes",
      response: "WholeDeadLetter",
      example: { ...LETTER, payload: PAYLOAD },
    },
    {
      operationId: `delete_${kind}_dead_letter`,
      method: "DELETE",
      path: `${path}/deadLetter/{letter}`,
      tag,
      summary: "Discard a dead letter",
      response: "Done",
      example: null,
    },
    {
      operationId: `retry_${kind}_dead_letter`,
      method: "POST",
      path: `${path}/deadLetter/{letter}/retry`,
      tag,
      summary: "Send a dead letter again",
      response: "Resent",
      example: RESENT,
    },
    {
      operationId: `retry_${kind}`,
      method: "POST",
      path: `${path}/retry`,
      tag,
      summary: `Send all dead letters of a ${kind} again`,
      response: "Resent",
      example: RESENT,
    },
  ];
}

function pathOf(kind: Noun): string {
  return `/app/{app}/${kind}/{${kind}}`;
}

export const DELIVERY_TEXTS: readonly ManagementText[] = [
  {
    operationId: "list_webhooks",
    method: "GET",
    path: "/app/{app}/webhook",
    tag: "webhooks",
    summary: "List webhooks",
    response: "WebhookList",
    example: { data: [WEBHOOK], meta: META },
    isList: true,
  },
  {
    operationId: "create_webhook",
    method: "POST",
    path: "/app/{app}/webhook",
    tag: "webhooks",
    summary: "Create a webhook",
    description: "It gets the changes from now on. The answer shows its secret once.",
    request: "NewWebhook",
    requestExample: NEW_WEBHOOK,
    response: "CreatedWebhook",
    example: { ...WEBHOOK, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
    conflict: "A webhook of the app has the name, or the app has too many.",
  },
  {
    operationId: "get_webhook",
    method: "GET",
    path: "/app/{app}/webhook/{webhook}",
    tag: "webhooks",
    summary: "Read a webhook",
    response: "Webhook",
    example: WEBHOOK,
  },
  {
    operationId: "update_webhook",
    method: "PATCH",
    path: "/app/{app}/webhook/{webhook}",
    tag: "webhooks",
    summary: "Change a webhook",
    description: "After a change of the secret, the one before signs as well until the next one.",
    request: "WebhookChange",
    requestExample: { url: "https://hooks.example.com/orders" },
    response: "Webhook",
    example: WEBHOOK,
  },
  {
    operationId: "delete_webhook",
    method: "DELETE",
    path: "/app/{app}/webhook/{webhook}",
    tag: "webhooks",
    summary: "Delete a webhook and its dead letters",
    response: "Done",
    example: null,
  },
  ...deliveryTexts("webhook"),
  {
    operationId: "list_sinks",
    method: "GET",
    path: "/app/{app}/sink",
    tag: "sinks",
    summary: "List sinks",
    response: "SinkList",
    example: { data: [SINK], meta: META },
    isList: true,
  },
  {
    operationId: "create_sink",
    method: "POST",
    path: "/app/{app}/sink",
    tag: "sinks",
    summary: "Create a sink",
    description: "It gets the changes from now on.",
    request: "NewSink",
    requestExample: NEW_SINK,
    response: "Sink",
    example: SINK,
    conflict: "A sink of the app has the name, or the app has too many.",
  },
  {
    operationId: "get_sink",
    method: "GET",
    path: "/app/{app}/sink/{sink}",
    tag: "sinks",
    summary: "Read a sink",
    response: "Sink",
    example: SINK,
  },
  {
    operationId: "update_sink",
    method: "PATCH",
    path: "/app/{app}/sink/{sink}",
    tag: "sinks",
    summary: "Change a sink",
    request: "SinkChange",
    requestExample: { subject: "changes.{collection}" },
    response: "Sink",
    example: SINK,
  },
  {
    operationId: "delete_sink",
    method: "DELETE",
    path: "/app/{app}/sink/{sink}",
    tag: "sinks",
    summary: "Delete a sink and its dead letters",
    response: "Done",
    example: null,
  },
  ...deliveryTexts("sink"),
];
