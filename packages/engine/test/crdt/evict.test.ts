/**
 * Evict: the sums of the own site stay, so that counting goes on from them.
 */

import { expect, test } from "vitest";
import { evictedStub } from "../../src/crdt/evict.ts";
import { merge } from "../../src/crdt/merge.ts";
import { isShown } from "../../src/crdt/show.ts";
import { isEmptyState } from "../../src/crdt/state.ts";
import { describeState } from "../support/dump.ts";
import { increment, insert, Peer, peerAfter, remove, restart, set } from "../support/peer.ts";

test("[D22] [D24] nothing of an evicted document stays if its site counted nothing, except a tombstone", () => {
  const other = peerAfter(insert({ a: 1, m: { x: 1 } }), restart("k", 5), increment("m.k", 1));
  expect(isEmptyState(evictedStub(other.state, new Peer(2).site))).toBe(true);
  const deleted = peerAfter(insert({}), remove()).state;
  expect(evictedStub(deleted, other.site)).toEqual(deleted);
});

test("[D22] an eviction keeps the sums of the own site, of both counter types and at every depth", () => {
  const own = peerAfter(insert({ a: 1 }), increment("k", 1), increment("m.n.k", 0.5, "pn_counter"));
  const other = own.fork(2);
  other.write(increment("k", 7));
  const stub = evictedStub(own.take(other).state, own.site);
  expect(describeState(stub)).toBe(
    "alive - dead - seeded false {k: (ctr [ 1/1+2/1=1]), m: (map - {n: (map - {k: (pn [ 1/1+3/1=0.5])})})}",
  );
  expect(isShown(stub)).toBe(false);
});

test("[D22] a document that returns with an older sum continues from the newer one", () => {
  const own = peerAfter(insert({ a: 1 }), increment("k", 1));
  const elsewhere = own.fork(2);
  own.write(increment("k", 2));
  const back = new Peer(1).take(evictedStub(own.state, own.site), elsewhere);
  expect(back.shown).toEqual({ a: 1, k: 3 });
  back.write(increment("k", 4));
  expect(new Peer(3).take(elsewhere, own, back).shown).toEqual({ a: 1, k: 7 });
});

test("[D22] the stub of a counter that was ended elsewhere is removed with it", () => {
  const own = peerAfter(insert({}), increment("k", 5));
  const elsewhere = own.fork(2);
  elsewhere.write(restart("k", 1), 20);
  elsewhere.write(set("a", 1));
  const stub = evictedStub(own.state, own.site);
  expect(merge(elsewhere.state, stub)).toBe(elsewhere.state);
});
