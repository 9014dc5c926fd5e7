/**
 * The law of live queries on generated stores: after every commit each of them shows what its statement
 * gives when it is run afresh, and only those are named whose rows differ.
 */

import { test } from "vitest";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import { anyCase, anyNarrowedCase, anyWindowCase, expectLaw, hurried } from "./live-case.ts";

const RUNS = histories(25);

test("after every commit a live query shows what its statement gives", async () => {
  await expectLaw(anyCase(), RUNS);
}, 120_000);

test("[P5] a live query of a narrowed caller shows what his statement gives", async () => {
  await expectLaw(anyNarrowedCase(), RUNS);
}, 120_000);

test("windows are kept through removals that use up their reserve", async () => {
  await expectLaw(anyWindowCase(), RUNS);
}, 120_000);

test("whatever comes while queries are brought up to date, they show what they must", async () => {
  await expectLaw(hurried(anyCase()), RUNS);
  await expectLaw(hurried(anyNarrowedCase()), RUNS);
}, 120_000);
