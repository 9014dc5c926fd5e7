/**
 * Which node tries to evaluate a store, and when.
 */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Elections } from "../../src/cluster/elections.ts";
import type { NodeInfo } from "../../src/cluster/membership.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

interface World {
  alive: string[];
  isComplete: boolean;
  mayEvaluate: boolean;
  /** Nodes that leave evaluating to others. */
  hardToReach: string[];
}

const NODES = ["a", "b", "c"];

/** Elections of one node, with a replica whose evaluating node is `evaluator`. */
function candidate(node: string, world: World, evaluator: string) {
  const info = (name: string): NodeInfo =>
    ({ node: name, isHardToReach: world.hardToReach.includes(name) }) as NodeInfo;
  const elections = new Elections({
    node,
    membership: {
      find: (name) => (world.alive.includes(name) ? info(name) : undefined),
      get others() {
        return world.alive.filter((name) => name !== node).map(info);
      },
      get isComplete() {
        return world.isComplete;
      },
    },
    elapsed: () => Date.now(),
    mayEvaluate: () => world.mayEvaluate,
    isHardToReach: () => world.hardToReach.includes(node),
    log: () => {},
  });
  const replica = {
    role: "following" as "following" | "evaluating",
    evaluator,
    evaluate: vi.fn<() => Promise<boolean>>(async () => {
      replica.role = "evaluating";
      return true;
    }),
    stepDown: vi.fn<() => Promise<void>>(async () => {
      replica.role = "following";
    }),
  };
  elections.add("app", replica);
  return { replica, elections };
}

function worldOf(given: Partial<World> = {}): World {
  return { alive: [...NODES], isComplete: true, mayEvaluate: true, hardToReach: [], ...given };
}

test("nobody takes over from a node that is alive", async () => {
  const { replica } = candidate("b", worldOf(), "a");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(replica.evaluate).not.toHaveBeenCalled();
});

test("a node that evaluated before goes on at once", () => {
  const { replica } = candidate("a", worldOf({ isComplete: false }), "a");
  expect(replica.evaluate).toHaveBeenCalledTimes(1);
});

test("the others try one after the other when the evaluating node is gone", async () => {
  const places: number[] = [];
  for (const node of ["b", "c"]) {
    const { replica } = candidate(node, worldOf({ alive: ["b", "c"] }), "a");
    let waitedMs = 0;
    while (replica.evaluate.mock.calls.length === 0 && waitedMs < 10_000) {
      await vi.advanceTimersByTimeAsync(100);
      waitedMs += 100;
    }
    places.push(waitedMs);
  }
  const [first = 0, second = 0] = places.toSorted((one, other) => one - other);
  expect(first).toBeLessThanOrEqual(200);
  expect(second).toBeGreaterThanOrEqual(700);
  expect(second).toBeLessThanOrEqual(1_000);
});

test("a node that has just started waits until it knows the others", async () => {
  const given = worldOf({ alive: ["b"], isComplete: false });
  const { replica } = candidate("b", given, "a");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(replica.evaluate).not.toHaveBeenCalled();
  given.isComplete = true;
  await vi.advanceTimersByTimeAsync(3_000);
  expect(replica.evaluate).toHaveBeenCalledTimes(1);
});

test("a node that closes, or whose clock is wrong, takes nothing over", async () => {
  const { replica } = candidate("a", worldOf({ mayEvaluate: false }), "a");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(replica.evaluate).not.toHaveBeenCalled();
});

test("an evaluating node that others do not reach steps down, and takes over only after that", async () => {
  const given = worldOf();
  const { replica } = candidate("a", given, "a");
  await vi.advanceTimersByTimeAsync(500);
  expect(replica.role).toBe("evaluating");
  given.hardToReach = ["a"];
  await vi.advanceTimersByTimeAsync(10_000);
  expect(replica.role).toBe("following");
  expect(replica.stepDown).toHaveBeenCalledTimes(1);
  expect(replica.evaluate).toHaveBeenCalledTimes(1);
  given.hardToReach = [];
  await vi.advanceTimersByTimeAsync(500);
  expect(replica.role).toBe("evaluating");
});

test("the others take over from a node that is alive and leaves evaluating to them", async () => {
  const given = worldOf();
  const { replica } = candidate("b", given, "a");
  given.hardToReach = ["a"];
  await vi.advanceTimersByTimeAsync(2_000);
  expect(replica.role).toBe("evaluating");
});
