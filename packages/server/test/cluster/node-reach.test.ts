/**
 * Which nodes are reached, by requests and by probes.
 */

import { expect, test } from "vitest";
import { NodeReach } from "../../src/cluster/node-reach.ts";

function bench() {
  const world = { nowMs: 0, alive: ["b", "c"], unreachable: new Set<string>() };
  const probed: string[] = [];
  const reach = new NodeReach({
    others: () => world.alive.map((node) => ({ node, url: `http://${node}` })),
    probe: async (url) => {
      probed.push(url);
      if (world.unreachable.has(url)) throw new Error("no connection");
    },
    elapsed: () => world.nowMs,
  });
  /** Seconds pass, and probes are answered. */
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      world.nowMs += 1_000;
      reach.tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { world, probed, reach, pass };
}

test("a node that does not answer probes is not reached, until it answers one", async () => {
  const { world, reach, pass } = bench();
  world.unreachable.add("http://b");
  await pass(1);
  expect(reach.unreached).toEqual(["b"]);
  world.unreachable.clear();
  await pass(1);
  expect(reach.unreached).toEqual([]);
});

test("a node that requests reach is not probed", async () => {
  const { probed, reach, pass } = bench();
  await pass(1);
  probed.length = 0;
  for (let i = 0; i < 10; i++) {
    reach.note("http://b", true);
    await pass(1);
  }
  expect(probed).not.toContain("http://b");
  expect(probed.filter((url) => url === "http://c").length).toBe(5);
});

test("a failed request shows that a node is not reached, unless another one has just reached it", async () => {
  const { world, reach, pass } = bench();
  await pass(1);
  reach.note("http://b", false);
  expect(reach.unreached).toEqual([]);
  world.nowMs += 2_000;
  expect(reach.unreached).toEqual(["b"]);
  await pass(1);
  expect(reach.unreached).toEqual([]);
});

test("nodes that are gone are forgotten", async () => {
  const { world, reach, pass } = bench();
  world.unreachable.add("http://b");
  await pass(1);
  world.alive = ["c"];
  await pass(1);
  expect(reach.unreached).toEqual([]);
});
