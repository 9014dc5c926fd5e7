/**
 * Hybrid logical clock: wall-clock time, or a counter while the wall clock stands or goes back.
 *
 * Pure functions over one exact number. The store keeps the last time with its data, so the clock
 * continues through restarts and wall-clock jumps. It never goes back, never repeats, and starts at
 * one tick even on a machine whose clock says 1970 (D2).
 */

import { msOfTime, PeerError, TIME_MAX, timeOfMs } from "@bigpeer/protocol";

export interface ClockLimits {
  /** Drift bound: how far ahead of the wall clock a stamp from elsewhere may be. */
  readonly driftMsMax: number;
  /** Longest rest of a store; a larger leap of the wall clock needs an operator's confirmation. */
  readonly restMsMax: number;
}

/** The next time after `last` when the wall clock shows `nowMs`. */
export function nextTime(last: number, nowMs: number): number {
  const time = Math.max(1, last + 1, Math.min(timeOfMs(nowMs), TIME_MAX));
  if (time > TIME_MAX) {
    throw new PeerError("clock.exhausted", "expected a time before the year 2093");
  }
  return time;
}

/** Throws for a stamp from elsewhere that would drag this clock into the future. */
export function checkRemoteTime(time: number, nowMs: number, limits: ClockLimits): void {
  const aheadMs = msOfTime(time) - nowMs;
  if (aheadMs <= limits.driftMsMax) return;
  const message =
    `expected a stamp at most ${limits.driftMsMax} ms ahead of this clock, ` +
    `found one ${aheadMs} ms ahead`;
  throw new PeerError("clock.ahead", message);
}

/**
 * Throws if the wall clock leapt ahead: writes stamped by it would win over all others until that
 * date. A store without any write (`last` is 0) has nothing to compare with. `awakeMs`: when the
 * store was opened after an accepted rest.
 */
export function checkWallClock(
  last: number,
  nowMs: number,
  limits: ClockLimits,
  awakeMs: number = -Infinity,
): void {
  if (last === 0) return;
  const restMs = nowMs - Math.max(msOfTime(last), awakeMs);
  if (!isLong(restMs, limits)) return;
  const days = daysOf(nowMs - msOfTime(last));
  const message =
    `the wall clock is ${days} days after the last write; ` +
    "check the clock, then confirm it with --accept-clock";
  throw new PeerError("clock.ahead", message);
}

/** How long a store had rested when it was opened, if longer than a running one may. */
export function longRestMs(last: number, nowMs: number, limits: ClockLimits): number | undefined {
  const restMs = nowMs - msOfTime(last);
  return last !== 0 && isLong(restMs, limits) ? restMs : undefined;
}

export function daysOf(ms: number): number {
  return Math.floor(ms / 86_400_000);
}

function isLong(restMs: number, { restMsMax, driftMsMax }: ClockLimits): boolean {
  return restMs > restMsMax + driftMsMax;
}
