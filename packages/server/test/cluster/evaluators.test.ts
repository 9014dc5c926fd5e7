/**
 * Which node is asked to evaluate, and when a request to it is given up.
 */

import type { Replica } from "@bigpeer/engine/cluster";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Evaluators } from "../../src/cluster/evaluators.ts";
import type { NodeInfo } from "../../src/cluster/membership.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Node `a` among `b` and `c`, with a store whose evaluating node the test names. */
function bench(evaluator: string) {
  const world = { evaluator, alive: ["b", "c"], hardToReach: [] as string[] };
  const info = (node: string): NodeInfo =>
    ({ node, url: `http://${node}`, isHardToReach: world.hardToReach.includes(node) }) as NodeInfo;
  const replica = {
    role: "following",
    get evaluator() {
      return world.evaluator;
    },
  } as Replica;
  const evaluators = new Evaluators({
    node: "a",
    stores: () => ({ find: () => replica }),
    membership: {
      find: (node) => (world.alive.includes(node) ? info(node) : undefined),
      get others() {
        return world.alive.map(info);
      },
    },
    client: { call: async () => ({}) },
    ownUrl: () => "http://a",
    isHardToReach: () => world.hardToReach.includes("a"),
    elapsed: () => Date.now(),
  });
  /** Runs a request that is answered only by its end. */
  const hang = (url: string): Promise<string> =>
    evaluators.while("s", url, (signal) => {
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(String(signal.reason)));
      });
    });
  return { world, evaluators, hang };
}

test("the node that evaluates by the log is asked, if it is alive", async () => {
  const { world, evaluators } = bench("b");
  expect(await evaluators.url("s", 0)).toBe("http://b");
  world.alive = ["c"];
  const late = evaluators.url("s", 1_000).catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(1_100);
  expect(await late).toContain("no node of the cluster evaluates");
});

test("a node that leaves evaluating to others asks one that they reach, which takes over", async () => {
  const { world, evaluators } = bench("a");
  world.hardToReach = ["a"];
  expect(await evaluators.url("s", 0)).toBe("http://b");
  world.hardToReach = ["a", "b"];
  expect(await evaluators.url("s", 0)).toBe("http://c");
  world.evaluator = "c";
  expect(await evaluators.url("s", 0)).toBe("http://c");
});

test("a request ends when another node evaluates", async () => {
  const { world, hang } = bench("b");
  const ended = hang("http://b");
  await vi.advanceTimersByTimeAsync(60_000);
  world.evaluator = "c";
  await vi.advanceTimersByTimeAsync(300);
  expect(await ended).toContain("another node evaluates now");
});

test("a request ends when its node is not alive, and for some time no other one takes over", async () => {
  const { world, hang } = bench("b");
  let reason = "";
  void hang("http://b").then((ended) => {
    reason = ended;
  });
  world.alive = [];
  await vi.advanceTimersByTimeAsync(15_000);
  world.alive = ["b"];
  await vi.advanceTimersByTimeAsync(1_000);
  world.alive = [];
  await vi.advanceTimersByTimeAsync(15_000);
  expect(reason).toBe("");
  await vi.advanceTimersByTimeAsync(6_000);
  expect(reason).toContain("no node evaluates");
});
