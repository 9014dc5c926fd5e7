/** When a delivery that failed is tried again. */

import { expect, test } from "vitest";
import { type FailedAttempt, waitAfter } from "../../src/delivery/back-off.ts";

function failed(changes: Partial<FailedAttempt> = {}): FailedAttempt {
  const usual = { attempts: 1, attemptsMax: 100, isRefused: false, askedMs: undefined };
  return { ...usual, chance: 0.5, ...changes };
}

test("[M43] the time doubles from a second to ten minutes", () => {
  const waits = [1, 2, 3, 10, 11, 99].map((attempts) => waitAfter(failed({ attempts })));
  expect(waits).toEqual([1_000, 2_000, 4_000, 512_000, 600_000, 600_000]);
});

test("[M43] the jitter is half of the time in each direction", () => {
  expect(waitAfter(failed({ attempts: 4, chance: 0 }))).toBe(4_000);
  expect(waitAfter(failed({ attempts: 4, chance: 0.999 }))).toBeCloseTo(11_992);
});

test("[M43] a receiver may ask for up to an hour", () => {
  expect(waitAfter(failed({ askedMs: 30_000 }))).toBe(30_000);
  expect(waitAfter(failed({ askedMs: 86_400_000 }))).toBe(3_600_000);
  expect(waitAfter(failed({ attempts: 5, askedMs: 1 }))).toBe(16_000);
});

test("[M45] after the last attempt there is none, and a refused content has five", () => {
  expect(waitAfter(failed({ attempts: 100 }))).toBeUndefined();
  expect(waitAfter(failed({ attempts: 4, isRefused: true }))).toBe(8_000);
  expect(waitAfter(failed({ attempts: 5, isRefused: true }))).toBeUndefined();
  expect(waitAfter(failed({ attempts: 2, attemptsMax: 2, isRefused: true }))).toBeUndefined();
});
