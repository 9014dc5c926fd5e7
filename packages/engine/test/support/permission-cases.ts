/**
 * Permission cases: generated collections, rules and statements, and the law that holds for them.
 *
 * A caller with rules on a store with everything must be answered as a caller without rules on a
 * store that holds only what the rules allow. Both stores are made here, each statement runs on both,
 * and what differs is told as text.
 */

import { isDeepStrictEqual } from "node:util";
import {
  isObject,
  PeerError,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import * as fc from "fast-check";
import type {
  RemoveCommand,
  RemoveResult,
  UpdateCommand,
  UpdateResult,
} from "../../src/query/command/command.ts";
import { Authority } from "../../src/query/permission/authority.ts";
import { type CollectionUse, usesOf } from "../../src/query/permission/collection-use.ts";
import type { AccessRule } from "../../src/query/permission/permissions.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { parseStatement } from "../../src/query/syntax/parse-statement.ts";
import { anyDocuments, anyIndexes } from "../query/generated-documents.ts";
import { anyArguments } from "../query/generated-expression.ts";
import { anyMutation, anySelect } from "../query/generated-statement.ts";
import { openStore } from "./open-store.ts";
import { withoutTimes } from "./profile-times.ts";

export interface PermissionCase {
  readonly things: readonly ValueObject[];
  readonly others: readonly ValueObject[];
  readonly indexes: readonly string[];
  readonly args: ValueObject;
  readonly read: AccessRule;
  readonly write: AccessRule;
}

const COLLECTIONS = ["things", "others"] as const;

/** Some fail for some documents, some allow all, some none. */
const QUERIES = [
  "true",
  "false",
  "b > 0",
  "b <= 2",
  "f == true",
  "f != true",
  "a == 1",
  "a == null",
  "s LIKE 'a%'",
  "contains(g, 'a')",
  "o.p == 1 || o.q.r > 0",
  "b + 1 > 2",
  "upper(s) == 'A'",
  "n / b > 0.5",
  "_id IN ('d0', 'd2', 'd4', 'd6')",
  "_id != 'd1'",
  "link != null && !(link == 'd1')",
  "ANY x IN t SATISFIES x > 1 END",
  "s",
  "null",
];

const queries = fc.array(fc.constantFrom(...QUERIES), { minLength: 1, maxLength: 2 });

function anyRule(): fc.Arbitrary<AccessRule> {
  const rules = fc.record({ things: queries, others: queries }, { requiredKeys: ["things"] });
  const narrow = fc.oneof(
    { weight: 12, arbitrary: rules },
    { weight: 1, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.constant({ things: [], others: ["true"] }) },
  );
  return fc.oneof(
    {
      weight: 9,
      arbitrary: narrow.map((queriesByCollection): AccessRule => {
        return { everything: false, queriesByCollection };
      }),
    },
    { weight: 1, arbitrary: fc.constant<AccessRule>({ everything: true }) },
  );
}

export function anyPermissionCase(): fc.Arbitrary<PermissionCase> {
  return fc.record({
    things: anyDocuments(12),
    others: anyDocuments(6),
    indexes: anyIndexes(),
    args: anyArguments(),
    read: anyRule(),
    write: anyRule(),
  });
}

const ABOUT_SYSTEM = [
  "SELECT * FROM system:collections",
  "SELECT * FROM system:all_collections",
  "SELECT * FROM system:indexes",
  "SELECT `key`, `value` FROM system:system_info WHERE `key` LIKE 'collection_num_docs%'",
  "SELECT c.name AS c1, t._id AS c2 FROM things t JOIN system:collections c ON true",
];

/** Statements that read. */
export function anyReading(): fc.Arbitrary<string> {
  const prefix = fc.constantFrom("", "", "", "", "EXPLAIN ", "PROFILE ", "ADVISE ");
  const select = fc.tuple(prefix, anySelect()).map((parts) => parts.join(""));
  return fc.oneof(
    { weight: 12, arbitrary: select },
    { weight: 1, arbitrary: fc.constantFrom(...ABOUT_SYSTEM) },
  );
}

/** A statement that writes to `things`; an INSERT brings one document. */
export interface Writing {
  readonly statement: string;
  /** The id of the document that an INSERT brings. */
  readonly insertedId?: string;
  /** The id in `others` of the document that it is made from. */
  readonly sourceId?: string;
}

const POLICIES = [
  "",
  "ON ID CONFLICT DO NOTHING",
  "ON ID CONFLICT DO UPDATE",
  "ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
  "ON ID CONFLICT DO MERGE",
];

const ids = fc.constantFrom("d0", "d1", "d2", "d3", "d5", "d8", "new");

function anyInsert(): fc.Arbitrary<Writing> {
  const fields = fc.record(
    {
      a: fc.constantFrom<Value>(1, 2, null),
      b: fc.constantFrom(0, 1, 2, 3),
      f: fc.boolean(),
      s: fc.constantFrom("a", "ab", "b"),
    },
    { requiredKeys: [] },
  );
  const head = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...POLICIES).map((policy) => ["", policy] as const) },
    { weight: 1, arbitrary: fc.constant(["INITIAL ", ""] as const) },
  );
  const back = fc.constantFrom("", "", "RETURNING _id, a, b");
  const brought = fc.tuple(ids, fields, head, back).map(([id, given, [initial, policy], end]) => {
    const document = stringifyJson({ _id: id, ...given });
    const statement = `INSERT INTO things ${initial}DOCUMENTS (${document}) ${policy} ${end}`;
    return { statement, insertedId: id };
  });
  const selected = fc.tuple(ids, ids).map(([from, to]) => {
    const select = `SELECT '${to}' AS _id, a, b, f, s FROM others WHERE _id = '${from}'`;
    const statement = `INSERT INTO things ${select} ON ID CONFLICT DO UPDATE`;
    return { statement, insertedId: to, sourceId: from };
  });
  return fc.oneof({ weight: 4, arbitrary: brought }, { weight: 1, arbitrary: selected });
}

