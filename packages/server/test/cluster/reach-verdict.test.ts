/**
 * When a node leaves evaluating to others, by what all nodes say about whom they reach.
 */

import { expect, test } from "vitest";
import { LEASE_MS } from "../../src/cluster/membership.ts";
import { isReachedLess, type ReachReport, ReachVerdict } from "../../src/cluster/reach-verdict.ts";

/** Reports of nodes, by the nodes that each does not reach; "!" marks one that is hard to reach. */
function reportsOf(given: { readonly [node: string]: string }): ReachReport[] {
  return Object.entries(given).map(([node, unreached]) => ({
    node,
    unreached: unreached
      .replace("!", "")
      .split("")
      .filter((each) => each !== " "),
    isHardToReach: unreached.includes("!"),
  }));
}

/** The nodes that leave evaluating to others. */
function leaving(given: { readonly [node: string]: string }): string {
  const reports = reportsOf(given);
  const isLeaving = (self: ReachReport): boolean =>
    isReachedLess(
      self,
      reports.filter((other) => other !== self),
    );
  return reports
    .filter(isLeaving)
    .map(({ node }) => node)
    .join("");
}

test.each([
  ["everybody reaches everybody", { a: "", b: "", c: "" }, ""],
  ["nobody reaches a", { a: "", b: "a", c: "a" }, "a"],
  ["a is cut off in both directions", { a: "bc", b: "a", c: "a" }, "a"],
  ["a and b do not reach each other, and c is left", { a: "b", b: "a", c: "" }, "ab"],
  ["two nodes alone do not reach each other", { a: "b", b: "a" }, ""],
  ["no node reaches any other", { a: "bc", b: "ac", c: "ab" }, ""],
  ["b reaches nobody and is reached: it is left", { a: "", b: "ac", c: "" }, "ac"],
  ["a node that is gone is reported", { a: "", b: "x", c: "x" }, ""],
  ["those who are reached better leave it to others too", { a: "", b: "a!", c: "a!" }, ""],
])("%s", (_, given, expected) => {
  expect(leaving(given)).toBe(expected);
});

test("the verdict changes after its reason has held for a lease, in both directions", () => {
  let nowMs = 0;
  const verdict = new ReachVerdict(() => nowMs);
  const [self, ...unreached] = reportsOf({ a: "", b: "a", c: "a" }) as [ReachReport];
  const reached = reportsOf({ b: "", c: "" });
  const pass = (ms: number, others: readonly ReachReport[]): boolean => {
    let isChanged = false;
    for (let passed = 0; passed < ms; passed += 500) {
      nowMs += 500;
      isChanged = verdict.update(self, others) || isChanged;
    }
    return isChanged;
  };
  expect(pass(LEASE_MS, unreached)).toBe(false);
  expect(pass(500, reached)).toBe(false);
  expect(pass(LEASE_MS, unreached)).toBe(false);
  expect(pass(500, unreached)).toBe(true);
  expect(verdict.isHardToReach).toBe(true);
  expect(pass(LEASE_MS, reached)).toBe(false);
  expect(pass(500, reached)).toBe(true);
  expect(verdict.isHardToReach).toBe(false);
});
