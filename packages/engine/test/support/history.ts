/**
 * Histories: what several replicas of one document do, as data, and the engine run over it.
 *
 * A history is a list of commands: a replica writes, takes the whole state of another, or takes the
 * delta of one earlier write (again, late, or without what came before it). Each command means
 * something after any others, so a failing history is shrunk by leaving commands out.
 *
 * checkHistories runs a law over many histories and names the seed of the one that breaks it.
 */

import type { Edit, Stamp, Types, Value, ValueObject } from "@bigpeer/protocol";
import { deltaOf, type StateOperation } from "../../src/crdt/edit.ts";
import { merge } from "../../src/crdt/merge.ts";
import { isShown } from "../../src/crdt/show.ts";
import { type DocumentState, EMPTY_STATE, eachStateStamp } from "../../src/crdt/state.ts";
import { Random } from "./random.ts";

/** What a writer wants; what it comes to depends on what the writer sees. */
export type Intent =
  | InsertIntent
  | { readonly kind: "update"; readonly edits: readonly Edit[] }
  | { readonly kind: "delete" };

export interface InsertIntent {
  readonly kind: "insert" | "initial" | "upsert";
  readonly fields: ValueObject;
  readonly types?: Types;
}

export type Command =
  /** The clock of the replica first skips so many ticks. */
  | {
      readonly kind: "write";
      readonly replica: number;
      readonly skip: number;
      readonly intent: Intent;
    }
  | { readonly kind: "sync"; readonly from: number; readonly to: number }
  /** `write` counts the writes so far, round and round. */
  | { readonly kind: "deliver"; readonly write: number; readonly to: number };

export interface HistoryOptions {
  /** The last replica has the site of the first: a store that was copied. */
  readonly hasClone?: boolean;
  /** PN-counters take amounts whose sum depends on the order of addition. */
  readonly isInexact?: boolean;
  /** Counters take amounts near 2^63. */
  readonly isLarge?: boolean;
}

export interface Write {
  readonly index: number;
  readonly stamp: Stamp;
  readonly intent: Intent;
  /** The writes whose deltas its writer held. */
  readonly seen: ReadonlySet<number>;
  readonly view: DocumentState;
  /** Undefined when the write came to nothing. */
  readonly delta: DocumentState | undefined;
}

export interface Replica {
  readonly site: number;
  readonly state: DocumentState;
  readonly seen: ReadonlySet<number>;
}

export interface History {
  readonly commands: readonly Command[];
  readonly replicas: readonly Replica[];
  readonly writes: readonly Write[];
}

const REPLICAS = 3;

export function siteName(site: number): string {
  return site.toString(16).padStart(16, "0");
}

/** The sites of the replicas. */
export function sitesOf(options: HistoryOptions): number[] {
  const sites = Array.from({ length: REPLICAS }, (_, i) => i + 1);
  return options.hasClone === true ? [...sites, 1] : sites;
}

// The generator.

const PATHS: readonly (readonly string[])[] = [
  ["a"],
  ["b"],
  ["m"],
  ["m", "x"],
  ["m", "y"],
  ["m", "x", "z"],
  ["k"],
  ["m", "k"],
  ["__proto__"],
];

/** A bigint beside the text of its digits, 0 beside -0: pairs that a careless comparison takes for one. */
const SCALARS: readonly Value[] = [
  0,
  -0,
  1,
  2,
  0.5,
  "s",
  "",
  null,
  true,
  2n ** 60n,
  "1152921504606846976",
  [1, { a: 2 }],
  [],
];
const OBJECTS: readonly ValueObject[] = [{}, { x: 5 }, { z: { q: 1 } }, { x: { z: 1 }, k: 3 }];
const TOKENS: readonly ValueObject[] = [{ id: "t1" }, { id: "t2", size: 4 }];

/** What one history is about. A few paths and values, so that its writes meet each other. */
interface Theme extends HistoryOptions {
  readonly replicas: number;
  readonly paths: readonly (readonly string[])[];
  readonly scalars: readonly Value[];
  /** Mostly increments, restarts and what ends them. */
  readonly isCounting: boolean;
}

export function generate(seed: number, options: HistoryOptions): Command[] {
  const random = new Random(seed);
  const theme: Theme = {
    ...options,
    replicas: sitesOf(options).length,
    paths: random.shuffle(PATHS).slice(0, 1 + random.below(4)),
    scalars: random.shuffle(SCALARS).slice(0, 3),
    isCounting: random.oneIn(3),
  };
  const commands: Command[] = random.oneIn(3) ? [] : commonStart(random, theme);
  const size = 4 + random.below(24);
  for (let i = 0; i < size; i++) commands.push(commandOf(random, theme));
  return commands;
}