export function anyWriting(): fc.Arbitrary<Writing> {
  const back = fc.constantFrom("", "", "RETURNING _id, a, b");
  const mutation = fc.tuple(anyMutation(), back).map(([text, end]) => `${text} ${end}`);
  return fc.oneof(
    { weight: 2, arbitrary: mutation.map((statement) => ({ statement })) },
    { weight: 1, arbitrary: anyInsert() },
  );
}

/** A command on documents of `things`. */
export type Command = UpdateCommand | RemoveCommand;

export function anyCommand(): fc.Arbitrary<Command> {
  const set = fc.record({
    method: fc.constant("set" as const),
    path: fc.constantFrom("a", "b", "s", "f", "link", "o", "o.p"),
    value: fc.constantFrom<Value>(0, 1, 2, 3, "a", "ab", true, false, null, "d1"),
  });
  const count = fc.record({
    method: fc.constantFrom("increment" as const, "replaceWithCounter" as const),
    path: fc.constantFrom("b", "n", "hits"),
    value: fc.constantFrom(-1, 1, 2),
  });
  const query = fc.constantFrom(...QUERIES);
  const update = fc.record({
    method: fc.constant("update" as const),
    collection: fc.constant("things"),
    query,
    commands: fc.array(fc.oneof(set, count), { minLength: 1, maxLength: 3 }),
  });
  const remove = fc.record({
    method: fc.constant("remove" as const),
    collection: fc.constant("things"),
    query,
  });
  return fc.oneof({ weight: 3, arbitrary: update }, { weight: 1, arbitrary: remove });
}

/** The store with everything and the one with what may be read. */
export interface Worlds {
  readonly given: PermissionCase;
  readonly authority: Authority;
  readonly whole: StatementRunner;
  readonly readable: StatementRunner;
}

export async function openWorlds(given: PermissionCase): Promise<Worlds> {
  const permissions = { read: given.read, write: given.write, remoteQuery: false };
  const whole = await fill(given, given.indexes);
  const kept = { things: [] as ValueObject[], others: [] as ValueObject[] };
  for (const collection of COLLECTIONS) {
    const allowed = await allowedIds(whole, collection, given.read);
    kept[collection] = given[collection].filter(({ _id }) => allowed.has(_id as string));
  }
  const readable = await fill(kept, given.indexes);
  return { given, authority: new Authority(permissions, "caller"), whole, readable };
}

type Collections = Pick<PermissionCase, "things" | "others">;

async function fill(
  collections: Collections,
  indexes: readonly string[],
): Promise<StatementRunner> {
  const { store, platform } = await openStore();
  const runner = new StatementRunner({ store, platform, appId: "permissions" });
  for (const collection of COLLECTIONS) {
    const documents = collections[collection];
    // An index makes a collection known; one without a readable document must not be.
    if (documents.length === 0) continue;
    const statement = `INSERT INTO ${collection} DOCUMENTS (:documents)`;
    await runner.execute({ statement, args: { documents: [...documents] } });
    for (const [i, keys] of indexes.entries()) {
      await runner.execute({ statement: `CREATE INDEX i${i} ON ${collection} (${keys})` });
    }
  }
  return runner;
}

/** The ids of the documents for which a query of the rule is true, found one query at a time. */
async function allowedIds(
  runner: StatementRunner,
  collection: string,
  rule: AccessRule,
): Promise<Set<string>> {
  const texts = rule.everything ? ["true"] : (rule.queriesByCollection[collection] ?? []);
  const found = new Set<string>();
  for (const query of texts) {
    const { documents } = await runner.find({ collection, query });
    for (const { id } of documents) found.add(id as string);
  }
  return found;
}

