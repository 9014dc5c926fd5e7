/**
 * The counts of index uses of all apps, which are kept while an app is closed.
 */

import { expect, test } from "vitest";
import { AppIndexUses } from "../../src/apps/app-index-uses.ts";

const START_MS = 1_000;

/** Counts with a clock that the test sets. */
function openUses(): { readonly uses: AppIndexUses; readonly clock: { nowMs: number } } {
  const clock = { nowMs: START_MS };
  return { uses: new AppIndexUses(() => clock.nowMs), clock };
}

test("an app that is opened again continues its counts", () => {
  const { uses, clock } = openUses();
  uses.of("a").add(1, 2_000);
  clock.nowMs = 5_000;
  expect(uses.of("a").of(1)).toEqual({ count: 1, lastMs: 2_000 });
  expect(uses.of("b").of(1)).toEqual({ count: 0, lastMs: undefined });
});

test("the count of an app begins with the server, however late the app is opened", () => {
  const { uses, clock } = openUses();
  clock.nowMs = 9_000;
  expect(uses.of("a").sinceMs).toBe(START_MS);
});

test("a deleted app has no counts", () => {
  const { uses } = openUses();
  uses.of("a").add(1, 2_000);
  uses.forget("a");
  expect(uses.of("a").of(1)?.count).toBe(0);
});

test("the apps are bounded: the one opened longest ago begins again, and says since when", () => {
  const { uses, clock } = openUses();
  for (const app of ["a", "b", "a"]) uses.of(app).add(1, 2_000);
  for (let i = 0; i < 999; i++) uses.of(`app${i}`);
  clock.nowMs = 9_000;
  expect(uses.of("a").of(1)?.count).toBe(2);
  expect(uses.of("a").sinceMs).toBe(START_MS);
  expect(uses.of("b").of(1)?.count).toBe(0);
  expect(uses.of("b").sinceMs).toBe(9_000);
});
