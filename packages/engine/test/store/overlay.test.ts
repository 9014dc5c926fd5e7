import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import type { Key, KeyEntry, KeyRange, Reader } from "../../src/platform.ts";
import { Overlay } from "../../src/store/overlay.ts";

/** A reader over a plain map: slow and obvious. */
function mapReader(map: Map<Key, Value>): Reader {
  const select = ({ from, to, reverse }: KeyRange): KeyEntry[] => {
    const keys = [...map.keys()].filter((key) => key >= from && key < to).sort();
    if (reverse === true) keys.reverse();
    return keys.map((key) => ({ key, value: map.get(key) as Value }));
  };
  return {
    get: (key) => map.get(key),
    has: (key) => map.has(key),
    entries: select,
    keys: (range) => select(range).map((entry) => entry.key),
  };
}

const key = fc.constantFrom("a", "b", "c", "ca", "cb", "cc", "d", "e", "f", "g", "\x00", "\xfe");
const write = fc.tuple(key, fc.option(fc.integer(), { nil: undefined }));
const range = fc.record({ from: key, to: key, reverse: fc.boolean() });

test("[K21] two overlays over a reader read as one map with all writes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(key, fc.integer())),
      fc.array(write),
      fc.array(write),
      range,
      (base, first, second, where) => {
        const model = new Map<Key, Value>(base);
        const lower = new Overlay(mapReader(new Map(base)));
        const upper = new Overlay(lower);
        for (const [overlay, writes] of [
          [lower, first],
          [upper, second],
        ] as const) {
          for (const [name, value] of writes) {
            if (value === undefined) overlay.remove(name);
            else overlay.put(name, value);
            if (value === undefined) model.delete(name);
            else model.set(name, value);
          }
        }
        const expected = mapReader(model);
        expect([...upper.entries(where)]).toEqual([...expected.entries(where)]);
        expect([...upper.keys(where)]).toEqual([...expected.keys(where)]);
        for (const name of "abcdefg") {
          expect(upper.get(name)).toBe(model.get(name));
          expect(upper.has(name)).toBe(model.has(name));
        }
        lower.absorb(upper);
        for (const name of "abcdefg") expect(lower.get(name)).toBe(model.get(name));
        expect([...lower.entries(where)]).toEqual([...expected.entries(where)]);
        expect([...lower.writes.keys()].sort()).toEqual(
          [...new Set([...first, ...second].map(([name]) => name))].sort(),
        );
      },
    ),
    { numRuns: runs(1000) },
  );
});

test("[K21] a walk shows the state when it started, whatever is written meanwhile", () => {
  const overlay = new Overlay(mapReader(new Map([["a1", 1]])));
  overlay.put("a2", 2);
  const walk = overlay.entries({ from: "a", to: "b" });
  overlay.put("a2", 3);
  overlay.put("a3", 3);
  expect([...walk].map(({ value }) => value)).toEqual([1, 2]);
});

test("[K21] an overlay passes the wanted fields on to the reader below", () => {
  const asked: unknown[] = [];
  const below = mapReader(new Map([["a", { x: 1, y: 2 }]]));
  const overlay = new Overlay({
    ...below,
    get: (name, fields) => {
      asked.push(fields);
      return below.get(name);
    },
    entries: (where, fields) => {
      asked.push(fields);
      return below.entries(where);
    },
  });
  const where = { from: "a", to: "z" };
  overlay.get("a", ["x"]);
  expect([...overlay.entries(where, ["y"])]).toHaveLength(1);
  overlay.put("b", { z: 1 });
  expect([...overlay.entries(where, ["z"])]).toHaveLength(2);
  expect([...overlay.keys(where)]).toEqual(["a", "b"]);
  expect(asked).toEqual([["x"], ["y"], ["z"], []]);
});

test("[K21] a rebased overlay reads through its new parent", () => {
  const overlay = new Overlay(mapReader(new Map([["a", 1]])));
  overlay.put("b", 2);
  overlay.rebase(mapReader(new Map([["a", 3]])));
  expect([...overlay.entries({ from: "a", to: "z" })]).toEqual([
    { key: "a", value: 3 },
    { key: "b", value: 2 },
  ]);
});

test("[K21] an announced range that is empty below is not read there again, and own writes show", () => {
  const asked: Key[] = [];
  const below = mapReader(
    new Map([
      ["a1", 1],
      ["c1", 3],
    ]),
  );
  const overlay = new Overlay({
    ...below,
    get: (name, fields) => {
      asked.push(name);
      return below.get(name, fields);
    },
  });
  overlay.expect({ from: "b", to: "c" });
  overlay.expect({ from: "a", to: "b" });
  overlay.put("b2", 2);
  const read = ["a1", "a2", "b", "b1", "b2", "c", "c1"].map((name) => overlay.get(name));
  expect(read).toEqual([1, undefined, undefined, undefined, 2, undefined, 3]);
  expect(asked).toEqual(["a1", "a2", "c", "c1"]);
});