interface Outcome {
  readonly error?: string;
  readonly items?: readonly Value[];
  readonly ids?: readonly Value[];
  readonly warnings?: unknown;
}

export const DENIED = "permission.denied";

async function outcomeOf(
  runner: StatementRunner,
  statement: string,
  { args }: PermissionCase,
  authority?: Authority,
): Promise<Outcome> {
  try {
    const done = await runner.execute({ statement, args, ...(authority && { authority }) });
    const warnings = [done.totalWarningsCount, done.warnings];
    return { items: done.items.map(untimed), ids: done.mutatedDocumentIds, warnings };
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return { error: error.code === DENIED ? DENIED : `${error.code}: ${error.message}` };
  }
}

/** The same with the warnings of another way to the documents. */
function warnedAs(outcome: Outcome, { warnings }: Outcome): Outcome {
  return outcome.error === undefined && warnings !== undefined ? { ...outcome, warnings } : outcome;
}

/** The row about a run says how long it took. */
function untimed(row: Value): Value {
  if (!isObject(row) || !isObject(row["~request_profile"])) return row;
  return { "~request_profile": withoutTimes(row["~request_profile"]) };
}

function needsRule(statement: string, authority: Authority): boolean {
  return isRefused(() => authority.require(usesOf(parseStatement(statement).statement)));
}

function isRefused(work: () => void): boolean {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}

function difference(expected: unknown, found: unknown): string | undefined {
  if (isDeepStrictEqual(expected, found)) return undefined;
  return `expected ${JSON.stringify(expected)}\nfound    ${JSON.stringify(found)}`;
}

/** A filter of the data API, or an id. */
export type Finding = { readonly query: string; readonly limit?: number } | { readonly id: string };

export function anyFinding(): fc.Arbitrary<Finding> {
  const query = fc.constantFrom(...QUERIES);
  const limit = fc.constantFrom(1, 2, 3);
  const filter = fc.record({ query, limit }, { requiredKeys: ["query"] });
  return fc.oneof(filter, fc.record({ id: ids }));
}

/** What differs for `find`, `count` and `findById`. */
export async function findingDifference(
  { authority, whole, readable }: Worlds,
  finding: Finding,
): Promise<string | undefined> {
  const collection = "things";
  const isDenied = !authority.hasReadRule(collection);
  const find = async (runner: StatementRunner, by?: Authority): Promise<unknown> => {
    const request = { collection, isUnknownRefused: by?.isReadingAll === false, authority: by };
    try {
      if ("id" in finding) return runner.findById({ ...request, id: finding.id }).document;
      const { documents } = await runner.find({ ...request, ...finding });
      const { count } = await runner.count({ ...request, query: finding.query });
      return { documents, count };
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      return error.code;
    }
  };
  return difference(isDenied ? DENIED : await find(readable), await find(whole, authority));
}

/** What differs for a statement that reads. */
export async function readingDifference(
  { given, authority, whole, readable }: Worlds,
  statement: string,
): Promise<string | undefined> {
  const found = await outcomeOf(whole, statement, given, authority);
  if (needsRule(statement, authority)) return difference({ error: DENIED }, found);
  // The way to the documents, and with it the warnings, may depend on the rules (P21), but never on
  // what they hide.
  const ruled = await outcomeOf(readable, statement, given, authority);
  if (/^(EXPLAIN|PROFILE|ADVISE) /.test(statement)) return difference(ruled, found);
  const plain = await outcomeOf(readable, statement, given);
  return difference(warnedAs(plain, ruled), found);
}

type Documents = Map<string, Value>;

async function documentsOf(runner: StatementRunner): Promise<Documents> {
  const { items } = await runner.execute({ statement: "SELECT * FROM things" });
  return new Map(items.map((item) => [(item as { readonly _id: string })["_id"], item]));
}

interface Counts {
  done: number;
  error: number;
  denied: number;
}

async function countsOf(
  runner: StatementRunner,
  command: Command,
  authority?: Authority,
): Promise<Counts | string> {
  try {
    const { results } = await runner.write({ commands: [command], authority });
    const [result] = results as readonly (UpdateResult | RemoveResult)[];
    if (result === undefined) return "expected a result";
    const { permissionDenied: denied } = result;
    return result.method === "update"
      ? { done: result.updated, error: result.error, denied }
      : { done: result.deleted, error: 0, denied };
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return error.code;
  }
}

