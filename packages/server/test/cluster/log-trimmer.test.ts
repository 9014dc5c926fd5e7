import { expect, onTestFinished, test, vi } from "vitest";
import { LogTrimmer } from "../../src/cluster/log-trimmer.ts";

interface World {
  nowMs: number;
  own: number;
  isOpen: boolean;
  /** Positions of the other nodes; undefined for one that does not answer. */
  others: { [node: string]: number | undefined };
  trims: number[];
  asked: number;
}

/** A trimmer of one store. Each pass is awaited by `pass`. */
function trimmerOf(others: World["others"]) {
  const world: World = { nowMs: 0, own: 0, isOpen: true, others, trims: [], asked: 0 };
  vi.useFakeTimers();
  const trimmer = new LogTrimmer({
    evaluated: () => (world.isOpen ? ["s"] : []),
    own: () => ({ sequence: world.own, isEvaluating: world.isOpen }),
    nodes: () => Object.keys(world.others),
    ask: async (node) => {
      world.asked++;
      const sequence = world.others[node];
      return sequence === undefined ? undefined : [{ sequence, isEvaluating: false }];
    },
    trim: async (_, through) => {
      world.trims.push(through);
    },
    elapsed: () => world.nowMs,
    bounds: { keptEntries: 10, awayMs: 1_000 },
    everyMs: 100,
    log: () => {},
  });
  onTestFinished(async () => {
    await trimmer.stop();
    vi.useRealTimers();
  });
  const pass = async (): Promise<void> => {
    world.nowMs += 100;
    await vi.advanceTimersByTimeAsync(100);
  };
  return { world, pass };
}

test("the log follows the slowest node, and only when there is something to forget", async () => {
  const { world, pass } = trimmerOf({ a: 0, b: 0 });
  Object.assign(world, { own: 100, others: { a: 100, b: 50 } });
  await pass();
  expect(world.trims).toEqual([40]);
  world.others["b"] = 100;
  await pass();
  expect(world.trims).toEqual([40, 90]);
  const { asked } = world;
  await pass();
  expect(world.asked).toBe(asked);
});

test("a node that is away holds the log where it was last, then no longer", async () => {
  const { world, pass } = trimmerOf({ a: 0, b: 0 });
  Object.assign(world, { own: 100, others: { a: 100, b: 50 } });
  await pass();
  world.others["b"] = undefined;
  for (let i = 0; i < 20; i++) {
    world.own += 100;
    world.others["a"] = world.own;
    await pass();
    if (i === 5) expect(world.trims).toEqual([40]);
  }
  expect(world.trims.at(-1)).toBe(world.own - 10);
});

test("a store that was closed is trimmed when the others have caught up", async () => {
  const { world, pass } = trimmerOf({ a: 0 });
  Object.assign(world, { own: 100, others: { a: 20 } });
  await pass();
  world.isOpen = false;
  await pass();
  world.others["a"] = 100;
  await pass();
  expect(world.trims).toEqual([10, 90]);
  world.own = 200;
  const { asked } = world;
  await pass();
  expect(world.asked).toBe(asked);
});
