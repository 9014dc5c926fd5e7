/**
 * Membership: which nodes are alive, which have died, and that a node that is cut off from the bus
 * takes no other for dead.
 */

import { expect, onTestFinished, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { Membership, type NodeInfo } from "../../src/cluster/membership.ts";
import { LossyBus } from "./support/lossy-bus.ts";

const AWAY_MS = 60_000;

interface Bench {
  readonly bus: LossyBus;
  readonly clock: { ms: number };
  readonly start: (node: string, change?: Partial<NodeInfo>) => Membership;
  /** Time passes, with heartbeats of these nodes. */
  readonly pass: (ms: number, ...alive: readonly Membership[]) => void;
}

function bench(): Bench {
  const bus = new LossyBus(() => 0.5);
  const clock = { ms: 0 };
  return {
    bus,
    clock,
    start: (node, change = {}) => {
      const info = { node, instance: `${node}-1`, url: node, version: "1", ...change };
      const reach = { unreached: [], isHardToReach: false };
      const self = (): NodeInfo => ({
        entryFormat: 1,
        nowMs: 0,
        isClosing: false,
        ...reach,
        ...info,
      });
      const elapsed = (): number => clock.ms;
      const made = new Membership({ bus, self, elapsed, now: elapsed, awayMs: AWAY_MS });
      onTestFinished(() => made.close());
      return made;
    },
    pass: (ms, ...alive) => {
      for (let passed = 0; passed < ms; passed += 500) {
        clock.ms += 500;
        for (const membership of alive) membership.announce();
      }
    },
  };
}

test("a node that was not heard for its lease is gone, and one that closes at once", () => {
  const { start, pass } = bench();
  const one = start("n1");
  const two = start("n2");
  expect(one.isComplete).toBe(false);
  pass(4_000, one, two);
  expect(one.isComplete).toBe(true);
  expect(one.isGone("n2", "n2-1")).toBe(false);
  pass(2_500, one);
  expect(one.isGone("n2", "n2-1")).toBe(false);
  pass(500, one);
  expect(one.isGone("n2", "n2-1")).toBe(true);
  pass(500, one, two);
  expect(one.isGone("n2", "n2-1")).toBe(false);
  expect(one.isGone("n2", "n2-0")).toBe(true);
  start("n2", { isClosing: true });
  expect(one.isGone("n2", "n2-1")).toBe(true);
});

test("a node that is cut off from the bus takes no other for dead, nor right after it is back", () => {
  const { bus, start, pass } = bench();
  const one = start("n1");
  const two = start("n2");
  pass(4_000, one, two);
  bus.lost = 1;
  pass(60_000, one, two);
  expect(one.find("n2")).toBeUndefined();
  expect(one.isGone("n2", "n2-1")).toBe(false);
  expect(one.isComplete).toBe(false);
  bus.lost = 0;
  pass(2_500, one);
  expect(one.isGone("n2", "n2-1")).toBe(false);
  pass(1_000, one);
  expect(one.isGone("n2", "n2-1")).toBe(true);
});

test("one wrong clock among three does not make the right ones look wrong", () => {
  const { start } = bench();
  const one = start("n1");
  start("n2");
  start("n3", { nowMs: 3_600_000 });
  expect(Math.abs(one.clockOffsetMs)).toBe(0);
  // Two others that agree are right.
  start("n2", { instance: "n2-2", nowMs: 3_500_000 });
  expect(one.clockOffsetMs).toBe(-3_500_000);
});

test("a heartbeat says which nodes its sender does not reach", () => {
  const { start } = bench();
  const one = start("n1");
  start("n2", { unreached: ["n1", "n3"], isHardToReach: true });
  expect(one.find("n2")).toMatchObject({ unreached: ["n1", "n3"], isHardToReach: true });
});

test("a heartbeat of an older version says that its sender reaches all nodes", () => {
  const { bus, start } = bench();
  const one = start("n1");
  const info = { node: "n2", instance: "n2-1", url: "n2", version: "0", entryFormat: 1 };
  bus.publish("nodes", { ...info, nowMs: 0, isClosing: false });
  expect(one.find("n2")).toMatchObject({ unreached: [], isHardToReach: false });
  bus.publish("nodes", { ...info, nowMs: 0, isClosing: false, unreached: [1], isHardToReach: 2 });
  expect(one.find("n2")).toMatchObject({ unreached: [], isHardToReach: false });
});

test.runIf(isFullSize)(
  "the nodes that are remembered have a bound, and those that are heard stay",
  () => {
    const { start, pass } = bench();
    const one = start("n1");
    const two = start("n2");
    for (let i = 0; i < 1_100; i++) {
      start(`gone-${i}`).close();
      if (i % 100 === 0) pass(500, two);
    }
    expect(one.heard().length).toBe(1_000);
    expect(one.find("n2")).toBeDefined();
  },
);

test("the format of entries is the least of all nodes, also of one that is away for a while", () => {
  const { start, pass } = bench();
  const next = { entryFormat: 2 };
  const one = start("n1", next);
  expect(one.entryFormat).toBe(1);
  pass(2_000, one);
  expect(one.entryFormat).toBe(2);
  const two = start("n2");
  expect(one.entryFormat).toBe(1);
  pass(4_000, one, two);
  expect(two.entryFormat).toBe(1);
  // It is away, and may come back with the old version.
  two.close();
  pass(AWAY_MS - 500, one);
  expect([one.find("n2"), one.entryFormat]).toEqual([undefined, 1]);
  pass(500, one);
  expect(one.entryFormat).toBe(2);
  const three = start("n3");
  expect(one.entryFormat).toBe(1);
  three.close();
  start("n3", { ...next, instance: "n3-2" });
  expect(one.entryFormat).toBe(2);
});

test("a node that was cut off from the bus writes the oldest format until it knows the others", () => {
  const { bus, start, pass } = bench();
  const one = start("n1", { entryFormat: 2 });
  pass(2_000, one);
  expect(one.entryFormat).toBe(2);
  bus.lost = 1;
  pass(4_000, one);
  expect(one.entryFormat).toBe(1);
  bus.lost = 0;
  pass(1_000, one);
  expect(one.entryFormat).toBe(1);
  pass(1_000, one);
  expect(one.entryFormat).toBe(2);
});
