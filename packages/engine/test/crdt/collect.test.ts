/**
 * Collect: what is forgotten behind the horizon, what stays, and that nobody can tell.
 */

import type { Stamp } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { collect, oldestTombstone } from "../../src/crdt/collect.ts";
import { merge } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { EMPTY_STATE, eachStateStamp, isEmptyState } from "../../src/crdt/state.ts";
import { describeState } from "../support/dump.ts";
import { expectLaw } from "../support/expected-law.ts";
import type { Law } from "../support/history.ts";
import { collectsBeforeLateWrites, collectsSilently, fail } from "../support/laws.ts";
import {
  increment,
  initial,
  insert,
  Peer,
  peerAfter,
  remove,
  restart,
  set,
  shownTogether,
  unset,
} from "../support/peer.ts";

test("[D23] collection changes neither the shown fields nor the effect of later writes", () => {
  expectLaw(collectsSilently, { count: 2000 });
});

test("[D23] collection does not change the shown fields if writes above the horizon arrive late", () => {
  expectLaw(collectsBeforeLateWrites, { count: 2000 });
});

test("[D23] deletes at or below the horizon are forgotten, and the document with them", () => {
  const { state } = peerAfter(insert({ a: 1 }), remove());
  expect(collect(state, 1)).toBe(state);
  expect(collect(state, 2)).toBe(EMPTY_STATE);
  expect(collect(state, 99)).toBe(EMPTY_STATE);
});

test("[D23] the delete below a re-insert is forgotten, and the document stays", () => {
  const { state } = peerAfter(insert({ a: 1 }), remove(), insert({ b: 1 }));
  expect(collect(state, 2)).toBe(state);
  expect(describeState(collect(state, 3))).toBe("alive 3/1 dead - seeded false {b: (reg 3/1 1)}");
});

test("[D23] UNSETs at or below the horizon are forgotten, at every depth", () => {
  const { state } = peerAfter(
    insert({ a: 1, m: { x: { z: 1 }, y: 1 } }),
    unset("a"),
    unset("m.x.z"),
    unset("m.y"),
    set("m.y", 2),
  );
  expect(collect(state, 1)).toBe(state);
  expect(describeState(collect(state, 3))).toBe(
    "alive 1/1 dead - seeded false {m: (map 1/1 {x: (map 1/1 {}), y: (removed 4/1 reg 5/1 2)})}",
  );
  expect(describeState(collect(state, 4))).toBe(
    "alive 1/1 dead - seeded false {m: (map 1/1 {x: (map 1/1 {}), y: (reg 5/1 2)})}",
  );
});

test("[D23] a map that holds only forgotten UNSETs disappears with them", () => {
  const { state } = peerAfter(insert({}), set("m.n.x", 1), unset("m.n.x"));
  expect(describeState(collect(state, 9))).toBe("alive 1/1 dead - seeded false {}");
});

test("[D23] a floor stays while a counter depends on it", () => {
  const counting = peerAfter(insert({ k: 1 }, { k: "counter" }), increment("k", 5));
  const old = counting.state;
  for (const intent of [unset("k"), increment("k", 1)]) counting.write(intent);
  expect(collect(counting.state, 99)).toBe(counting.state);
  expect(show(merge(collect(counting.state, 99), old))?.fields).toEqual({ k: 1 });
  const below = peerAfter(insert({ m: { x: {} } }), unset("m"), increment("m.x.k", 1));
  expect(collect(below.state, 99)).toBe(below.state);
  const again = peerAfter(insert({}), remove(), insert({}), increment("m.k", 1));
  expect(collect(again.state, 99)).toBe(again.state);
  const restarted = peerAfter(insert({ k: 1 }), unset("k"), restart("k", 1, "pn_counter"));
  expect(collect(restarted.state, 99)).toBe(restarted.state);
});

test("[D23] a floor stays while a rival variant of the field above it stays", () => {
  const writer = peerAfter(insert({ m: { x: 1, y: 1 } }));
  const other = writer.fork(2);
  writer.write(set("m", 5), 20);
  other.write(unset("m.x"), 30);
  const both = new Peer(3).take(writer, other);
  expect(both.shown).toEqual({ m: { y: 1 } });
  expect(collect(both.state, 99)).toBe(both.state);
  const deeper = peerAfter(
    insert({ m: { n: { x: 1 } } }),
    set("m", 5),
    set("m.n.y", 1),
    unset("m.n.x"),
  );
  expect(collect(deeper.state, 99)).toBe(deeper.state);
});

