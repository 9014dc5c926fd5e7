/**
 * What the process tells of itself, and that it stops watching when it was told to.
 */

import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test, vi } from "vitest";
import { type PauseKind, ProcessStats } from "../../src/observability/process-stats.ts";

function openStats() {
  const pauses: { kind: PauseKind; seconds: number }[] = [];
  const stats = new ProcessStats((kind, seconds) => pauses.push({ kind, seconds }));
  onTestFinished(() => stats.close());
  return { stats, pauses };
}

/** Makes the garbage collector work, which Node offers to no program that does not ask for it. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

test("memory, processor time and the start of the process are reported", () => {
  const { stats } = openStats();
  const reading = stats.read();
  expect(reading.residentBytes).toBeGreaterThan(reading.heapUsedBytes);
  expect(reading.heapTotalBytes).toBeGreaterThan(0);
  expect(reading.cpuUserSeconds).toBeGreaterThan(0);
  expect(reading.startSeconds * 1_000).toBeLessThanOrEqual(Date.now());
  const { loopLag } = reading;
  expect(loopLag).toEqual({ mean: 0, p50: 0, p99: 0, max: 0 });
});

test.runIf(process.platform === "linux")("open files are counted", () => {
  expect(openStats().stats.read().openFiles).toBeGreaterThan(0);
});

test("a blocked event loop has a delay", async () => {
  const { stats } = openStats();
  await vi.waitFor(async () => {
    // The watch measures from one look to the next: one before, one after.
    await setTimeout(30);
    const end = performance.now() + 50;
    while (performance.now() < end);
    await setTimeout(30);
    expect(stats.read().loopLag.max).toBeGreaterThan(0.01);
  });
});

test("garbage collection pauses are reported until the watch ends", async () => {
  const ended = openStats();
  const watching = openStats();
  collectGarbage();
  for (const { pauses } of [ended, watching]) {
    await vi.waitFor(() => expect(pauses.map(({ kind }) => kind)).toContain("major"));
  }
  ended.stats.close();
  ended.stats.close();
  const before = ended.pauses.length;
  const reported = watching.pauses.length;
  collectGarbage();
  await vi.waitFor(() => expect(watching.pauses.length).toBeGreaterThan(reported));
  expect(ended.pauses).toHaveLength(before);
  expect(watching.pauses.every(({ seconds }) => seconds >= 0)).toBe(true);
});
