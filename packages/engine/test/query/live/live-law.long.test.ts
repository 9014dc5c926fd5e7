/**
 * The law of live queries, as in live-law.test.ts, on many more stores.
 */

import { test } from "vitest";
import { anyCase, anyNarrowedCase, anyWindowCase, expectLaw, hurried } from "./live-case.ts";

const RUNS = 200;

test("after every commit a live query shows the result of its statement", async () => {
  await expectLaw(anyCase(), RUNS);
}, 600_000);

test("[P5] a live query of a caller with limited rights shows the result of its statement", async () => {
  await expectLaw(anyNarrowedCase(), RUNS);
}, 600_000);

test("windows stay correct through deletes that exhaust their reserve", async () => {
  await expectLaw(anyWindowCase(), RUNS);
}, 600_000);

test("live queries show the right rows whatever commits while they are updated", async () => {
  await expectLaw(hurried(anyCase()), RUNS);
  await expectLaw(hurried(anyNarrowedCase()), RUNS);
}, 600_000);
