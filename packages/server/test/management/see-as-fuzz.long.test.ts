/**
 * See as, on generated worlds: a statement of the console as another caller is answered as the same
 * statement of that caller, and writes nothing. The callers are keys, and users after a login.
 *
 * By seed: PERMISSION_SEED starts elsewhere, or repeats what a failure has printed. What the callers
 * themselves get is compared with a model by permission-fuzz.long.test.ts of the engine.
 */

import { isDeepStrictEqual } from "node:util";
import { Authority, FULL_PERMISSIONS, StatementRunner } from "@bigpeer/engine/query";
import { encodeCbor, stringifyJson, type Value, type ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import {
  COLLECTIONS,
  type FuzzWorld,
  RequestSource,
  worldOf,
} from "../../../engine/test/support/permission-fuzz.ts";
import { replace } from "../../../engine/test/support/replaced-method.ts";
import { ApiKeys } from "../../src/registry/api-keys.ts";
import { Apps } from "../../src/registry/apps.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import type { AuthProviders } from "../../src/registry/auth-provider.ts";
import { openConsole } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";
import { keyCallers, type SeenApp, type SeenCaller, userCallers } from "../support/seen-callers.ts";

const BASE_SEED = Number(process.env["PERMISSION_SEED"] ?? 1);
const WORLDS = 30;
/** Fewer: each has two users, whom the console names in several ways. */
const USER_WORLDS = 15;
const REQUESTS_PER_WORLD = 30;
const WORLDS_PER_LEAK = 40;

/** What differs from one moment, or from one caller, to the next. */
const OF_THE_MOMENT = /^\s*PROFILE|system:|actives|active_requests|completed_requests|history/i;

const { api, client } = await openConsole();
const { registry, apps } = api.server;

interface Tally {
  answered: number;
  denied: number;
  rows: number;
  writes: number;
}

interface Answered {
  readonly status: number;
  readonly body: Value;
}

type CallersOf = (app: SeenApp, world: FuzzWorld) => Promise<readonly SeenCaller[]>;

/** What differs first in the world of a seed, with all that is needed to see it again. */
async function differenceIn(
  seed: number,
  tally: Tally,
  callersOf: CallersOf,
): Promise<string | undefined> {
  const world = worldOf(seed);
  const name = `w${seed}-${Math.random().toString(36).slice(2, 8)}`;
  const { id } = await registry.apps.create({ name }, SERVER);
  const callers = await callersOf({ server: api.server, id, name }, world);
  const use = await apps.use(id);
  try {
    await fill(use.app.statements, world, callers);
    const source = new RequestSource(seed, REQUESTS_PER_WORLD);
    for (let i = 0; i < REQUESTS_PER_WORLD; i++) {
      const request = source.next();
      if (request.kind !== "statement" || OF_THE_MOMENT.test(request.statement)) continue;
      const { statement, args } = request;
      for (const caller of callers) {
        const txnId = (): number => use.app.store.txnId;
        const found = await differenceFor({ caller, name, txnId, tally }, { statement, args });
        if (found !== undefined) return `seed ${seed}, request ${i}\n${found}`;
      }
    }
    return undefined;
  } finally {
    use.release();
    await registry.apps.remove(name, SERVER);
    await apps.closeApp(id);
  }
}

interface Comparison {
  readonly caller: SeenCaller;
  /** Of the app. */
  readonly name: string;
  readonly txnId: () => number;
  readonly tally: Tally;
}

interface Asked {
  readonly statement: string;
  readonly args: ValueObject;
}

async function differenceFor(
  { caller, name, txnId, tally }: Comparison,
  asked: Asked,
): Promise<string | undefined> {
  const before = txnId();
  const seen: Answered[] = [];
  for (const as of caller.as) seen.push(await runAs(name, { ...asked, as }));
  const isUnchanged = txnId() === before;
  const own = await runOwn(caller.token, asked);
  for (const [i, each] of seen.entries()) {
    const found = isUnchanged ? differenceOf(own, each, tally) : "expected nothing to be written";
    if (found === undefined) continue;
    return [caller.as[i] ?? {}, asked.statement, asked.args].map(textOf).join("\n") + `\n${found}`;
  }
  return undefined;
}

function textOf(value: Value): string {
  return typeof value === "string" ? value : stringifyJson(value);
}

async function fill(
  statements: StatementRunner,
  world: FuzzWorld,
  callers: readonly SeenCaller[],
): Promise<void> {
  const texts = [
    ...world.indexes.map((statement) => ({ statement, args: {} })),
    ...world.documents.flatMap(({ steps }) => steps),
    ...callers.flatMap(({ userId }) => (userId === undefined ? [] : documentsOf(userId))),
  ];
  for (const { statement, args } of texts) {
    // A step that the document cannot take is not taken.
    await statements.execute({ statement, args }).catch(() => undefined);
  }
}

/** The id of an anonymous user is in no document of a world. */
function documentsOf(userId: string): readonly Asked[] {
  return COLLECTIONS.slice(0, -1).map((collection) => ({
    statement: `INSERT INTO ${collection} DOCUMENTS (:d)`,
    args: { d: { _id: `of ${userId}`, owner: userId, a: 1, hits: 2 } },
  }));
}

function differenceOf(own: Answered, seen: Answered, tally: Tally): string | undefined {
  const isWrite = (own.body as { queryType?: string }).queryType === "mutation";
  if (isWrite || seen.status === 403) {
    const isRefused = seen.status === 403;
    tally[isWrite ? "writes" : "denied"]++;
    // A write that is invalid, or denied to the caller as well, may fail before it is refused.
    if (isRefused && (isWrite || own.status === 401 || own.status >= 400)) return undefined;
    return `expected ${isWrite ? "a refusal" : shown(own)}, found ${shown(seen)}`;
  }
  tally.answered++;
  tally.rows += ((own.body as { items?: Value[] }).items ?? []).length;
  if (isDeepStrictEqual(own, seen)) return undefined;
  return `expected ${shown(own)}\nfound    ${shown(seen)}`;
}

async function runAs(app: string, body: object): Promise<Answered> {
  return post(`${client.url}${BIG_PEER}/app/${app}/store/execute`, body, {
    cookie: client.cookie ?? "",
    origin: client.url,
  });
}

async function runOwn(key: string, body: object): Promise<Answered> {
  return post(`${api.server.url}/api/v4/store/execute`, body, { authorization: `Bearer ${key}` });
}

async function post(url: string, body: object, headers: Record<string, string>): Promise<Answered> {
  const bytes = encodeCbor(body as Value);
  const type = { "content-type": "application/cbor", accept: "application/json" };
  const response = await fetch(url, {
    method: "POST",
    headers: { ...type, ...headers },
    body: bytes,
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as Value };
}

function shown({ status, body }: Answered): string {
  return `${status} ${JSON.stringify(body)}`;
}

/** Throws what differs first in some worlds. */
async function compareWorlds(callersOf: CallersOf, count: number): Promise<Tally> {
  const tally = { answered: 0, denied: 0, rows: 0, writes: 0 };
  for (let seed = BASE_SEED; seed < BASE_SEED + count; seed++) {
    const found = await differenceIn(seed, tally, callersOf);
    if (found !== undefined) throw new Error(found);
  }
  return tally;
}

test("[M56] what a key, and its permissions, see is what the key itself gets", async () => {
  const tally = await compareWorlds(keyCallers, WORLDS);
  expect(tally.answered).toBeGreaterThan(WORLDS * 5);
  expect(tally.rows).toBeGreaterThan(WORLDS * 5);
  expect(tally.denied).toBeGreaterThan(WORLDS);
  expect(tally.writes).toBeGreaterThan(WORLDS / 4);
});

test("[M56] what users and their claims see is what they get after a login", async () => {
  const tally = await compareWorlds(userCallers, USER_WORLDS);
  expect(tally.answered).toBeGreaterThan(USER_WORLDS * 10);
  expect(tally.rows).toBeGreaterThan(USER_WORLDS * 10);
  expect(tally.denied).toBeGreaterThan(USER_WORLDS);
  expect(tally.writes).toBeGreaterThan(USER_WORLDS / 4);
});

const mended = (): void => undefined;

interface Leak {
  readonly name: string;
  readonly callersOf: CallersOf;
  /** Returns what mends it. */
  readonly plant: () => () => void;
}

/** The callers, of whom the console asks for another user. */
function asAnother(callersOf: CallersOf, userId: string): CallersOf {
  return async (app, world) => {
    const callers = await callersOf(app, world);
    return callers.map((caller) => ({ ...caller, as: caller.as.map((as) => ({ ...as, userId })) }));
  };
}

const LEAKS: readonly Leak[] = [
  {
    name: "a key is seen with the permission to read everything",
    callersOf: keyCallers,
    plant: () =>
      replace(
        ApiKeys.prototype,
        "get",
        (original) =>
          function get(this: ApiKeys, ...args) {
            const key = original.apply(this, args);
            return { ...key, permissions: { ...key.permissions, read: { everything: true } } };
          },
      ),
  },
  {
    name: "the rules of given permissions are those of another collection",
    callersOf: keyCallers,
    plant: () =>
      replace(
        Authority.prototype,
        "readRule",
        (original) =>
          function readRule(this: Authority, collection) {
            const isSeen = this.credential === "see as";
            return original.call(this, isSeen && collection === "things" ? "others" : collection);
          },
      ),
  },
  {
    name: "statements that write are taken for reads",
    callersOf: keyCallers,
    plant: () =>
      replace(
        StatementRunner.prototype,
        "prepare",
        (original) =>
          function prepare(this: StatementRunner, ...args) {
            const prepared = original.apply(this, args);
            return { ...prepared, queryType: "select", work: { ...prepared.work, kind: "read" } };
          },
      ),
  },
  {
    name: "a provider is seen with the permission to read everything",
    callersOf: userCallers,
    plant: () =>
      replace(
        Apps.prototype,
        "named",
        (original) =>
          function named(this: Apps, ...args) {
            const app = original.apply(this, args);
            const permission = FULL_PERMISSIONS;
            const entries = Object.entries(app.authProviders).map(([name, provider]) => [
              name,
              { ...provider, permission },
            ]);
            return { ...app, authProviders: Object.fromEntries(entries) as AuthProviders };
          },
      ),
  },
  {
    name: "a user is seen with the id of another one",
    callersOf: asAnother(userCallers, "eve"),
    plant: () => mended,
  },
];

test.each(LEAKS)("[M56] a planted hole is found: $name", async ({ plant, callersOf }) => {
  const tally = { answered: 0, denied: 0, rows: 0, writes: 0 };
  const mend = plant();
  try {
    let found: string | undefined;
    for (let i = 0; i < WORLDS_PER_LEAK && found === undefined; i++) {
      found = await differenceIn(BASE_SEED + i, tally, callersOf);
    }
    expect(found).toMatch(/expected/);
  } finally {
    mend();
  }
});
