/**
 * The law of live queries, as in live-law.test.ts, on many more stores.
 */

import { test } from "vitest";
import { anyCase, anyNarrowedCase, anyWindowCase, expectLaw, hurried } from "./live-case.ts";

const RUNS = 200;

test("after every commit a live query shows what its statement gives", async () => {
  await expectLaw(anyCase(), RUNS);
}, 600_000);

test("[P5] a live query of a narrowed caller shows what his statement gives", async () => {
  await expectLaw(anyNarrowedCase(), RUNS);
}, 600_000);

test("windows are kept through removals that use up their reserve", async () => {
  await expectLaw(anyWindowCase(), RUNS);
}, 600_000);

test("whatever comes while queries are brought up to date, they show what they must", async () => {
  await expectLaw(hurried(anyCase()), RUNS);
  await expectLaw(hurried(anyNarrowedCase()), RUNS);
}, 600_000);
