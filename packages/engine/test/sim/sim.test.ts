/**
 * The simulator over a few seeds, and that a seed is a whole description of a run.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { SimWorld } from "./sim-world.ts";
import { Simulation, simulate } from "./simulation.ts";

const SEEDS = sized(2, 20);

test("[S1–S46] [S57] all stores end equal, whatever happens on the way, by seed", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const report = await simulate(seed);
    for (const [name, count] of report.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  // Few seeds need not meet everything.
  if (!isFullSize) return;
  // Not vacuous: peers wrote, were cut off, crashed, lost rights; everything was said at some time.
  for (const name of ["local write", "direct write", "server crash", "peer crash", "restore"]) {
    expect(counts.get(name), name).toBeGreaterThan(SEEDS / 10);
  }
  for (const name of ["relaxed commit lost", "commit aborted", "commit beyond the quota"]) {
    expect(counts.get(name), name).toBeGreaterThan(SEEDS);
  }
  for (const name of ["good", "remote.lost", "query.timeout"]) {
    expect(counts.get(`answer ${name}`), name).toBeGreaterThan(SEEDS / 10);
  }
  for (const name of ["run", "answer", "cancel", "presence", "metadata", "watch"]) {
    expect(counts.get(`message ${name}`), name).toBeGreaterThan(SEEDS);
  }
  expect(counts.get("message subscribe inside of a fill")).toBeGreaterThan(SEEDS / 10);
  for (const name of ["documents", "versions", "committed", "behind", "forked", "rights", "site"]) {
    expect(counts.get(`message ${name}`), name).toBeGreaterThan(0);
  }
});

test.runIf(isFullSize)("the same seed gives the same run", async () => {
  const play = (seed: number) => simulate(seed, { length: sized(60, 100) });
  const [first, second] = [await play(4242), await play(4242)];
  expect(second).toEqual(first);
  expect((await play(4243)).fingerprint).not.toBe(first.fingerprint);
});

test("a failed run names its seed, the step, the broken invariant and the last events", async () => {
  const simulation = new Simulation(new SimWorld(1, false), { length: 1 });
  simulation.scheduler.fail("an invariant", "some detail");
  await expect(simulation.play()).rejects.toThrow("an invariant: some detail");
  expect(simulation.scheduler.trace.at(-1)).toBe("0.000 BROKEN: an invariant: some detail");
});
