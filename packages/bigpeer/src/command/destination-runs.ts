/**
 * What the commands of webhooks and sinks do: calls of the management API, whose answers are printed.
 */

import type { DeliveryStatus, Management } from "@bigpeer/client";
import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Call, OptionDefinition } from "../program/definition.ts";
import { EXIT, UsageError } from "../program/failure.ts";
import { confirm } from "../terminal/confirm.ts";
import { readArgument, readObject } from "./json-argument.ts";
import { managedApp } from "./resource.ts";
import { named } from "./unreachable.ts";

export const EVENTS = ["insert", "update", "delete", "leave"] as const;
export const POSITIONS = ["position", "now", "oldest"] as const;

/** The operations of the client that the commands need. */
export interface DestinationCalls {
  list(app: string): Promise<{ readonly data: readonly unknown[] }>;
  get(app: string, name: string): Promise<unknown>;
  create(app: string, content: { readonly name: string }): Promise<unknown>;
  update(app: string, name: string, change: object): Promise<unknown>;
  delete(app: string, name: string): Promise<unknown>;
  status(app: string, name: string): Promise<DeliveryStatus>;
  pause(app: string, name: string): Promise<unknown>;
  resume(app: string, name: string, from: { from?: (typeof POSITIONS)[number] }): Promise<unknown>;
  retry(app: string, name: string): Promise<Resent>;
  listDeadLetters(app: string, name: string): Promise<{ readonly data: readonly unknown[] }>;
  getDeadLetter(app: string, name: string, letter: string): Promise<unknown>;
  deleteDeadLetter(app: string, name: string, letter: string): Promise<unknown>;
  retryDeadLetter(app: string, name: string, letter: string): Promise<Resent>;
}

interface Resent {
  readonly delivered: number;
  readonly left: number;
  readonly error: string | null;
}

export interface DestinationKind {
  /** Name of the command, such as `webhook`. */
  readonly name: string;
  readonly meaning: string;
  readonly examples: readonly string[];
  readonly calls: (management: Management) => DestinationCalls;
  /** What the word after the name is when it is no JSON. */
  readonly address: { readonly meaning: string; readonly example: string };
  readonly addressFields: (address: string) => ValueObject;
  readonly options: readonly OptionDefinition[];
  /** Fields that the options give. */
  readonly optionFields: (call: Call) => Promise<ValueObject>;
  /** A row for people. */
  readonly summary: (item: never) => Value;
  /** Said after one was created. */
  readonly note?: string;
}

interface Target {
  readonly calls: DestinationCalls;
  readonly app: string;
  /** Of the webhook or the sink. */
  readonly name: string;
}

function targetOf(kind: DestinationKind, call: Call): Target {
  const { management, app } = managedApp(call);
  return { calls: kind.calls(management), app, name: call.words[0] ?? "" };
}

function isForPeople({ output: { format } }: Call): boolean {
  return format === "table" || format === "csv";
}

export async function list(kind: DestinationKind, call: Call): Promise<void> {
  const { calls, app } = targetOf(kind, call);
  const { data } = await calls.list(app);
  const rows = isForPeople(call) ? data.map((item) => kind.summary(item as never)) : data;
  await call.output.rows(rows as readonly Value[], { empty: "there is none" });
}

/** Prints the answer of an operation on one. */
export async function onOne(
  kind: DestinationKind,
  call: Call,
  run: (calls: DestinationCalls, app: string, name: string) => Promise<unknown>,
): Promise<void> {
  const { calls, app, name } = targetOf(kind, call);
  await call.output.item(named(await run(calls, app, name)));
}

export async function create(kind: DestinationKind, call: Call): Promise<void> {
  const { calls, app, name } = targetOf(kind, call);
  const content = { ...(await contentOf(kind, call)), name };
  await call.output.item(named(await calls.create(app, content)));
  if (kind.note !== undefined) call.output.note(kind.note);
}

export async function update(kind: DestinationKind, call: Call): Promise<void> {
  const { calls, app, name } = targetOf(kind, call);
  const change = await contentOf(kind, call);
  if (Object.keys(change).length === 0) throw new UsageError("expected what to change");
  await call.output.item(named(await calls.update(app, name, change)));
}

/** The configuration of the command line. An option comes before the same field in JSON. */
async function contentOf(kind: DestinationKind, call: Call): Promise<ValueObject> {
  const { words, options, host } = call;
  const [, given] = words;
  const events = options.text("events");
  return {
    ...(given !== undefined && (await fieldsOf(kind, given, host))),
    ...textFields(call, ["collection", "query"]),
    ...(events !== undefined && { events: events.split(",").map((event) => event.trim()) }),
    ...(await kind.optionFields(call)),
  };
}