/** A document that every replica sees, so that updates come to something. */
function commonStart(random: Random, theme: Theme): Command[] {
  const intent = insertOf(random, random.oneIn(3) ? "initial" : "insert", theme);
  const commands: Command[] = [{ kind: "write", replica: 0, skip: 0, intent }];
  for (let to = 1; to < theme.replicas; to++) commands.push({ kind: "sync", from: 0, to });
  return commands;
}

function commandOf(random: Random, theme: Theme): Command {
  const { replicas } = theme;
  const choice = random.below(10);
  if (choice < 2) return { kind: "sync", from: random.below(replicas), to: random.below(replicas) };
  if (choice < 3) return { kind: "deliver", write: random.below(100), to: random.below(replicas) };
  return {
    kind: "write",
    replica: random.below(replicas),
    skip: random.pick([0, 0, 0, 0, 1, 7]),
    intent: intentOf(random, theme),
  };
}

function intentOf(random: Random, theme: Theme): Intent {
  const choice = random.below(16);
  if (choice < 2) return insertOf(random, "insert", theme);
  if (choice < 3) return insertOf(random, "initial", theme);
  if (choice < 4) return insertOf(random, "upsert", theme);
  if (choice < 5) return { kind: "delete" };
  const first = editOf(random, random.pick(theme.paths), theme);
  if (!random.oneIn(4)) return { kind: "update", edits: [first] };
  // Two edits of one tick may not touch each other's paths.
  const [name] = first.path;
  const others = PATHS.filter((path) => path[0] !== name);
  return { kind: "update", edits: [first, editOf(random, random.pick(others), theme)] };
}

function insertOf(random: Random, kind: InsertIntent["kind"], theme: Theme): InsertIntent {
  const scalar = random.pick(theme.scalars);
  const amount = integerOf(random, theme);
  const choices: Omit<InsertIntent, "kind">[] = [
    { fields: {} },
    { fields: { a: scalar } },
    { fields: { a: scalar, b: scalar } },
    { fields: { m: { x: 1, y: { z: 2 } } } },
    { fields: { m: {} } },
    { fields: { m: scalar, b: 1 } },
    { fields: { k: amount, a: 1 }, types: { k: "counter" } },
    { fields: { m: { k: 0.5, x: scalar } }, types: { m: { k: "pn_counter" } } },
    { fields: { m: { k: 1 } }, types: { m: "register" } },
    { fields: { b: random.pick(TOKENS) }, types: { b: "attachment" } },
    { fields: JSON.parse('{"__proto__":{"x":1}}') as ValueObject },
  ];
  return { kind, ...random.pick(choices) };
}

function editOf(random: Random, path: readonly string[], theme: Theme): Edit {
  const choice = theme.isCounting ? random.pick([6, 8, 8, 8, 8, 10, 10, 11, 12]) : random.below(13);
  if (choice < 3) return { kind: "set", path, value: random.pick(theme.scalars) };
  if (choice < 5) return { kind: "set", path, value: random.pick(OBJECTS) };
  if (choice < 6) return typedSetOf(random, path, theme);
  if (choice < 8) return { kind: "unset", path };
  if (choice < 10) return { kind: "increment", path, by: integerOf(random, theme) };
  const counter = "pn_counter";
  if (choice < 11) return { kind: "increment", path, by: floatOf(random, theme), counter };
  if (choice < 12) return { kind: "restart", path, value: integerOf(random, theme) };
  return { kind: "restart", path, value: floatOf(random, theme), counter };
}

function typedSetOf(random: Random, path: readonly string[], theme: Theme): Edit {
  return random.pick<Edit>([
    { kind: "set", path, value: random.pick(OBJECTS), types: "register" },
    { kind: "set", path, value: random.pick(TOKENS), types: "attachment" },
    { kind: "set", path, value: integerOf(random, theme), types: "counter" },
    { kind: "set", path, value: { x: 1, k: 2 }, types: { k: "counter" } },
    { kind: "set", path, value: { x: { q: 1 } }, types: { x: "register" } },
    { kind: "set", path, value: {}, types: "map" },
  ]);
}

function integerOf(random: Random, options: HistoryOptions): number | bigint {
  if (options.isLarge !== true) return random.pick([1, -1, 2, 5]);
  return random.pick([1, -1, Number.MAX_SAFE_INTEGER, 2n ** 62n, -(2n ** 62n), 2n ** 63n - 1n]);
}

function floatOf(random: Random, options: HistoryOptions): number {
  return random.pick(options.isInexact === true ? [0.1, 0.2, 0.3, -0.7, 1e16] : [0.5, -1.5, 2, -0]);
}

// The engine run over a history.

interface MutableReplica {
  readonly site: number;
  time: number;
  state: DocumentState;
  readonly seen: Set<number>;
}

export function run(commands: readonly Command[], options: HistoryOptions): History {
  const replicas: MutableReplica[] = sitesOf(options).map((site) => {
    return { site, time: 0, state: EMPTY_STATE, seen: new Set() };
  });
  const writes: Write[] = [];
  for (const command of commands) apply(command, replicas, writes);
  return { commands, replicas, writes };
}