test("[D23] the UNSET of a field itself is forgotten, whatever variants the field has, except counters", () => {
  const peer = peerAfter(insert({ m: 1 }), unset("m"), set("m", 5), set("m.x", 1));
  expect(describeState(collect(peer.state, 99))).toBe(
    "alive 1/1 dead - seeded false {m: (reg 3/1 5 map - {x: (reg 4/1 1)})}",
  );
});

test("[D24] the tombstone of a document that was ever alive by INITIAL is never forgotten", () => {
  const { state } = peerAfter(initial({ a: 1 }), remove());
  expect(collect(state, Number.MAX_SAFE_INTEGER)).toBe(state);
  expect(oldestTombstone(state)).toBeUndefined();
  const fresh = new Peer(9).write(initial({ a: 1 })) ?? EMPTY_STATE;
  expect(shownTogether(collect(state, 99), fresh)).toBeUndefined();
});

test("[D24] the same holds if another insert was newer than the seed, or came before the seed was known", () => {
  const seeded = new Peer(1);
  seeded.write(initial({ a: 1 }));
  const inserted = new Peer(2);
  inserted.write(insert({ b: 1 }), 5);
  inserted.write(remove());
  for (const { state } of [
    new Peer(3).take(seeded, inserted),
    new Peer(3).take(inserted, seeded),
  ]) {
    expect(collect(state, 99)).toBe(state);
  }
});

test("[D24] the UNSETs of a seeded document that shows are forgotten like any others", () => {
  const { state } = peerAfter(initial({ a: 1, b: 1 }), unset("a"));
  expect(describeState(collect(state, 99))).toBe("alive 0/0 dead - seeded true {b: (reg 0/0 1)}");
});

test("[D12] the hidden entries of a dead document disappear with its tombstone, not before", () => {
  const writer = peerAfter(insert({ a: 1 }));
  const late = writer.fork(2).write(set("x", 1), 30) ?? EMPTY_STATE;
  writer.write(remove(), 20);
  const { state } = new Peer(3).take(writer, late);
  expect(collect(state, 19)).toBe(state);
  expect(collect(state, 20)).toBe(EMPTY_STATE);
});

test("[D23] a document without a floor has no tombstone; the oldest floor is the key in the tombstone index", () => {
  expect(oldestTombstone(EMPTY_STATE)).toBeUndefined();
  expect(oldestTombstone(peerAfter(insert({ a: 1 })).state)).toBeUndefined();
  expect(oldestTombstone(peerAfter(insert({ a: 1 }), remove()).state)).toBe(2);
  expect(oldestTombstone(peerAfter(insert({ a: 1, b: 1 }), unset("b"), unset("a")).state)).toBe(2);
  expect(
    oldestTombstone(peerAfter(insert({ k: 1 }), unset("k"), increment("k", 1)).state),
  ).toBeUndefined();
});

/** The tombstone is where collection begins: below it nothing goes, at it something does. */
const isFiledRight: Law = (history) => {
  for (const { state } of history.replicas) {
    const tombstone = oldestTombstone(state);
    const all = collect(state, Number.MAX_SAFE_INTEGER);
    if (tombstone === undefined) {
      if (all !== state) fail("no tombstone", describeState(all), describeState(state));
      continue;
    }
    if (collect(state, tombstone - 1) !== state) fail("below the tombstone", "a change", "none");
    if (collect(state, tombstone) === state) fail("at the tombstone", "no change", "one");
    if (oldestTombstone(all) !== undefined) fail("after all", describeState(all), "no tombstone");
  }
};

test("[D23] a horizon below the tombstone forgets nothing, a horizon at it forgets something", () => {
  expectLaw(isFiledRight);
});

/** Collection takes floors and nothing else. */
const takesOnlyFloors: Law = (history) => {
  for (const { state } of history.replicas) {
    const collected = collect(state, Number.MAX_SAFE_INTEGER);
    if (isEmptyState(collected)) continue;
    const kept = new Set<string>();
    const name = (stamp: Stamp): string => `${stamp.time}/${stamp.site}`;
    eachStateStamp(state, (stamp) => kept.add(name(stamp)));
    eachStateStamp(collected, (stamp) => {
      if (!kept.has(name(stamp))) fail("a stamp", name(stamp), "one of the state");
    });
    const merged = merge(collected, state);
    if (describeState(merged) !== describeState(state)) {
      fail("collected with the state", describeState(merged), describeState(state));
    }
  }
};

test("[D23] a collected state is part of the whole one: a merge with the whole state restores it", () => {
  expectLaw(takesOnlyFloors);
});
