/**
 * State: what is empty, what a walk over the stamps meets.
 */

import { NONE, type Stamp } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { findNode } from "../../src/crdt/edit.ts";
import {
  counterOf,
  EMPTY_NODE,
  EMPTY_STATE,
  eachStamp,
  eachStateStamp,
  hasVariant,
  isEmptyNode,
  isEmptyState,
  siteOfAdd,
} from "../../src/crdt/state.ts";
import {
  increment,
  initial,
  insert,
  peerAfter,
  remove,
  restart,
  set,
  stampAt,
  unset,
} from "../support/peer.ts";

const COUNTER = { reset: { stamp: stampAt(1, 1), value: 0 }, adds: [] };
const ENTRY = { stamp: stampAt(1, 1), value: 1 };

test("a node without an UNSET and without variants is empty", () => {
  expect([isEmptyNode(EMPTY_NODE), hasVariant(EMPTY_NODE)]).toEqual([true, false]);
  expect(isEmptyNode({ ...EMPTY_NODE, removed: stampAt(1, 1) })).toBe(false);
  expect(hasVariant({ ...EMPTY_NODE, removed: stampAt(1, 1) })).toBe(false);
  for (const variant of [
    { reg: ENTRY },
    { att: ENTRY },
    { ctr: COUNTER },
    { pn: COUNTER },
    { map: { touch: NONE, kids: new Map() } },
  ]) {
    const node = { ...EMPTY_NODE, ...variant };
    expect([isEmptyNode(node), hasVariant(node)]).toEqual([false, true]);
  }
});

test("a state is empty only if it holds nothing, not even a seed mark", () => {
  expect(isEmptyState(EMPTY_STATE)).toBe(true);
  expect(isEmptyState({ ...EMPTY_STATE, root: new Map() })).toBe(true);
  expect(isEmptyState({ ...EMPTY_STATE, seeded: true })).toBe(false);
  expect(isEmptyState(peerAfter(insert({})).state)).toBe(false);
  expect(isEmptyState(peerAfter(insert({}), remove()).state)).toBe(false);
});

test("a walk visits every stamp of a state once, except births", () => {
  const { state } = peerAfter(
    initial({}),
    remove(),
    insert({ a: 1, m: { x: 1 } }),
    set("a", { id: 1 }, "attachment"),
    increment("a", 1),
    restart("a", 1, "pn_counter"),
    unset("m.x"),
  );
  expect(timesOf((visit) => eachStateStamp(state, visit))).toEqual([3, 3, 3, 3, 4, 5, 6, 7]);
  const node = findNode(state, ["m"]).node ?? EMPTY_NODE;
  expect(timesOf((visit) => eachStamp(node, visit))).toEqual([3, 7]);
  expect(timesOf((visit) => eachStateStamp(EMPTY_STATE, visit))).toEqual([]);
});

function timesOf(walk: (visit: (stamp: Stamp) => void) => void): number[] {
  const times: number[] = [];
  walk(({ time }) => times.push(time));
  return times.sort((a, b) => a - b);
}

test("a counter is found by its type, and an add belongs to the site of its stamp", () => {
  const { state } = peerAfter(insert({}), increment("k", 1), restart("k", 2, "pn_counter"));
  const { node } = findNode(state, ["k"]);
  expect(counterOf(node, "counter")).toBe(node?.ctr);
  expect(counterOf(node, "pn_counter")?.reset?.value).toBe(2);
  expect(counterOf(undefined, "counter")).toBeUndefined();
  expect(node?.ctr?.adds.map(siteOfAdd)).toEqual([stampAt(0, 1).site]);
});
