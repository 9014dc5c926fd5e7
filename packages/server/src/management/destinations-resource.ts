/**
 * Destination resources: `…/webhook` and `…/sink` list, create, change and delete the webhooks and
 * sinks of an app; the paths below them pause and resume deliveries, report on them, and send dead
 * letters again. Secrets are accepted and not shown again (M40).
 */

import { PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { DeliveryCommand, DestinationNoun } from "../delivery/delivery-commands.ts";
import { OLDEST } from "../delivery/delivery-journal.ts";
import { CHANGE_TYPES, type Destination } from "../registry/destination.ts";
import { RegistryFault, shown } from "../registry/registry-fault.ts";
import type { Sink } from "../registry/sinks.ts";
import type { Webhook } from "../registry/webhooks.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import {
  checkNewSink,
  checkNewWebhook,
  checkResume,
  checkSinkChange,
  checkWebhookChange,
} from "./schemas.ts";

/** Why deliveries cannot go on where they stopped. */
const LOST_POSITION = new Set<Value>(["history_changed", "log_trimmed"]);

export const DESTINATION_RESOURCES: readonly Resource[] = [
  {
    name: "manage_webhooks",
    path: "/app/{app}/webhook",
    methods: {
      GET: (call) => pageBody(call.registry.webhooks.list(call.appId()), call.query, showWebhook),
      POST: createWebhook,
    },
  },
  {
    name: "manage_webhook",
    path: "/app/{app}/webhook/{webhook}",
    methods: {
      GET: (call) => showWebhook(call.registry.webhooks.get(...nameOf(call, "webhook"))),
      PATCH: changeWebhook,
      DELETE: (call) => remove(call, "webhook"),
    },
  },
  ...deliveryResources("webhook"),
  {
    name: "manage_sinks",
    path: "/app/{app}/sink",
    methods: {
      GET: (call) => pageBody(call.registry.sinks.list(call.appId()), call.query, showSink),
      POST: createSink,
    },
  },
  {
    name: "manage_sink",
    path: "/app/{app}/sink/{sink}",
    methods: {
      GET: (call) => showSink(call.registry.sinks.get(...nameOf(call, "sink"))),
      PATCH: changeSink,
      DELETE: (call) => remove(call, "sink"),
    },
  },
  ...deliveryResources("sink"),
];

/** The paths below a webhook or a sink. */
function deliveryResources(kind: DestinationNoun): readonly Resource[] {
  const path = `/app/{app}/${kind}/{${kind}}`;
  return [
    {
      name: `${kind}_status`,
      path: `${path}/status`,
      methods: { GET: (call) => runCommand(call, kind, "status") },
    },
    {
      name: `pause_${kind}`,
      path: `${path}/pause`,
      methods: { POST: (call) => pause(call, kind) },
    },
    {
      name: `resume_${kind}`,
      path: `${path}/resume`,
      methods: { POST: (call) => resume(call, kind) },
    },
    {
      name: `${kind}_dead_letters`,
      path: `${path}/deadLetter`,
      methods: { GET: (call) => listLetters(call, kind) },
    },
    {
      name: `${kind}_dead_letter`,
      path: `${path}/deadLetter/{letter}`,
      methods: {
        GET: (call) => runCommand(call, kind, "letter", call.parameter("letter")),
        DELETE: async (call) => {
          await runCommand(call, kind, "discard", call.parameter("letter"));
          return null;
        },
      },
    },
    {
      name: `retry_${kind}_dead_letter`,
      path: `${path}/deadLetter/{letter}/retry`,
      methods: { POST: (call) => runCommand(call, kind, "retry", call.parameter("letter")) },
    },
    {
      name: `retry_${kind}`,
      path: `${path}/retry`,
      methods: { POST: (call) => runCommand(call, kind, "retry") },
    },
  ];
}

function showWebhook(webhook: Webhook): ValueObject {
  const { url, isPrivateAllowed: allowPrivate } = webhook;
  return { ...showDestination(webhook), url, allowPrivate };
}

function showSink(sink: Sink): ValueObject {
  const { servers, subject, user = null } = sink;
  return { ...showDestination(sink), servers, subject, user };
}

function showDestination(destination: Destination): ValueObject {
  const { name, collection, query = null, events = CHANGE_TYPES, isPaused } = destination;
  return { name, collection, query, events, isPaused };
}

/** The only answer with the secret. */
async function createWebhook(call: ManagementCall): Promise<Value> {
  const appId = call.appId();
  const given = await call.body(checkNewWebhook);
  const cursor = await call.deliveries.currentCursor(appId);
  const webhook = await call.registry.webhooks.create(appId, given, cursor, call.author);
  return { ...showWebhook(webhook), secret: webhook.secrets[0] ?? "" };
}

