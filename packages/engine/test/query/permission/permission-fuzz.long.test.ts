/**
 * Thousands of requests of callers with generated rules: each is answered as on a store that holds
 * only what the rules let him read, and leaves everything else as it was.
 *
 * By seed: PERMISSION_SEED starts elsewhere, or repeats what a failure has printed.
 */
import { stringifyJson } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { permissionsValue } from "../../../src/query/permission/permissions.ts";
import { BY_NATURE, RULED, Tally } from "../../support/permission-answer.ts";
import { type FeedTally, feedDifference } from "../../support/permission-feed.ts";
import { RequestSource, shownRequest, worldOf } from "../../support/permission-fuzz.ts";
import { REQUEST_KINDS } from "../../support/permission-kinds.ts";
import { PermissionPair } from "../../support/permission-pair.ts";
import { FEED_LEAKS, PLANTED_LEAKS } from "../../support/planted-leak.ts";

const BASE_SEED = Number(process.env["PERMISSION_SEED"] ?? 1);
const WORLDS = 400;
const REQUESTS_PER_WORLD = 50;
const FEED_WORLDS = 60;

/** So many of each kind must have been answered, not denied. */
const EACH_MIN = 20;
/** Rarer: an index serves a restricted caller only where the rule is part of the lookup (P21). */
const PLANNED_MIN = 5;
/** And so often must each sentence on what differs by nature have been needed. */
const NATURE_MIN = 10;
const STATEMENTS_MIN = 5_000;

/** Ways to documents that must be among those of EXPLAIN, PROFILE and find. */
const PLANNED = [
  "indexScan",
  "unionScan",
  "intersectScan",
  "a covering index",
  "an index in its order",
  "an index in reverse",
  "a join by an index",
  "the first of a sort",
];

/** A leak that takes longer to be found is not looked for well enough. */
const WORLDS_PER_LEAK = 100;

/** What differs first in the world of a seed, with all that is needed to see it again. */
async function differenceIn(seed: number, tally: Tally): Promise<string | undefined> {
  const world = worldOf(seed);
  const pair = await PermissionPair.open(world, tally);
  const source = new RequestSource(seed, REQUESTS_PER_WORLD);
  for (let i = 0; i < REQUESTS_PER_WORLD; i++) {
    const request = source.next();
    const found = await pair.difference(request);
    if (found === undefined) continue;
    const rules = stringifyJson(permissionsValue({ ...world, remoteQuery: false }));
    return `seed ${seed}, request ${i}\n${rules}\n${shownRequest(request)}\n${found}`;
  }
  return undefined;
}

test("[P5] [P6] [P10] [P11] [P12] [P13] [P14] [P15] requests with rules answer and write as on a store with only the readable documents", async () => {
  const tally = new Tally();
  for (let seed = BASE_SEED; seed < BASE_SEED + WORLDS; seed++) {
    const found = await differenceIn(seed, tally);
    if (found !== undefined) throw new Error(found);
  }
  expect(tally.of("statement")).toBeGreaterThanOrEqual(STATEMENTS_MIN);
  expect(REQUEST_KINDS.filter((kind) => tally.of(kind) < EACH_MIN)).toEqual([]);
  expect(Object.values(BY_NATURE).filter((why) => tally.of(why) < NATURE_MIN)).toEqual([]);
  // As plans tell it.
  expect(PLANNED.filter((way) => tally.of(way) < PLANNED_MIN)).toEqual([]);
  // Neither all denied nor all let through, and the rules are what the answers depend on.
  const requests = tally.of("requests");
  expect(tally.of("answered")).toBeGreaterThan(requests / 2);
  expect(tally.of("permission.denied")).toBeGreaterThan(requests / 10);
  expect(tally.of("rows")).toBeGreaterThan(requests / 10);
  expect(tally.of("warnings")).toBeGreaterThan(requests / 200);
  expect(tally.of("query.too_large")).toBeGreaterThan(0);
  expect(tally.of(RULED)).toBeGreaterThan(requests / 10);
});

test.each(PLANTED_LEAKS)("[P5] a planted hole is found: $name", async ({ plant }) => {
  const tally = new Tally();
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

async function feedDifferenceIn(seed: number, tally: FeedTally): Promise<string | undefined> {
  const world = worldOf(seed);
  const found = await feedDifference(world, tally);
  if (found === undefined) return undefined;
  const rules = stringifyJson(permissionsValue({ ...world, remoteQuery: false }));
  return `seed ${seed}\n${rules}\n${found}`;
}

test("[C9] a change feed with rules shows every change of readable documents, and nothing of the others", async () => {
  const tally = { lines: 0, hidden: 0, refused: 0 };
  for (let seed = BASE_SEED; seed < BASE_SEED + FEED_WORLDS; seed++) {
    const found = await feedDifferenceIn(seed, tally);
    if (found !== undefined) throw new Error(found);
  }
  expect(tally.lines).toBeGreaterThan(FEED_WORLDS * 10);
  expect(tally.hidden).toBeGreaterThan(FEED_WORLDS);
  expect(tally.refused).toBeGreaterThan(FEED_WORLDS / 4);
});

test.each(FEED_LEAKS)("[C9] a planted hole in the feed is found: $name", async ({ plant }) => {
  const tally = { lines: 0, hidden: 0, refused: 0 };
  const mend = plant();
  try {
    let found: string | undefined;
    for (let i = 0; i < WORLDS_PER_LEAK && found === undefined; i++) {
      found = await feedDifferenceIn(BASE_SEED + i, tally);
    }
    expect(found).toMatch(/expected/);
  } finally {
    mend();
  }
});
