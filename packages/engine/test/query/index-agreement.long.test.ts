/**
 * Thousands of generated questions: an index never changes an answer.
 *
 * By seed: INDEX_SEED starts elsewhere, or repeats what a failure has printed; INDEX_SCRIPTS says how
 * many scripts of forty questions there are.
 */
import { expect, test } from "vitest";
import { ASKED_KINDS } from "../support/index-kinds.ts";
import { BUILDING, runScripts } from "../support/index-run.ts";
import { WAYS } from "../support/index-ways.ts";

const BASE_SEED = Number(process.env["INDEX_SEED"] ?? 1);
const SCRIPTS = Number(process.env["INDEX_SCRIPTS"] ?? 200);
const ASKED_PER_SCRIPT = 40;

/** Few scripts need not ask everything. */
const isWhole = SCRIPTS >= 200;

/** So often must each kind of question have been answered, not refused. */
const EACH_MIN = isWhole ? 30 : 0;

/** This share of all questions must be answered from an index; and this share must find something there. */
const INDEXED_SHARE_MIN = 0.41;
const FOUND_SHARE_MIN = 0.19;
/** So many must be answered in each way. */
const WAY_MIN = isWhole ? 40 : 0;

test("thousands of answers with indexes equal those without, and those of the naive evaluator", async () => {
  const tally = await runScripts({ seed: BASE_SEED, scripts: SCRIPTS, asked: ASKED_PER_SCRIPT });
  const asked = isWhole ? SCRIPTS * ASKED_PER_SCRIPT : 0;
  expect(ASKED_KINDS.filter((kind) => tally.of(kind) < EACH_MIN)).toEqual([]);
  expect(tally.of("answered")).toBeGreaterThanOrEqual(asked * 0.9);
  expect(tally.of("judged")).toBeGreaterThanOrEqual(asked / 2);
  expect(tally.of("found")).toBeGreaterThanOrEqual(asked / 3);
  expect(tally.of("with rules")).toBeGreaterThanOrEqual(asked / 5);
  expect(tally.of(BUILDING)).toBeGreaterThanOrEqual(asked / 10);
  expect(tally.of("from an index")).toBeGreaterThanOrEqual(asked * INDEXED_SHARE_MIN);
  expect(tally.of("found by an index")).toBeGreaterThanOrEqual(asked * FOUND_SHARE_MIN);
  expect(WAYS.filter((way) => tally.of(way) < WAY_MIN)).toEqual([]);
});

test("answers are the same while the store builds indexes in the background", async () => {
  const options = { seed: BASE_SEED, scripts: 8, asked: 40, isLarge: true };
  const tally = await runScripts(options);
  expect(tally.of("answered")).toBeGreaterThan(280);
  expect(tally.of(BUILDING)).toBeGreaterThan(20);
  // Here they are so many that a way is left for a better one.
  expect(tally.of("from an index")).toBeGreaterThan(60);
  expect(tally.of("unionScan")).toBeGreaterThan(5);
  expect(tally.of("intersectScan")).toBeGreaterThan(3);
  expect(tally.of("a join by an index")).toBeGreaterThan(0);
});
