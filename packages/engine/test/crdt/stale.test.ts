/**
 * Stale: what comes too late for the horizon, and what does not.
 */

import { expect, test } from "vitest";
import { collect } from "../../src/crdt/collect.ts";
import { merge } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { sift } from "../../src/crdt/stale.ts";
import { EMPTY_STATE, isEmptyState } from "../../src/crdt/state.ts";
import { describeState } from "../support/dump.ts";
import {
  increment,
  initial,
  insert,
  Peer,
  peerAfter,
  remove,
  set,
  unset,
  update,
} from "../support/peer.ts";

const HORIZON = 30;

test("[D23] without a horizon nothing is stale", () => {
  const { state } = peerAfter(insert({ a: 1 }));
  expect(sift(state, undefined, 0)).toEqual({ delta: state, isStale: false });
});

test("[D23] a write at or below the horizon for a document that is not held is stale", () => {
  const writer = new Peer(1);
  writer.write(insert({ a: 1 }), HORIZON);
  const sifted = sift(writer.state, undefined, HORIZON);
  expect([isEmptyState(sifted.delta), sifted.isStale]).toEqual([true, true]);
  const later = writer.write(set("a", 2), HORIZON + 5) ?? EMPTY_STATE;
  expect(sift(writer.state, undefined, HORIZON).delta).toBe(EMPTY_STATE);
  expect(sift(later, undefined, HORIZON)).toEqual({ delta: later, isStale: false });
});

test("[D23] a new document above the horizon is applied, without its older entries", () => {
  const old = new Peer(1);
  old.write(insert({ a: 1 }), 10);
  const young = new Peer(2);
  young.write(insert({ b: 1 }), 40);
  const { delta, isStale } = sift(merge(old.state, young.state), undefined, HORIZON);
  expect([describeState(delta), isStale]).toEqual([
    "alive 40/2 dead - seeded false {b: (reg 40/2 1)}",
    true,
  ]);
});

test("[D23] a late tombstone of a document that is not held has no effect, and is not stale", () => {
  const writer = new Peer(1);
  writer.write(insert({ a: 1 }), 10);
  const deletion = writer.write(remove(), 20) ?? EMPTY_STATE;
  const { delta, isStale } = sift(deletion, undefined, HORIZON);
  expect([isEmptyState(delta), isStale]).toEqual([true, false]);
});

test("[D23] a late write for a path that is not held is stale; one for a held path is applied", () => {
  const writer = peerAfter(insert({ a: 1, m: { x: 1 } }));
  const held = writer.state;
  const late =
    writer.write(update(set("a", 2), set("b", 2), set("m.x", 2), set("n.y", 2)), 20) ?? EMPTY_STATE;
  const { delta, isStale } = sift(late, held, HORIZON);
  expect([describeState(delta), isStale]).toEqual([
    "alive - dead - seeded false {a: (reg 20/1 2), m: (map - {x: (reg 20/1 2)})}",
    true,
  ]);
  expect(sift(late, held, 19)).toEqual({ delta: late, isStale: false });
});

test("[D23] after an UNSET is collected, the older value does not come back", () => {
  const writer = peerAfter(insert({ a: 1 }));
  const late = writer.fork(2).write(set("b", 1), 15) ?? EMPTY_STATE;
  writer.write(set("b", 0), 12);
  writer.write(unset("b"), 20);
  const collected = collect(writer.state, HORIZON);
  expect(show(merge(collected, sift(late, collected, HORIZON).delta))?.fields).toEqual({ a: 1 });
});

test("[D5] INITIAL is never stale", () => {
  const seed = new Peer(1).write(initial({ a: 1 })) ?? EMPTY_STATE;
  expect(sift(seed, undefined, HORIZON)).toEqual({ delta: seed, isStale: false });
});

test("[D23] a late variant of a field that is held in another variant is stale", () => {
  const writer = peerAfter(insert({}));
  const late = writer.fork(2).write(increment("k", 5), 15) ?? EMPTY_STATE;
  writer.take(late).write(unset("k"), 20);
  writer.write(set("k", "x"), 25);
  const collected = collect(writer.state, HORIZON);
  // The path is held, but not as a counter: the forgotten UNSET may have ended it, and has.
  const after = merge(collected, sift(late, collected, HORIZON).delta);
  expect([show(after)?.fields, show(after, { k: "counter" })?.fields]).toEqual([{ k: "x" }, {}]);
});
