/**
 * Show: which variant of a field shows, what it is worth, and what mark it carries.
 */

import { type FieldType, type Types, ZERO } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { addAmounts, isShown, show, visibleType } from "../../src/crdt/show.ts";
import { EMPTY_NODE, EMPTY_STATE, type Node } from "../../src/crdt/state.ts";
import {
  increment,
  initial,
  insert,
  Peer,
  peerAfter,
  remove,
  restart,
  set,
  shownAfter,
  shownTogether,
  stampAt,
  unset,
} from "../support/peer.ts";

const LIMIT = 2n ** 63n;

/** A node with every variant, each at its own time. */
function nodeAt(times: Partial<Record<FieldType, number>>): Node {
  const at = (type: FieldType) => stampAt(times[type] ?? 0, 1);
  const counter = (type: FieldType) => ({ reset: { stamp: at(type), value: 1 }, adds: [] });
  return {
    ...EMPTY_NODE,
    reg: times.register === undefined ? undefined : { stamp: at("register"), value: 1 },
    att: times.attachment === undefined ? undefined : { stamp: at("attachment"), value: {} },
    ctr: times.counter === undefined ? undefined : counter("counter"),
    pn: times.pn_counter === undefined ? undefined : counter("pn_counter"),
    map: times.map === undefined ? undefined : { touch: at("map"), kids: new Map() },
  };
}

const RANKS = ["register", "attachment", "counter", "pn_counter", "map"] as const;

test("[D14] the newest variant of a field shows", () => {
  for (const newest of RANKS) {
    const times = Object.fromEntries(RANKS.map((type, i) => [type, type === newest ? 9 : i + 1]));
    expect(visibleType(nodeAt(times))).toBe(newest);
  }
});

test("[D14] ties go register < attachment < counter < PN-counter < map", () => {
  for (const [i, lower] of RANKS.entries()) {
    for (const higher of RANKS.slice(i))
      expect(visibleType(nodeAt({ [lower]: 5, [higher]: 5 }))).toBe(higher);
  }
  expect(
    shownTogether(...[initial({ a: 1 }), initial({ a: { x: 1 } })].map((i) => peerAfter(i))),
  ).toEqual({
    a: { x: 1 },
  });
});

test("[D14] a map is as new as the newest stamp in it, removals included", () => {
  expect(shownAfter(insert({ m: { x: { z: 1 } } }), set("m", 5), set("m.x.z", 2))).toEqual({
    m: { x: { z: 2 } },
  });
  const writer = peerAfter(insert({ m: { x: 1, y: 1 } }));
  const other = writer.fork(2);
  writer.write(set("m", 5), 20);
  other.write(unset("m.x"), 30);
  expect(shownTogether(writer, other)).toEqual({ m: { y: 1 } });
});

test("[D14] entries that an UNSET ended do not make a variant newer", () => {
  const writer = peerAfter(insert({ m: { x: 1 } }), set("m", 5));
  expect(writer.shown).toEqual({ m: 5 });
  const below = peerAfter(insert({ m: { x: { z: 1 } } }), unset("m.x"), set("m", 5));
  expect(below.shown).toEqual({ m: 5 });
});

test("[D14] a counter is as new as its restart and its live sums", () => {
  expect(shownAfter(insert({}), increment("k", 5), set("k", "x"))).toEqual({ k: "x" });
  expect(shownAfter(insert({}), increment("k", 5), set("k", "x"), increment("k", 1))).toEqual({
    k: 6,
  });
  expect(shownAfter(insert({}), set("k", "x"), restart("k", 2))).toEqual({ k: 2 });
  expect(shownAfter(insert({}), increment("k", 1), increment("k", 7, "pn_counter"))).toEqual({
    k: 7,
  });
});

test("[D15] a declared type shows its own variant or nothing", () => {
  const { state } = peerAfter(
    insert({ a: 1 }),
    set("a", { id: "t" }, "attachment"),
    increment("a", 4),
    increment("a", 0.5, "pn_counter"),
    set("a", { x: { y: 1 }, k: 2 }, { k: "counter" }),
  );
  const as = (type: Types[string]): unknown => show(state, { a: type })?.fields;
  expect(as("register")).toEqual({ a: 1 });
  expect(as("attachment")).toEqual({ a: { id: "t" } });
  expect(as("counter")).toEqual({ a: 4 });
  expect(as("pn_counter")).toEqual({ a: 0.5 });
  expect(as("map")).toEqual({ a: { x: { y: 1 }, k: 2 } });
  expect(as({ x: "register", k: "counter" })).toEqual({ a: { k: 2 } });
  expect(as({ k: "register" })).toEqual({ a: { x: { y: 1 } } });
  expect(show(peerAfter(insert({ a: 1 })).state, { a: "counter", b: "map" })?.fields).toEqual({});
  expect(show(peerAfter(insert({ a: 1 })).state, { b: "map" })?.fields).toEqual({ a: 1 });
});

test("[D15] a map that exists only through fields of other types shows nothing for its own", () => {
  const { state } = peerAfter(insert({}), set("m.x", 1));
  expect(show(state, { m: { x: "counter" } })?.fields).toEqual({});
  expect(
    show(peerAfter(insert({ m: {} }), set("m.x", 1)).state, { m: { x: "counter" } })?.fields,
  ).toEqual({
    m: {},
  });
});

