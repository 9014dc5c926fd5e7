/**
 * The law of live queries on generated stores: after every commit each of them shows what its statement
 * gives when it is run afresh, and only those are named whose rows differ.
 */

import { test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { anyCase, anyNarrowedCase, anyWindowCase, expectLaw, hurried } from "./live-case.ts";

const RUNS = sized(2, 25);

test("after every commit a live query shows the result of its statement", async () => {
  await expectLaw(anyCase(), RUNS);
});

test("[P5] a live query of a caller with limited rights shows the result of its statement", async () => {
  await expectLaw(anyNarrowedCase(), RUNS);
});

test("windows stay correct through deletes that exhaust their reserve", async () => {
  await expectLaw(anyWindowCase(), RUNS);
});

test("live queries show the right rows whatever commits while they are updated", async () => {
  await expectLaw(hurried(anyCase()), RUNS);
  await expectLaw(hurried(anyNarrowedCase()), RUNS);
});
