/**
 * Cases of live queries: a generated store, queries that are followed on it, rounds of writes, and
 * the law that holds after each of them.
 */

import { PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect } from "vitest";
import type { LiveRequest, Registration } from "../../../src/query/live/live-queries.ts";
import type { LiveQuery } from "../../../src/query/live/live-query.ts";
import { Authority } from "../../../src/query/permission/authority.ts";
import { anyPermissionCase } from "../../support/permission-cases.ts";
import { anyDocuments, anyIndexes } from "../generated-documents.ts";
import { anyArguments } from "../generated-expression.ts";
import { anyNestedQuery } from "../generated-query.ts";
import { anySelect } from "../generated-statement.ts";
import {
  anyWrite,
  differenceOf,
  type Followed,
  hurriedClock,
  openFollowed,
  type Write,
} from "./followed-store.ts";

export interface Case {
  readonly things: readonly ValueObject[];
  readonly others: readonly ValueObject[];
  readonly indexes: readonly string[];
  readonly args: ValueObject;
  readonly queries: readonly string[];
  /** Those of one round may share a flush. */
  readonly rounds: readonly (readonly Write[])[];
  readonly authority?: Authority;
  /** All work takes turns, and others come between. */
  readonly isHurried?: boolean;
}

const anyRounds = fc.array(fc.array(anyWrite(), { minLength: 1, maxLength: 3 }), {
  minLength: 3,
  maxLength: 8,
});

const anyQueries = fc.array(
  fc.oneof({ weight: 3, arbitrary: anySelect() }, { weight: 1, arbitrary: anyNestedQuery() }),
  { minLength: 12, maxLength: 12 },
);

export function anyCase(): fc.Arbitrary<Case> {
  return fc.record({
    things: anyDocuments(12),
    others: anyDocuments(6),
    indexes: anyIndexes(),
    args: anyArguments(),
    queries: anyQueries,
    rounds: anyRounds,
  });
}

async function fill({ things, others, indexes, isHurried }: Case): Promise<Followed> {
  const followed = isHurried
    ? await openFollowed({ timeMs: Infinity }, hurriedClock())
    : await openFollowed();
  for (const [collection, documents] of [
    ["things", things],
    ["others", others],
  ] as const) {
    if (documents.length === 0) continue;
    const args = { documents: [...documents] as Value };
    await followed.execute(`INSERT INTO ${collection} DOCUMENTS (:documents)`, args);
    for (const [i, keys] of indexes.entries()) {
      await followed.execute(`CREATE INDEX i${i} ON ${collection} (${keys})`);
    }
  }
  return followed;
}

interface Following {
  readonly request: LiveRequest;
  readonly registration: Registration;
  shown: readonly Value[];
}

async function start(followed: Followed, request: LiveRequest): Promise<Following | undefined> {
  try {
    const registration = await followed.register(request);
    return { request, registration, shown: registration.query.rows };
  } catch (error) {
    if (error instanceof PeerError && error.code === "permission.denied") return undefined;
    throw error;
  }
}

interface Round {
  readonly writes: readonly Write[];
  /** What was told while the writes were at work. */
  readonly early: readonly LiveQuery[];
}

async function check(
  followed: Followed,
  all: readonly Following[],
  { writes, early }: Round,
): Promise<void> {
  const changed = new Set([...early, ...(await followed.advance())]);
  for (const following of all) {
    const { query } = following.registration;
    const difference = await differenceOf(followed, following.request, query);
    if (difference !== undefined) throw new Error(`after ${writes.join("; ")}\n${difference}`);
    const isReported = changed.has(query);
    if (isReported !== (query.rows !== following.shown))
      throw new Error(`told: ${isReported}\n${query.text}`);
    following.shown = query.rows;
  }
}

/**
 * Follows the queries, the last of them only from the middle on, and checks after each round. Throws
 * what differs; returns how much was compared.
 */
async function followCase(given: Case): Promise<number> {
  const followed = await fill(given);
  const { args, queries, rounds, authority } = given;
  const requests = queries.map((statement) => ({ statement, args, authority }));
  const late = requests.splice(-3);
  const all: Following[] = [];
  const begin = async (some: readonly LiveRequest[]): Promise<void> => {
    for (const request of some) {
      const following = await start(followed, request);
      if (following !== undefined) all.push(following);
    }
  };
  await begin(requests);
  for (const [i, writes] of rounds.entries()) {
    const done = Promise.all(writes.map((write) => write(followed, args)));
    const early = given.isHurried ? [followed.advance(), followed.advance()] : [];
    if (i === 1) await begin(late.splice(0, 1));
    await done;
    if (given.isHurried) early.push(followed.advance());
    if (i === 2) await begin(late);
    if (i === 2) all.splice(0, 1)[0]?.registration.close();
    await check(followed, all, { writes, early: (await Promise.all(early)).flat() });
  }
  for (const { registration } of all) registration.close();
  const { count, heldBytes } = followed.live;
  if (count > 0 || heldBytes > 0)
    throw new Error(`${count} queries and ${heldBytes} bytes are left`);
  return rounds.length * all.length;
}