async function fieldsOf(
  kind: DestinationKind,
  given: string,
  host: Call["host"],
): Promise<ValueObject> {
  return /^\s*[{@]/.test(given) ? readObject("config", given, host) : kind.addressFields(given);
}

/** Options whose text is the field of the same name. */
export function textFields({ options }: Call, names: readonly string[]): ValueObject {
  const given = names.map((name) => [name, options.text(name)] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as ValueObject;
}

/** Secrets, which `@FILE` keeps off the command line. */
export async function secretFields(call: Call, names: readonly string[]): Promise<ValueObject> {
  const fields: Record<string, Value> = {};
  for (const name of names) {
    const given = call.options.text(name);
    if (given !== undefined) fields[name] = (await readArgument(given, call.host)).trim();
  }
  return fields;
}

export async function remove(kind: DestinationKind, call: Call): Promise<void> {
  const { calls, app, name } = targetOf(kind, call);
  await confirm(call, `Delete the ${kind.name} ${name} of the app ${app}?`);
  await calls.delete(app, name);
  call.output.note(`deleted the ${kind.name} ${name}`);
}

export function fromOf({ options }: Call): { from?: (typeof POSITIONS)[number] } {
  const from = POSITIONS.find((position) => position === options.text("from"));
  return from === undefined ? {} : { from };
}

export async function status(kind: DestinationKind, call: Call): Promise<void> {
  const { calls, app, name } = targetOf(kind, call);
  const { output } = call;
  const isPlain = output.format === "json" || output.format === "ndjson";
  const shown = (found: DeliveryStatus): Value => {
    adviseOn(found, kind, call);
    return isPlain ? found : statusRow(found);
  };
  if (name !== "") {
    await output.item(shown(await calls.status(app, name)));
    return;
  }
  const { data } = await calls.list(app);
  const names = data.map((item) => (item as { readonly name: string }).name);
  const found = await Promise.all(names.map((each) => calls.status(app, each)));
  await output.rows(found.map(shown), { empty: "there is none" });
}

function statusRow(found: DeliveryStatus): Value {
  const { name, state, reason, lag, delivered, deadLetters, nextAttemptAt, lastError } = found;
  return {
    name,
    state,
    reason,
    lagTransactions: lag.transactions,
    lagSeconds: lag.seconds,
    delivered: delivered.changes,
    deadLetters,
    nextAttemptAt,
    lastError: lastError?.message ?? null,
  };
}

/** What ends a pause, by its reason. */
const ADVICE: Readonly<Record<string, string>> = {
  operator: "resume NAME continues",
  gone: "the receiver answered 410: update NAME URL, then resume NAME",
  dead_letters_full: "resend NAME or discard NAME LETTER, then resume NAME",
  history_changed: "read the rows again, then resume NAME --from now",
  log_trimmed: "read the rows again, then resume NAME --from now",
};

function adviseOn({ name, reason }: DeliveryStatus, kind: DestinationKind, call: Call): void {
  const advice = ADVICE[reason ?? ""]?.replaceAll("NAME", name);
  if (advice !== undefined) call.output.note(`${kind.name} ${name} is paused: ${advice}`);
}

export async function showLetters(kind: DestinationKind, call: Call): Promise<void> {
  const { calls, app, name } = targetOf(kind, call);
  const [, letter] = call.words;
  if (letter === undefined) {
    const { data } = await calls.listDeadLetters(app, name);
    await call.output.rows(data as readonly Value[], { empty: "there is none" });
  } else await call.output.item((await calls.getDeadLetter(app, name, letter)) as Value);
}

export async function resend(kind: DestinationKind, call: Call): Promise<number> {
  const { calls, app, name } = targetOf(kind, call);
  const [, letter] = call.words;
  const resent = await (letter === undefined
    ? calls.retry(app, name)
    : calls.retryDeadLetter(app, name, letter));
  await call.output.item({ ...resent });
  return resent.error === null ? EXIT.done : EXIT.failed;
}

export async function discard(kind: DestinationKind, call: Call): Promise<void> {
  const { calls, app, name } = targetOf(kind, call);
  const letter = call.words[1] ?? "";
  await confirm(call, `Delete the dead letter ${letter} of the ${kind.name} ${name}?`);
  await calls.deleteDeadLetter(app, name, letter);
  call.output.note(`deleted the dead letter ${letter}`);
}
