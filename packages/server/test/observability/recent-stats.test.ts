/**
 * The figures of the last hour: what a point has, and that there are never more than fit.
 */

import { expect, onTestFinished, test } from "vitest";
import { RecentErrors } from "../../src/observability/recent-errors.ts";
import {
  RECENT_POINTS_MAX,
  RECENT_STEP_MS,
  RecentStats,
} from "../../src/observability/recent-stats.ts";

function makeStats(): { stats: RecentStats; clock: { now: number } } {
  const clock = { now: 1_000 };
  const stats = new RecentStats({
    peers: () => 3,
    syncLagMs: () => 4,
    linkLagSeconds: () => 5,
    now: () => clock.now,
  });
  onTestFinished(() => stats.close());
  return { stats, clock };
}

test("a point has what was counted since the last one", () => {
  const { stats, clock } = makeStats();
  expect(stats.last).toBeUndefined();
  expect(stats.since(0).at).toEqual([]);
  for (let i = 0; i < 10; i++) stats.requestAnswered();
  stats.committed(2);
  stats.committed(6);
  stats.sample();
  expect(stats.last).toMatchObject({
    commitMs: 4,
    commitMaxMs: 6,
    peers: 3,
    syncLagMs: 4,
    linkLagSeconds: 5,
  });
  expect(stats.last?.requestsPerSecond).toBeGreaterThan(0);
  clock.now = 2_000;
  stats.sample();
  expect(stats.last).toMatchObject({ requestsPerSecond: 0, commitMs: 0, commitMaxMs: 0 });
  expect(stats.since(0)).toMatchObject({ at: [1_000, 2_000], columns: { commitMs: [4, 0] } });
  expect(stats.since(1_000)).toMatchObject({ at: [2_000], columns: { commitMaxMs: [0] } });
});

test("an hour is kept, and older points give way", () => {
  const { stats, clock } = makeStats();
  expect(RECENT_POINTS_MAX * RECENT_STEP_MS).toBe(3_600_000);
  for (let i = 0; i < RECENT_POINTS_MAX + 10; i++) {
    clock.now = i;
    stats.sample();
  }
  const { at, columns } = stats.since(-1);
  expect([at.length, at[0], at.at(-1)]).toEqual([RECENT_POINTS_MAX, 10, RECENT_POINTS_MAX + 9]);
  expect(columns.peers).toHaveLength(RECENT_POINTS_MAX);
});

test("the last warnings and errors are kept without secrets, and no others", () => {
  const lines: string[] = [];
  const errors = new RecentErrors(() => 7);
  const log = errors.watch((level, message) => lines.push(`${level} ${message}`));
  log("info", "started");
  log("warn", "the key bp_0a1b2c3d_secret and http://x/#token=bpc_secret");
  expect(lines).toHaveLength(2);
  expect(errors.list).toEqual([
    { at: 7, level: "warn", message: "the key bp_0a1b2c3d_… and http://x/#token=bpc_…" },
  ]);
  for (let i = 0; i < 60; i++) log("error", `failure ${i}`);
  expect(errors.list).toHaveLength(50);
  expect(errors.list[0]?.message).toBe("failure 59");
});