function apply(command: Command, replicas: MutableReplica[], writes: Write[]): void {
  if (command.kind === "write") {
    const writer = replicaAt(replicas, command.replica);
    const write = writeOf(writer, command.skip, command.intent, writes.length);
    writes.push(write);
    if (write.delta !== undefined) take(writer, write.delta, [write.index]);
  } else if (command.kind === "sync") {
    const source = replicaAt(replicas, command.from);
    take(replicaAt(replicas, command.to), source.state, source.seen);
  } else if (writes.length > 0) {
    const write = writes[command.write % writes.length];
    if (write?.delta === undefined) return;
    take(replicaAt(replicas, command.to), write.delta, [write.index]);
  }
}

function replicaAt(replicas: readonly MutableReplica[], index: number): MutableReplica {
  const replica = replicas[index];
  if (replica === undefined) throw new Error(`no replica ${index}`);
  return replica;
}

function writeOf(writer: MutableReplica, skip: number, intent: Intent, index: number): Write {
  writer.time += 1 + skip;
  const stamp = { time: writer.time, site: siteName(writer.site) };
  const view = writer.state;
  const operation = operationOf(view, intent);
  const delta = operation === undefined ? undefined : deltaOf(view, operation, stamp);
  return { index, stamp, intent, seen: new Set(writer.seen), view, delta };
}

function take(replica: MutableReplica, delta: DocumentState, seen: Iterable<number>): void {
  replica.state = merge(replica.state, delta);
  for (const index of seen) replica.seen.add(index);
  eachStateStamp(replica.state, ({ time }) => {
    replica.time = Math.max(replica.time, time);
  });
}

/** The operation that a writer with this view makes of its intent; an insert of what shows is none. */
export function operationOf(view: DocumentState, intent: Intent): StateOperation | undefined {
  const document = { collection: "c", id: 1 };
  if (intent.kind === "update" || intent.kind === "delete") return { ...intent, ...document };
  const { fields, types } = intent;
  const marks = types === undefined ? {} : { types };
  if (intent.kind === "initial") return { kind: "initial", ...document, fields, ...marks };
  if (!isShown(view)) return { kind: "insert", ...document, fields, ...marks };
  if (intent.kind === "insert") return undefined;
  return { kind: "update", ...document, edits: upsertEdits(intent) };
}

/** An upsert of a document that shows sets each given field (D4). */
export function upsertEdits({ fields, types }: InsertIntent): Edit[] {
  return Object.entries(fields).map(([name, value]) => {
    const mark = types !== undefined && Object.hasOwn(types, name) ? types[name] : undefined;
    return { kind: "set", path: [name], value, ...(mark === undefined ? {} : { types: mark }) };
  });
}

// Laws over many histories.

export type Law = (history: History, random: Random) => void;

export interface Check extends HistoryOptions {
  readonly count: number;
  /** The first seed; the others follow it. */
  readonly first?: number;
}

/** Runs a law over `count` histories; returns how many writes they had, so that none is vacuous. */
export function checkHistories(check: Check, law: Law): number {
  const first = check.first ?? 1;
  let writes = 0;
  for (let seed = first; seed < first + check.count; seed++) {
    const commands = generate(seed, check);
    const failure = failureOf(commands, seed, check, law);
    if (failure !== undefined) throw explain(shrink(commands, seed, check, law), seed, check, law);
    writes += commands.length;
  }
  return writes;
}

function failureOf(
  commands: readonly Command[],
  seed: number,
  options: HistoryOptions,
  law: Law,
): unknown {
  try {
    law(run(commands, options), new Random(seed ^ 0x5eed));
    return undefined;
  } catch (error) {
    return error ?? new Error("thrown without an error");
  }
}

/** Leaves out one command after the other while the law stays broken. */
function shrink(
  commands: readonly Command[],
  seed: number,
  options: HistoryOptions,
  law: Law,
): Command[] {
  let smallest = [...commands];
  for (let i = smallest.length - 1; i >= 0; i--) {
    const smaller = smallest.toSpliced(i, 1);
    if (failureOf(smaller, seed, options, law) === undefined) continue;
    smallest = smaller;
    i = smallest.length;
  }
  return smallest;
}

function explain(
  commands: readonly Command[],
  seed: number,
  options: HistoryOptions,
  law: Law,
): Error {
  const cause = failureOf(commands, seed, options, law);
  const lines = commands.map((command) => JSON.stringify(command, asText));
  const message = cause instanceof Error ? cause.message : String(cause);
  return new Error(`seed ${seed}: ${message}\n${lines.join("\n")}`, { cause });
}

function asText(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return Object.is(value, -0) ? "-0" : value;
}
