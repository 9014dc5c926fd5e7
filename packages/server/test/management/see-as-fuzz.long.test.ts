/**
 * See as, on generated worlds: a statement of the console as another caller is answered as the same
 * statement of that caller, and writes nothing.
 *
 * By seed: PERMISSION_SEED starts elsewhere, or repeats what a failure has printed. What the callers
 * themselves get is compared with a model by permission-fuzz.long.test.ts of the engine.
 */

import { isDeepStrictEqual } from "node:util";
import { Authority, permissionsValue, StatementRunner } from "@bigpeer/engine/query";
import { encodeCbor, stringifyJson, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import {
  type FuzzWorld,
  RequestSource,
  worldOf,
} from "../../../engine/test/support/permission-fuzz.ts";
import { replace } from "../../../engine/test/support/replaced-method.ts";
import { ApiKeys } from "../../src/registry/api-keys.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { openConsole } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";

const BASE_SEED = Number(process.env["PERMISSION_SEED"] ?? 1);
const WORLDS = 30;
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

/** What differs first in the world of a seed, with all that is needed to see it again. */
async function differenceIn(seed: number, tally: Tally): Promise<string | undefined> {
  const world = worldOf(seed);
  const name = `w${seed}-${Math.random().toString(36).slice(2, 8)}`;
  const { id: appId } = await registry.apps.create({ name }, SERVER);
  const permissions = { read: world.read, write: world.write, remoteQuery: false };
  const key = await registry.keys.create(appId, { name: "seen", permissions }, SERVER);
  const use = await apps.use(appId);
  try {
    await fill(use.app.statements, world);
    const { store } = use.app;
    const source = new RequestSource(seed, REQUESTS_PER_WORLD);
    const given = { permissions: permissionsValue(permissions) };
    for (let i = 0; i < REQUESTS_PER_WORLD; i++) {
      const request = source.next();
      if (request.kind !== "statement" || OF_THE_MOMENT.test(request.statement)) continue;
      const { statement, args } = request;
      const before = store.txnId;
      const seen: Answered[] = [];
      for (const as of [{ key: "seen" }, given])
        seen.push(await runAs(name, { statement, args, as }));
      const shownRequest = `seed ${seed}, request ${i}\n${stringifyJson(given)}\n${statement}\n${stringifyJson(args)}\n`;
      if (store.txnId !== before) return `${shownRequest}expected nothing to be written`;
      const own = await runOwn(key, { statement, args });
      for (const each of seen) {
        const found = differenceOf(own, each, tally);
        if (found !== undefined) return shownRequest + found;
      }
    }
    return undefined;
  } finally {
    use.release();
    await registry.apps.remove(name, SERVER);
    await apps.closeApp(appId);
  }
}

async function fill(statements: StatementRunner, world: FuzzWorld): Promise<void> {
  const texts = [
    ...world.indexes.map((statement) => ({ statement, args: {} })),
    ...world.documents.flatMap(({ steps }) => steps),
  ];
  for (const { statement, args } of texts) {
    // A step that the document cannot take is not taken.
    await statements.execute({ statement, args }).catch(() => undefined);
  }
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

test("[M56] what a key, and its permissions, see is what the key itself gets", async () => {
  const tally = { answered: 0, denied: 0, rows: 0, writes: 0 };
  for (let seed = BASE_SEED; seed < BASE_SEED + WORLDS; seed++) {
    const found = await differenceIn(seed, tally);
    if (found !== undefined) throw new Error(found);
  }
  expect(tally.answered).toBeGreaterThan(WORLDS * 5);
  expect(tally.rows).toBeGreaterThan(WORLDS * 5);
  expect(tally.denied).toBeGreaterThan(WORLDS);
  expect(tally.writes).toBeGreaterThan(WORLDS / 4);
});

const LEAKS = [
  {
    name: "a key is seen with the permission to read everything",
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
] as const;

test.each(LEAKS)("[M56] a planted hole is found: $name", async ({ plant }) => {
  const tally = { answered: 0, denied: 0, rows: 0, writes: 0 };
  const mend = plant();
  try {
    let found: string | undefined;
    for (let i = 0; i < WORLDS_PER_LEAK && found === undefined; i++) {
      found = await differenceIn(BASE_SEED + i, tally);
    }
    expect(found).toMatch(/expected/);
  } finally {
    mend();
  }
});