test("[D16] counter sums are exact without bound and are clamped to 64 bits when shown", () => {
  const up = [increment("k", LIMIT - 1n), increment("k", 5)];
  expect(shownAfter(insert({}), ...up)).toEqual({ k: LIMIT - 1n });
  expect(shownAfter(insert({}), ...up, increment("k", -10))).toEqual({ k: LIMIT - 6n });
  const down = [increment("k", -LIMIT), increment("k", -5)];
  expect(shownAfter(insert({}), ...down)).toEqual({ k: -LIMIT });
  expect(shownAfter(insert({}), ...down, increment("k", 10))).toEqual({ k: -LIMIT + 5n });
  expect(shownAfter(insert({}), restart("k", 2n ** 64n - 1n))).toEqual({ k: LIMIT - 1n });
});

test("[D16] sums cross the limits of JS numbers exactly and have one form", () => {
  const safe = Number.MAX_SAFE_INTEGER;
  expect(shownAfter(insert({}), increment("k", safe), increment("k", 2))).toEqual({
    k: 2n ** 53n + 1n,
  });
  expect(
    shownAfter(insert({}), increment("k", safe), increment("k", 2), increment("k", -2)),
  ).toEqual({
    k: safe,
  });
  const integers = fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }));
  fc.assert(
    fc.property(integers, integers, (a, b) => {
      const [x, y] = [a, b].map((each) =>
        Number.isSafeInteger(Number(each)) ? Number(each) : each,
      );
      const sum = BigInt(a) + BigInt(b);
      const expected = Number.isSafeInteger(Number(sum)) ? Number(sum) : sum;
      expect(addAmounts(x ?? 0, y ?? 0)).toBe(expected);
    }),
  );
});

test("[D16] PN-counters are floats, added in the order of birth and site", () => {
  const writer = peerAfter(insert({ k: 0.1 }, { k: "pn_counter" }));
  const peers = [3, 2, 4].map((site) => writer.fork(site));
  for (const [i, by] of [1e16, 0.2, -1e16].entries())
    peers[i]?.write(increment("k", by, "pn_counter"));
  // Sites 2, 3, 4 in this order: ((0.1 + 0.2) + 1e16) - 1e16.
  const expected = { k: 0.1 + 0.2 + 1e16 - 1e16 };
  expect(shownTogether(...peers)).toEqual(expected);
  expect(shownTogether(...peers.toReversed())).toEqual(expected);
});

test("[D17] a map that was written shows, also when it is empty", () => {
  expect(shownAfter(insert({ m: {} }))).toEqual({ m: {} });
  expect(shownAfter(insert({}), set("m.n", {}))).toEqual({ m: { n: {} } });
  expect(shownAfter(insert({ m: { x: 1 } }), unset("m.x"))).toEqual({ m: {} });
});

test("[D17] a map that exists only because of fields below it disappears with them", () => {
  expect(shownAfter(insert({}), set("m.n.x", 1))).toEqual({ m: { n: { x: 1 } } });
  expect(shownAfter(insert({}), set("m.n.x", 1), unset("m.n.x"))).toEqual({});
  expect(shownAfter(insert({}), set("m.n.x", 1), set("m.y", 1), unset("m.n.x"))).toEqual({
    m: { y: 1 },
  });
  expect(shownAfter(insert({ m: 5 }), set("m.n.x", 1), unset("m.n.x"))).toEqual({ m: 5 });
});

test("[K14] a type mark is stored where a value does not have the type of its shape, and nowhere else", () => {
  const { state } = peerAfter(
    insert(
      { r: { x: 1 }, c: 1, p: 1, t: { id: 1 }, m: { r: {}, s: 1 }, s: 1, l: [{}], o: {} },
      { r: "register", c: "counter", p: "pn_counter", t: "attachment", m: { r: "register" } },
    ),
  );
  expect(show(state)?.types).toEqual({
    r: "register",
    c: "counter",
    p: "pn_counter",
    t: "attachment",
    m: { r: "register" },
  });
  expect(show(peerAfter(insert({ a: 1, m: { x: {} } })).state)?.types).toBeUndefined();
});

test("a field named `__proto__` is a field like any other, at every level", () => {
  const fields = JSON.parse('{"__proto__":{"__proto__":1},"constructor":2}') as Record<
    string,
    number
  >;
  const types = JSON.parse('{"__proto__":{"__proto__":"counter"}}') as Types;
  const { state, shown } = peerAfter(insert(fields, types));
  expect(JSON.stringify(shown)).toBe('{"__proto__":{"__proto__":1},"constructor":2}');
  expect(JSON.stringify(show(state)?.types)).toBe('{"__proto__":{"__proto__":"counter"}}');
  expect(show(state, { toString: "map" } as unknown as Types)?.fields).toEqual(shown);
});

test("[D5] a document shows while it is alive above its delete, at ZERO too", () => {
  expect([isShown(EMPTY_STATE), show(EMPTY_STATE)]).toEqual([false, undefined]);
  expect(isShown({ ...EMPTY_STATE, alive: ZERO })).toBe(true);
  expect(isShown({ ...EMPTY_STATE, alive: ZERO, dead: ZERO })).toBe(false);
  expect(isShown(peerAfter(insert({}), remove()).state)).toBe(false);
  expect(new Peer(1).shown).toBeUndefined();
});
