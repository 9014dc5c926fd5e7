/**
 * The clock: never back, never twice, whatever the wall clock does.
 */

import { EPOCH_MS, TICKS_PER_MS, TIME_MAX, timeOfMs } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { checkRemoteTime, checkWallClock, nextTime } from "../../src/crdt/clock.ts";

const DAY_MS = 86_400_000;
const LIMITS = { driftMsMax: 5 * 60_000, restMsMax: 180 * DAY_MS };
const NOW_MS = Date.UTC(2026, 5, 1);

test("[D2] a clock never repeats and never goes back, through wall-clock jumps", () => {
  const walls = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 9_000_000_000_000 }), fc.constant(NOW_MS)),
  );
  fc.assert(
    fc.property(walls, fc.nat(), (readings, start) => {
      let last = start;
      for (const nowMs of readings.map((ms) => Math.min(ms, EPOCH_MS + 2 ** 40))) {
        const time = nextTime(last, nowMs);
        expect(time).toBeGreaterThan(last);
        expect(time).toBeGreaterThanOrEqual(Math.min(timeOfMs(nowMs), TIME_MAX));
        expect(Number.isSafeInteger(time)).toBe(true);
        last = time;
      }
    }),
  );
});

test("[D2] a clock follows the wall clock when that is ahead, else it counts", () => {
  expect(nextTime(0, NOW_MS)).toBe(timeOfMs(NOW_MS));
  expect(nextTime(timeOfMs(NOW_MS), NOW_MS)).toBe(timeOfMs(NOW_MS) + 1);
  expect(nextTime(timeOfMs(NOW_MS) + 7, NOW_MS - DAY_MS)).toBe(timeOfMs(NOW_MS) + 8);
});

test("[D2] a clock starts at 1 or later, even if the wall clock says 1970", () => {
  expect(nextTime(0, 0)).toBe(1);
  expect(nextTime(0, EPOCH_MS)).toBe(1);
  expect(nextTime(5, -1)).toBe(6);
});

test("[D2] the count carries into the milliseconds", () => {
  const full = timeOfMs(NOW_MS) + TICKS_PER_MS - 1;
  expect(nextTime(full, NOW_MS)).toBe(timeOfMs(NOW_MS + 1));
  expect(nextTime(timeOfMs(NOW_MS + 1), NOW_MS + 1)).toBe(timeOfMs(NOW_MS + 1) + 1);
});

test("[D2] a clock at its last time fails and does not start over", () => {
  expect(nextTime(TIME_MAX - 1, NOW_MS)).toBe(TIME_MAX);
  for (const nowMs of [NOW_MS, 1e15]) {
    expect(codeOf(() => nextTime(TIME_MAX, nowMs))).toBe("clock.exhausted");
  }
  expect(nextTime(0, 1e15)).toBe(TIME_MAX);
});

test("[D25] a foreign stamp may be at most the drift bound ahead, but any time old", () => {
  const ahead = (ms: number) => () => checkRemoteTime(timeOfMs(NOW_MS + ms), NOW_MS, LIMITS);
  expect(ahead(LIMITS.driftMsMax)).not.toThrow();
  expect(ahead(-NOW_MS)).not.toThrow();
  expect(() => checkRemoteTime(1, NOW_MS, LIMITS)).not.toThrow();
  expect(codeOf(ahead(LIMITS.driftMsMax + 1))).toBe("clock.ahead");
  expect(ahead(LIMITS.driftMsMax + 1)).toThrow(
    "at most 300000 ms ahead of this clock, found one 300001",
  );
});

test("[D26] a store refuses to write after its wall clock jumped too far ahead", () => {
  const last = timeOfMs(NOW_MS);
  const after = (ms: number) => () => checkWallClock(last, NOW_MS + ms, LIMITS);
  expect(after(LIMITS.restMsMax + LIMITS.driftMsMax)).not.toThrow();
  expect(after(-DAY_MS)).not.toThrow();
  expect(codeOf(after(LIMITS.restMsMax + LIMITS.driftMsMax + 1))).toBe("clock.ahead");
  expect(after(365 * DAY_MS)).toThrow("365 days after the last write");
});

test("[D26] a store without writes has nothing to compare its clock with", () => {
  expect(() => checkWallClock(0, NOW_MS + 1e12, LIMITS)).not.toThrow();
});
