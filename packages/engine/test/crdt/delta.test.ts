/**
 * Delta: differences are exact and smallest, restrictions are exact, and a wrong base shows nothing.
 */

import { NONE } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { difference, restrict } from "../../src/crdt/delta.ts";
import { merge } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { EMPTY_STATE, isEmptyState } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { describeState } from "../support/dump.ts";
import { expectLaw } from "../support/expected-law.ts";
import { differsExactly, restrictsExactly, withoutEachEntry } from "../support/laws.ts";
import {
  increment,
  initial,
  insert,
  Peer,
  peerAfter,
  remove,
  restart,
  set,
  unset,
  update,
} from "../support/peer.ts";

test("[D18] a delta merged into the older state gives the newer, and no entry can be omitted", () => {
  expectLaw(differsExactly);
  expectLaw(differsExactly, { hasClone: true });
});

test("[D18] the entries with the stamps since the older state, merged into it, give the newer state", () => {
  expectLaw(restrictsExactly);
});

test("[D18] a write equals the delta that it makes", () => {
  const peer = peerAfter(insert({ a: 1, m: { x: 1 } }), increment("k", 1));
  for (const intent of [
    set("m.x", 2),
    set("b", { y: {} }),
    unset("a"),
    increment("k", 3),
    increment("k", 0.5, "pn_counter"),
    restart("k", 2),
    set("a", { id: 1 }, "attachment"),
    remove(),
    insert({ z: 1 }),
  ]) {
    const before = peer.state;
    const delta = peer.write(intent) ?? EMPTY_STATE;
    expect(describeState(difference(before, peer.state))).toBe(describeState(delta));
  }
});

test("[D18] the delta of a state to itself is empty, NaN sums included", () => {
  const peer = peerAfter(insert({ a: { b: 1 } }), restart("k", 1, "pn_counter"));
  const most = Number.MAX_VALUE;
  const other = peer.fork(2);
  for (const by of [most, most]) peer.write(increment("k", by, "pn_counter"));
  for (const by of [-most, -most]) other.write(increment("k", by, "pn_counter"));
  peer.take(other);
  peer.write(increment("k", 1, "pn_counter"));
  expect(peer.shown?.["k"]).toBeNaN();
  expect(isEmptyState(difference(peer.state, peer.state))).toBe(true);
  const hostile = { ...EMPTY_STATE, alive: peer.state.alive, root: nanKids(peer) };
  expect(isEmptyState(difference(hostile, { ...hostile }))).toBe(true);
});

/** The fields of a peer with the sums of `k` not a number: infinities of one site can do it. */
function nanKids(peer: Peer): typeof peer.state.root {
  const node = peer.state.root.get("k");
  if (node?.pn === undefined) throw new Error("expected a counter");
  const adds = node.pn.adds.map((add) => ({ ...add, sum: Number.NaN }));
  return new Map([["k", { ...node, pn: { ...node.pn, adds } }]]);
}

test("[D18] different values at one stamp are a difference", () => {
  const [one, two] = [new Peer(1), new Peer(1)];
  one.write(insert({ a: { x: [1] }, b: 0, c: 2n ** 60n }, { a: "register" }));
  two.write(insert({ a: { x: [2] }, b: -0, c: 1 }, { a: "register" }));
  const both = merge(one.state, two.state);
  expect(describeState(difference(one.state, both))).toBe(
    'alive - dead - seeded false {a: (reg 1/1 {"x":[2]}), b: (reg 1/1 -0)}',
  );
  expect(describeState(difference(two.state, both))).toBe(
    "alive - dead - seeded false {c: (reg 1/1 1152921504606846976n)}",
  );
});

test("[D18] the delta to a deleted document is its tombstone, plus the seed mark if it was seeded", () => {
  const peer = peerAfter(insert({ a: 1 }), increment("k", 1));
  const before = peer.state;
  peer.write(remove());
  expect(describeState(difference(before, peer.state))).toBe("alive - dead 3/1 seeded false {}");
  const inserted = peerAfter(insert({ a: 1 })).state;
  const seeded = merge(inserted, new Peer(2).write(initial({ a: 2 })) ?? EMPTY_STATE);
  expect(describeState(difference(inserted, seeded))).toBe("alive - dead - seeded true {}");
});

test("[D18] omitting any entry of a whole state loses information", () => {
  const { state } = peerAfter(
    initial({ a: 1, m: { x: 1 } }),
    update(
      increment("k", 1),
      restart("p", 2, "pn_counter"),
      unset("m.x"),
      set("t", { id: 1 }, "attachment"),
    ),
    remove(),
    insert({ a: 1, m: { x: 1 } }),
    update(
      increment("k", 1),
      restart("p", 2, "pn_counter"),
      unset("m.x"),
      set("t", { id: 1 }, "attachment"),
    ),
  );
  const parts = withoutEachEntry(state);
  expect(parts).toHaveLength(9);
  for (const part of parts)
    expect(stateToBytes(merge(EMPTY_STATE, part))).not.toEqual(stateToBytes(state));
});

test("[D21] a delta over a base without the insert shows no document", () => {
  const peer = peerAfter(insert({ a: 1, b: 1 }));
  const before = peer.state;
  peer.write(set("a", 2));
  const evicted = merge(EMPTY_STATE, difference(before, peer.state));
  expect(show(evicted)).toBeUndefined();
  expect(stateToBytes(merge(evicted, peer.state))).toEqual(stateToBytes(peer.state));
});

test("[D21] a delta over an older base has holes, and the whole state fills them", () => {
  const peer = peerAfter(insert({ a: 1 }));
  const first = peer.state;
  peer.write(set("b", 1));
  peer.write(increment("k", 5));
  const second = peer.state;
  peer.write(set("c", 1));
  const holed = merge(first, difference(second, peer.state));
  expect(show(holed)?.fields).toEqual({ a: 1, c: 1 });
  expect(stateToBytes(merge(holed, peer.state))).toEqual(stateToBytes(peer.state));
});

test("[D18] a restriction keeps the entries of its stamps: a clean insert has two stamps", () => {
  const peer = peerAfter(insert({ a: 1 }), remove());
  const late = peer.fork(2);
  peer.write(insert({ b: 1 }), 9);
  peer.write(set("c", 1));
  const since = restrict(peer.state, (stamp) => stamp.time >= 9);
  expect(describeState(since)).toBe(
    "alive 9/1 dead 9/0 seeded false {b: (reg 9/1 1), c: (reg 10/1 1)}",
  );
  expect(stateToBytes(merge(late.state, since))).toEqual(stateToBytes(peer.state));
  const nothing = restrict(peer.state, () => false);
  expect([nothing.alive, nothing.dead, nothing.root.size]).toEqual([NONE, NONE, 0]);
});

test("[D18] a restriction covers counters and maps, and leaves no empty maps", () => {
  const { state } = peerAfter(
    insert({ m: { x: 1 }, k: 1 }, { k: "counter" }),
    increment("k", 2),
    set("m.y.z", 1),
    unset("m.x"),
  );
  expect(describeState(restrict(state, ({ time }) => time === 2))).toBe(
    "alive - dead - seeded false {k: (ctr [ 1/1+2/1=2])}",
  );
  expect(describeState(restrict(state, ({ time }) => time === 4))).toBe(
    "alive - dead - seeded false {m: (map - {x: (removed 4/1)})}",
  );
});