export function anyNarrowedCase(): fc.Arbitrary<Case> {
  return fc
    .tuple(anyPermissionCase(), anyQueries, anyRounds)
    .map(([{ read, write, ...given }, queries, rounds]) => {
      const authority = new Authority({ read, write, remoteQuery: false }, "caller");
      return { ...given, queries, rounds, authority };
    });
}

const orders = ["n", "n DESC", "n DESC, s", "s, n DESC", "n NULLS FIRST", "c1 DESC"];
const windows = ["", "LIMIT 3", "LIMIT 1", "LIMIT 2 OFFSET 2", "OFFSET 5", "LIMIT 0", "LIMIT 20"];

const anyWindowQuery = fc
  .tuple(
    fc.constantFrom("", "WHERE n > 1", "WHERE s = 'a'", "WHERE n IN (1, 2)"),
    fc.option(fc.constantFrom(...orders), { nil: undefined }),
    fc.constantFrom(...windows),
  )
  .map(([where, order, window]) => {
    const by = order === undefined ? "" : `ORDER BY ${order}`;
    return `SELECT _id, n AS c1 FROM things ${where} ${by} ${window}`;
  });

const manyThings = fc.array(
  fc.record({ n: fc.constantFrom<Value>(0, 1, 2, 3, null), s: fc.constantFrom("a", "b", "c") }),
  { minLength: 40, maxLength: 60 },
);

const shortWrite = fc.tuple(fc.nat(60), fc.nat(4), fc.nat(5)).map(([i, n, kind]): Write => {
  const id = `d${i}`;
  const texts = [
    `INSERT INTO things DOCUMENTS ({'_id': '${id}', 'n': ${n}, 's': 'a'}) ON ID CONFLICT DO UPDATE`,
    `UPDATE things SET n = ${n} WHERE _id = '${id}'`,
    `UPDATE things SET other = ${n} WHERE _id = '${id}'`,
    `DELETE FROM things WHERE _id = '${id}'`,
    `DELETE FROM things WHERE n = ${n} LIMIT 12`,
    `DELETE FROM things WHERE s = 'a' ORDER BY n DESC LIMIT 9`,
  ];
  const statement = texts[kind] ?? "";
  const write: Write = async ({ execute }) => void (await execute(statement));
  return Object.assign(write, { toString: () => statement });
});

/** Windows over so many documents that removals can use up their reserve. */
export function anyWindowCase(): fc.Arbitrary<Case> {
  return fc
    .record({
      fields: manyThings,
      indexes: fc.subarray(["n", "n DESC", "s, n DESC"]),
      queries: fc.array(anyWindowQuery, { minLength: 8, maxLength: 8 }),
      rounds: fc.array(fc.array(shortWrite, { minLength: 1, maxLength: 2 }), {
        minLength: 8,
        maxLength: 12,
      }),
    })
    .map(({ fields, indexes, queries, rounds }) => {
      const things = fields.map((each, i) => ({ _id: `d${i}`, ...each }));
      return { things, others: [], indexes, args: {}, queries, rounds };
    });
}

/** The same cases, with everything at once. */
export function hurried(cases: fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  return cases.map((given) => ({ ...given, isHurried: true }));
}

/** Holds at least so many cases to the law: more while few of their queries could be compared. */
export async function expectLaw(cases: fc.Arbitrary<Case>, numRuns: number): Promise<void> {
  let compared = await countCompared(cases, numRuns);
  for (let round = 1; round < ROUNDS_MAX && compared <= 10 * numRuns; round++) {
    compared += await countCompared(cases, numRuns);
  }
  expect(compared).toBeGreaterThan(10 * numRuns);
}

async function countCompared(cases: fc.Arbitrary<Case>, numRuns: number): Promise<number> {
  let compared = 0;
  const law = fc.asyncProperty(cases, async (given) => {
    compared += await followCase(given);
  });
  await fc.assert(law, { numRuns });
  return compared;
}

/** Few cases can all have queries that a caller may not run. */
const ROUNDS_MAX = 10;
