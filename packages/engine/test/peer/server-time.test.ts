import { expect, test } from "vitest";
import { ServerTime } from "../../src/peer/server-time.ts";

const YEAR = 365 * 86_400_000;

/** A device whose clocks the test moves. */
function device(): { wallMs: number; passedMs: number; now(): number; elapsed(): number } {
  const clocks = {
    wallMs: 1_000_000_000_000,
    passedMs: 0.25,
    now: (): number => clocks.wallMs,
    elapsed: (): number => clocks.passedMs,
  };
  return clocks;
}

test("[S33] before the first welcome the peer uses the wall clock, and no time is certain", () => {
  const clocks = device();
  const time = new ServerTime(clocks);
  expect([time.offsetMs, time.now(), time.isCertain, time.certainMs]).toEqual([
    undefined,
    clocks.wallMs,
    false,
    undefined,
  ]);
  const known = new ServerTime(clocks, 5000);
  expect([known.offsetMs, known.now(), known.isCertain, known.certainMs]).toEqual([
    5000,
    clocks.wallMs + 5000,
    false,
    undefined,
  ]);
});

test("[S33] a measured clock is corrected, and certain until it is set or the device sleeps", () => {
  const clocks = device();
  const time = new ServerTime(clocks);
  time.measure(-YEAR);
  const server = clocks.wallMs - YEAR;
  expect([time.now(), time.isCertain, time.certainMs]).toEqual([server, true, server]);
  clocks.wallMs += 60_500;
  clocks.passedMs += 60_000;
  expect([time.now(), time.isCertain]).toEqual([server + 60_500, true]);
  // Set, or asleep: nobody can tell which.
  clocks.wallMs += YEAR;
  expect([time.isCertain, time.certainMs]).toEqual([false, server + 60_000]);
  time.measure(-2 * YEAR);
  expect([time.isCertain, time.now(), time.certainMs]).toEqual([
    true,
    server + 60_500,
    server + 60_500,
  ]);
});

test("[S33] a clock that is off by less than a second counts as right", () => {
  const clocks = device();
  const time = new ServerTime(clocks, 5000);
  time.measure(-999.5);
  expect([time.offsetMs, time.now()]).toEqual([0, clocks.wallMs]);
});
