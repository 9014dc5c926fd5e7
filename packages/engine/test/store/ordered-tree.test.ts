import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { OrderedTree } from "../../src/store/ordered-tree.ts";

const ALL = { from: "", to: "\u{10ffff}" };

function treeOf(keys: readonly string[]): OrderedTree<number> {
  return keys.reduce((tree, key, i) => tree.with(key, i), OrderedTree.empty<number>());
}

function keysIn(tree: OrderedTree<number>, range = ALL): string[] {
  return Array.from(tree.entries(range), ([key]) => key);
}

test("an empty tree has no entries, in both directions", () => {
  const tree = OrderedTree.empty<number>();
  expect(tree.get("a")).toBeUndefined();
  expect(keysIn(tree)).toEqual([]);
  expect([...tree.entries({ ...ALL, reverse: true })]).toEqual([]);
});

test("thousands of entries are found, in order, however they were put", () => {
  const sorted = Array.from({ length: sized(1500, 3000) }, (_, i) => String(i).padStart(5, "0"));
  const shuffled = sorted.map((_, i) => sorted[(i * 1009) % sorted.length] ?? "");
  for (const keys of [sorted, sorted.toReversed(), shuffled]) {
    const tree = treeOf(keys);
    expect(keysIn(tree)).toEqual(sorted);
    for (const [i, key] of keys.entries()) expect(tree.get(key)).toBe(i);
    expect(tree.get("00000x")).toBeUndefined();
  }
});

test("a change leaves the tree that it was made from unchanged", () => {
  const before = treeOf(["a", "b", "c"]);
  const after = before.with("b", 7).with("d", 8).without("a");
  expect([...before.entries(ALL)]).toEqual([
    ["a", 0],
    ["b", 1],
    ["c", 2],
  ]);
  expect([...after.entries(ALL)]).toEqual([
    ["b", 7],
    ["c", 2],
    ["d", 8],
  ]);
});

test("removing an absent key returns the same tree", () => {
  const tree = treeOf(["a", "b"]);
  expect(tree.without("c")).toBe(tree);
});

test("a tree can be emptied and filled again", () => {
  const keys = Array.from({ length: 2000 }, (_, i) => `key ${i}`);
  let tree = treeOf(keys);
  for (const key of keys) tree = tree.without(key);
  expect(keysIn(tree)).toEqual([]);
  expect(keysIn(tree.with("a", 1))).toEqual(["a"]);
});

test("a walk of one tree continues while others are made from it", () => {
  let tree = treeOf(Array.from({ length: 500 }, (_, i) => `key ${i}`));
  let count = 0;
  for (const [key] of tree.entries(ALL)) {
    tree = tree.without(key);
    count++;
  }
  expect(count).toBe(500);
  expect(keysIn(tree)).toEqual([]);
});

test("any changes and ranges agree with a sorted map", () => {
  const key = fc.integer({ min: 0, max: 400 }).map((i) => String.fromCharCode(i % 256, i >> 3));
  const change = fc.tuple(key, fc.option(fc.nat(), { nil: undefined, freq: 3 }));
  const range = fc.record({ from: key, to: key, reverse: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 1500, size: "max" }),
      fc.array(range, { maxLength: 10 }),
      (changes, ranges) => {
        let tree = OrderedTree.empty<number>();
        const model = new Map<string, number>();
        for (const [changed, value] of changes) {
          tree = value === undefined ? tree.without(changed) : tree.with(changed, value);
          if (value === undefined) model.delete(changed);
          else model.set(changed, value);
        }
        const sorted = [...model].toSorted(([a], [b]) => (a < b ? -1 : 1));
        expect([...tree.entries(ALL)]).toEqual(sorted);
        for (const { from, to, reverse } of ranges) {
          const part = sorted.filter(([found]) => found >= from && found < to);
          expect([...tree.entries({ from, to, reverse })]).toEqual(
            reverse ? part.toReversed() : part,
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("adding many entries at once gives the same as adding one after the other", () => {
  const key = fc.integer({ min: 0, max: 4000 }).map((i) => String(i * 7919).padStart(8, "0"));
  const batch = fc.uniqueArray(fc.tuple(key, fc.nat()), {
    selector: ([name]) => name,
    maxLength: sized(200, 600),
    size: "max",
  });
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 6 }), (batches) => {
      let tree = OrderedTree.empty<number>();
      let slow = OrderedTree.empty<number>();
      for (const [i, entries] of batches.entries()) {
        const before = keysIn(tree);
        const next = tree.withAll(entries);
        expect(keysIn(tree)).toEqual(before);
        for (const [name, value] of entries) slow = slow.with(name, value);
        expect([...next.entries(ALL)]).toEqual([...slow.entries(ALL)]);
        tree = next;
        // Every other batch is taken out again, one by one.
        if (i % 2 === 0) continue;
        for (const [name] of entries) {
          tree = tree.without(name);
          slow = slow.without(name);
        }
      }
      expect([...tree.entries(ALL)]).toEqual([...slow.entries(ALL)]);
      for (const name of keysIn(slow)) expect(tree.get(name)).toBe(slow.get(name));
    }),
    { numRuns: 40 },
  );
  expect(treeOf(["a"]).withAll([]).get("a")).toBe(0);
});
