/**
 * The simulator of links over a few seeds, and that a seed is a whole description of a run.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { simulateLinks } from "./link-simulation.ts";

const SEEDS = sized(2, 40);

test("[S47–S56] linked sites end with everything that they follow, whatever happens on the way, by seed", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const report = await simulateLinks(seed);
    for (const [name, count] of report.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  // Few seeds need not meet everything.
  if (!isFullSize) return;
  // Not vacuous: all shapes, all kinds of trouble, and everything was said at some time.
  for (const shape of ["line", "star", "ring", "mesh"]) {
    expect(counts.get(shape), shape).toBeGreaterThan(0);
  }
  for (const name of [
    "direct write",
    "local write",
    "site crash",
    "reconfigure",
    "claim",
    "tally",
  ]) {
    expect(counts.get(name), name).toBeGreaterThan(SEEDS / 2);
  }
  for (const name of ["restored", "partition", "clock", "time passes", "ended duplicate"]) {
    expect(counts.get(name), name).toBeGreaterThan(0);
  }
  for (const name of ["put", "left", "deleted", "resume", "fill", "behind", "want"]) {
    expect(counts.get(`message ${name}`), name).toBeGreaterThan(0);
  }
  // What was put aside and counted makes a tally uncertain: seldom.
  expect(counts.get("unknown tally") ?? 0).toBeLessThan((counts.get("tally") ?? 0) / 10);
});

test.runIf(isFullSize)("the same seed gives the same run of linked sites", async () => {
  const play = (seed: number) => simulateLinks(seed, { length: sized(40, 80) });
  const [first, second] = [await play(4242), await play(4242)];
  expect(second).toEqual(first);
  expect((await play(4243)).fingerprint).not.toBe(first.fingerprint);
});
