/**
 * Sinks: streams of NATS JetStream to which the server publishes changes of an app.
 */

import type { ValueObject } from "@bigpeer/protocol";
import {
  changedSelection,
  type Destination,
  type DestinationChange,
  missing,
} from "./destination.ts";
import type { DestinationKind } from "./destinations.ts";
import { checkSize, RegistryFault, shown } from "./registry-fault.ts";
import { SINKS_BY_NAME } from "./registry-index.ts";
import { isTexts } from "./webhooks.ts";

export interface Sink extends Destination {
  /** Addresses of servers, such as `nats://nats-1:4222`, without credentials. */
  readonly servers: readonly string[];
  /** Template of the subject, such as `changes.{collection}.{type}`. */
  readonly subject: string;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
}

export interface SinkChange extends DestinationChange {
  readonly servers?: readonly string[] | null;
  readonly subject?: string | null;
  readonly user?: string | null;
  readonly password?: string | null;
  readonly token?: string | null;
}

export const DEFAULT_SUBJECT = "bigpeer.{app}.{collection}.{type}";

/** What a template may have in braces. */
export const SUBJECT_FIELDS = ["app", "collection", "type", "id"] as const;

const SERVERS_MAX = 20;
const TEXT_LENGTH_MAX = 1_024;
const SUBJECT_LENGTH_MAX = 256;

/** Tokens of characters that NATS allows, or of fields in braces. */
const SUBJECT = /^(?:[^\s.*>{}]|\{\w+\})+(?:\.(?:[^\s.*>{}]|\{\w+\})+)*$/;
const SERVER = /^(?:nats|tls):\/\/[^\s/@?#]+$/;

export const SINK_KIND: DestinationKind<Sink, SinkChange> = {
  noun: "sink",
  index: SINKS_BY_NAME,
  notFound: "SinkNotFound",
  notUnique: "SinkNameNotUnique",
  changed: changedSink,
  stored: storedSink,
};

function changedSink(
  before: Sink | undefined,
  change: SinkChange,
): Omit<Sink, keyof Destination> & ReturnType<typeof changedSelection> {
  const servers = change.servers ?? before?.servers ?? [];
  const isDefault = change.subject === null || before === undefined;
  const subject = change.subject ?? (isDefault ? DEFAULT_SUBJECT : before.subject);
  const credentials = {
    user: changedText("user", before, change),
    password: changedText("password", before, change),
    token: changedText("token", before, change),
  };
  checkCredentials(credentials);
  const { user, password, token } = credentials;
  return {
    ...changedSelection(before, change),
    servers: checkedServers(servers),
    subject: checkedSubject(subject),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(token !== undefined && { token }),
  };
}

type SecretName = "user" | "password" | "token";

function changedText(
  name: SecretName,
  before: Sink | undefined,
  change: SinkChange,
): string | undefined {
  const given = change[name];
  const text = given === undefined ? before?.[name] : (given ?? undefined);
  if (text !== undefined && (text === "" || text.length > TEXT_LENGTH_MAX)) {
    // The text may be a secret.
    const expected = `text of 1 to ${TEXT_LENGTH_MAX} characters`;
    throw new RegistryFault("InvalidRequest", `expected ${expected} at ${name}`);
  }
  return text;
}

function checkCredentials({ user, password, token }: { [name in SecretName]: string | undefined }) {
  const isPair = (user === undefined) === (password === undefined);
  if (isPair && (user === undefined || token === undefined)) return;
  const expected = "user and password, or token, or none of them";
  throw new RegistryFault("InvalidRequest", `expected ${expected}`);
}

function checkedServers(servers: readonly string[]): readonly string[] {
  if (servers.length === 0) throw missing("the addresses of NATS servers", "servers");
  checkSize(servers.length, SERVERS_MAX, "addresses at servers");
  for (const [i, server] of servers.entries()) {
    if (server.length <= TEXT_LENGTH_MAX && SERVER.test(server) && URL.canParse(server)) continue;
    const form = "nats://host:port or tls://host:port, without user and password";
    const found = server.includes("@") ? "another form" : shown(server);
    throw new RegistryFault("InvalidRequest", `expected ${form}, found ${found} at servers[${i}]`);
  }
  return [...new Set(servers)];
}

function checkedSubject(subject: string): string {
  const fields = [...subject.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const unknown = fields.find((name) => !(SUBJECT_FIELDS as readonly string[]).includes(name));
  if (subject.length <= SUBJECT_LENGTH_MAX && SUBJECT.test(subject) && unknown === undefined) {
    return subject;
  }
  const form = `a subject of NATS with any of ${SUBJECT_FIELDS.map((name) => `{${name}}`).join(", ")}`;
  throw new RegistryFault("InvalidRequest", `expected ${form}, found ${shown(subject)} at subject`);
}

function storedSink(base: Destination, fields: ValueObject): Sink | undefined {
  const { servers, subject, user, password, token } = fields;
  if (!isTexts(servers) || typeof subject !== "string") return undefined;
  return {
    ...base,
    servers,
    subject,
    ...(typeof user === "string" && { user }),
    ...(typeof password === "string" && { password }),
    ...(typeof token === "string" && { token }),
  };
}
