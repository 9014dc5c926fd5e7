/**
 * An index on LMDB never changes an answer: generated questions to a store on LMDB with indexes, to one in
 * memory without, and to the slow obvious evaluator.
 *
 * By seed: INDEX_SEED starts elsewhere, or repeats what a failure has printed.
 */

import type { KeyValue } from "@bigpeer/engine";
import { expect, test } from "vitest";
import { BUILDING, runScripts } from "../../../engine/test/support/index-run.ts";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const BASE_SEED = Number(process.env["INDEX_SEED"] ?? 1001);

const storage = (): KeyValue => openLmdb(temporaryFolder());

test("answers with indexes on LMDB equal those without, and those of the naive evaluator", async () => {
  const tally = await runScripts({ seed: BASE_SEED, scripts: 20, asked: 40, storage });
  expect(tally.of("answered")).toBeGreaterThan(700);
  expect(tally.of(BUILDING)).toBeGreaterThan(40);
});

test("answers are the same while indexes on LMDB are built in the background", async () => {
  const options = { seed: BASE_SEED, scripts: 2, asked: 40, storage, isLarge: true };
  const tally = await runScripts(options);
  expect(tally.of("answered")).toBeGreaterThan(60);
  expect(tally.of(BUILDING)).toBeGreaterThan(5);
});
