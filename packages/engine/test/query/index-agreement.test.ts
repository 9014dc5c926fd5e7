/**
 * An index never changes an answer: generated questions to two stores, one with indexes and one
 * without, and to the slow obvious evaluator. Thousands more are asked in the long tests.
 *
 * By seed: INDEX_SEED starts elsewhere, or repeats what a failure has printed.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { BUILDING, runScripts } from "../support/index-run.ts";

const SCRIPTS = sized(2, 10);
/** Questions to a store that is large, which takes long. */
const ASKED = sized(6, 24);
const BASE_SEED = Number(process.env["INDEX_SEED"] ?? 1);

test("answers with indexes equal those without, and those of the naive evaluator", async () => {
  const tally = await runScripts({ seed: BASE_SEED, scripts: SCRIPTS, asked: 40 });
  expect(tally.of("answered")).toBeGreaterThan(35 * SCRIPTS);
  expect(tally.of("judged")).toBeGreaterThan(20 * SCRIPTS);
  if (isFullSize) expect(tally.of(BUILDING)).toBeGreaterThan(0);
});

test.runIf(isFullSize)(
  "answers are the same while the store builds an index in the background",
  async () => {
    const options = { seed: BASE_SEED, scripts: 1, asked: ASKED, isLarge: true };
    const tally = await runScripts(options);
    expect(tally.of("answered")).toBeGreaterThan((5 * ASKED) / 6);
    expect(tally.of(BUILDING)).toBeGreaterThan(0);
  },
);