async function createSink(call: ManagementCall): Promise<Value> {
  const appId = call.appId();
  const given = await call.body(checkNewSink);
  const cursor = await call.deliveries.currentCursor(appId);
  return showSink(await call.registry.sinks.create(appId, given, cursor, call.author));
}

async function changeWebhook(call: ManagementCall): Promise<Value> {
  const { name: given, isPaused, ...change } = await call.body(checkWebhookChange);
  const [appId, name] = nameOf(call, "webhook");
  call.checkSame(given, name, "name");
  checkSamePause(isPaused, call.registry.webhooks.get(appId, name));
  return showWebhook(await call.registry.webhooks.update(appId, name, change, call.author));
}

async function changeSink(call: ManagementCall): Promise<Value> {
  const { name: given, isPaused, ...change } = await call.body(checkSinkChange);
  const [appId, name] = nameOf(call, "sink");
  call.checkSame(given, name, "name");
  checkSamePause(isPaused, call.registry.sinks.get(appId, name));
  return showSink(await call.registry.sinks.update(appId, name, change, call.author));
}

/** The answer of a GET may be sent back, but it does not pause. */
function checkSamePause(given: boolean | null | undefined, { isPaused }: Destination): void {
  if (given === undefined || given === null || given === isPaused) return;
  const message = `expected ${isPaused}, which only /pause and /resume change, found ${given}`;
  throw new PeerError("value.invalid", message, { at: "isPaused" });
}

async function remove(call: ManagementCall, kind: DestinationNoun): Promise<Value> {
  const { webhooks, sinks } = call.registry;
  await (kind === "webhook" ? webhooks : sinks).remove(...nameOf(call, kind), call.author);
  return null;
}

async function pause(call: ManagementCall, kind: DestinationNoun): Promise<Value> {
  const [appId, name] = nameOf(call, kind);
  const { webhooks, sinks } = call.registry;
  return kind === "webhook"
    ? showWebhook(await webhooks.pause(appId, name, call.author))
    : showSink(await sinks.pause(appId, name, call.author));
}

async function resume(call: ManagementCall, kind: DestinationNoun): Promise<Value> {
  const { from } = await call.optionalBody(checkResume);
  const [appId, name] = nameOf(call, kind);
  const { webhooks, sinks } = call.registry;
  const known = kind === "webhook" ? webhooks.get(appId, name) : sinks.get(appId, name);
  const cursor = await startOf(call, kind, known, from ?? "position");
  return kind === "webhook"
    ? showWebhook(await webhooks.resume(appId, name, cursor, call.author))
    : showSink(await sinks.resume(appId, name, cursor, call.author));
}

/** Undefined for the position where deliveries stopped. */
async function startOf(
  call: ManagementCall,
  kind: DestinationNoun,
  { appId }: Destination,
  from: "position" | "now" | "oldest",
): Promise<string | undefined> {
  if (from === "now") return call.deliveries.currentCursor(appId);
  if (from === "oldest") return OLDEST;
  const { reason } = (await runCommand(call, kind, "status")) as { readonly reason: string | null };
  if (!LOST_POSITION.has(reason)) return undefined;
  const expected = `now or oldest, because the position is lost (${reason ?? ""})`;
  throw new PeerError("value.invalid", `expected ${expected}, found position`, { at: "from" });
}

async function listLetters(call: ManagementCall, kind: DestinationNoun): Promise<Value> {
  const { letters } = (await runCommand(call, kind, "letters")) as {
    readonly letters: readonly Value[];
  };
  return pageBody(letters, call.query, (letter) => letter);
}

/** Runs where the app is evaluated. Throws DeadLetterNotFound. */
async function runCommand(
  call: ManagementCall,
  kind: DestinationNoun,
  command: DeliveryCommand["command"],
  letter?: string,
): Promise<ValueObject> {
  const [appId, name] = nameOf(call, kind);
  const { webhooks, sinks } = call.registry;
  // Refuses a name that does not exist here, whichever node delivers.
  if (kind === "webhook") webhooks.get(appId, name);
  else sinks.get(appId, name);
  const answer = await call.deliveries.run({ kind, appId, name, command, letter });
  if (answer !== undefined) return answer;
  const detail = `there is no dead letter with the id ${shown(letter ?? "")}`;
  throw new RegistryFault("DeadLetterNotFound", detail);
}

function nameOf(call: ManagementCall, kind: DestinationNoun): [appId: string, name: string] {
  return [call.appId(), call.parameter(kind)];
}