/** What differs for a command, in its counts or in what it leaves. */
export async function commandDifference(
  given: PermissionCase,
  command: Command,
): Promise<string | undefined> {
  const worlds = await openWorlds(given);
  const { authority, whole } = worlds;
  const left = await documentsOf(whole);
  const found = await countsOf(whole, command, authority);
  const needed: CollectionUse[] = [
    { kind: "read", collection: "things" },
    { kind: "write", collection: "things" },
  ];
  const isRuled = !isRefused(() => authority.require(needed));
  const expected = isRuled ? await expectedCounts(worlds, command, left) : DENIED;
  const answer = difference(expected, found);
  if (answer !== undefined) return answer;
  return difference([...left].sort(byId), [...(await documentsOf(whole))].sort(byId));
}

/** Runs the command on each document alone, and changes `left` where it is allowed. */
async function expectedCounts(
  { given, readable }: Worlds,
  command: Command,
  left: Documents,
): Promise<Counts> {
  const counts = { done: 0, error: 0, denied: 0 };
  const { documents } = await readable.find(command);
  const writableBefore = await allowedIds(readable, "things", given.write);
  for (const { id } of documents as readonly { readonly id: string }[]) {
    const isAllowed = writableBefore.has(id);
    const ran = isAllowed ? await countsOf(readable, { ...command, query: `_id == '${id}'` }) : "";
    if (typeof ran === "string") {
      counts.denied++;
      continue;
    }
    counts.error += ran.error;
    if (ran.error > 0) continue;
    const after = (await documentsOf(readable)).get(id);
    const writableAfter = await allowedIds(readable, "things", given.write);
    if (after !== undefined && !writableAfter.has(id)) {
      counts.denied++;
      continue;
    }
    counts.done += ran.done;
    if (after === undefined) left.delete(id);
    else left.set(id, after);
  }
  return counts;
}

/** What differs for a statement that writes, in its answer or in what it leaves. */
export async function writingDifference(
  given: PermissionCase,
  writing: Writing,
): Promise<string | undefined> {
  const worlds = await openWorlds(given);
  const { authority, whole, readable } = worlds;
  const before = await documentsOf(whole);
  const readableBefore = await documentsOf(readable);
  const expected = await expectedOf(worlds, writing, before, readableBefore);
  const found = await outcomeOf(whole, writing.statement, given, authority);
  const answer = difference(expected, found);
  if (answer !== undefined) return answer;
  const left = await documentsOf(whole);
  if (expected.error !== undefined) return difference(before, left);
  const hidden = [...before].filter(([id]) => !readableBefore.has(id));
  const all = [...hidden, ...(await documentsOf(readable))];
  return difference(new Map(all.sort(byId)), new Map([...left].sort(byId)));
}

function byId([a]: readonly [string, Value], [b]: readonly [string, Value]): number {
  return a < b ? -1 : Number(a > b);
}

async function expectedOf(
  worlds: Worlds,
  { statement, insertedId: named, sourceId }: Writing,
  before: Documents,
  readableBefore: Documents,
): Promise<Outcome> {
  const { given, authority, readable } = worlds;
  if (needsRule(statement, authority)) return { error: DENIED };
  const isBrought =
    sourceId === undefined ||
    readable.findById({ collection: "others", id: sourceId }).document !== undefined;
  const insertedId = isBrought ? named : undefined;
  const writableBefore = await allowedIds(readable, "things", given.write);
  const isBlocked = (id: string): boolean => readableBefore.has(id) && !writableBefore.has(id);
  const isHidden =
    insertedId !== undefined && before.has(insertedId) && !readableBefore.has(insertedId);
  if (isHidden || (insertedId !== undefined && isBlocked(insertedId))) return { error: DENIED };
  const again = await openWorlds(given);
  const ruled = await outcomeOf(again.readable, statement, given, authority);
  const outcome = warnedAs(await outcomeOf(readable, statement, given), ruled);
  if (outcome.error !== undefined) return outcome;
  const writableAfter = await allowedIds(readable, "things", given.write);
  const after = await documentsOf(readable);
  const isLeftBad = (id: string): boolean => after.has(id) && !writableAfter.has(id);
  const written = (outcome.ids ?? []) as readonly string[];
  if (written.some((id) => isBlocked(id) || isLeftBad(id))) return { error: DENIED };
  return { ...outcome, items: await shownRows(worlds, statement, outcome.items ?? []) };
}

/** Rows of RETURNING: of a document that is there afterwards, only while it may be read. */
async function shownRows(
  { given, readable }: Worlds,
  statement: string,
  items: readonly Value[],
): Promise<readonly Value[]> {
  if (/^(DELETE|EVICT)/.test(statement)) return items;
  const allowed = await allowedIds(readable, "things", given.read);
  return items.filter((item) => allowed.has((item as { readonly _id: string })["_id"]));
}
