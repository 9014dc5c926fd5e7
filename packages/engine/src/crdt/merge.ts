/**
 * Merge: the CRDT join of two document states, in normal form.
 *
 * The join takes the larger of each part: it is commutative, associative and idempotent. The
 * normal form drops entries at or below a floor (a delete, an UNSET, a counter's restart) and
 * nothing else. So states may be normalized at any time and in any order with the same result (D10
 * to D13).
 *
 * If a part does not change, merge returns the very object of the first argument: merge(a, b) is a
 * exactly when b brings nothing new. So floors are applied during the join: entries of b below the
 * floors of a are never copied, and in a only entries below a new floor are visited.
 */

import {
  canonicalBytes,
  compareBytes,
  compareStamps,
  INTEGER_MAX,
  INTEGER_MIN,
  isAfter,
  latest,
  NONE,
  type Stamp,
  type Value,
  ZERO,
} from "@bigpeer/protocol";
import {
  type Add,
  type Counter,
  type DocumentState,
  EMPTY_NODE,
  type Entry,
  isEmptyNode,
  type Kids,
  type MapState,
  type Node,
  siteOfAdd,
} from "./state.ts";

/** Merges a state in normal form with a delta or another state, normal or not. */
export function merge(a: DocumentState, b: DocumentState): DocumentState {
  if (a === b) return a;
  const dead = latest(a.dead, b.dead);
  const newest = latest(a.alive, b.alive);
  const alive = isAfter(newest, dead) ? newest : NONE;
  // The larger `alive` may hide a ZERO, which must still count as seeded.
  const seeded = a.seeded || b.seeded || isZero(a.alive) || isZero(b.alive);
  const kept = dead === a.dead ? a.root : pruneKids(a.root, dead);
  const root = mergeKids(kept, b.root, dead);
  const isSame = alive === a.alive && dead === a.dead && seeded === a.seeded && root === a.root;
  return isSame ? a : { alive, dead, seeded, root };
}

export function normalize(state: DocumentState): DocumentState {
  const alive = isAfter(state.alive, state.dead) ? state.alive : NONE;
  const root = pruneKids(state.root, state.dead);
  const seeded = state.seeded || isZero(state.alive);
  if (alive === state.alive && root === state.root && seeded === state.seeded) return state;
  return { alive, dead: state.dead, seeded, root };
}

function isZero(stamp: Stamp): boolean {
  return compareStamps(stamp, ZERO) === 0;
}

/** Here and below, `a` is already normal under the floor; `b` need not be. */
function mergeKids(a: Kids, b: Kids, floor: Stamp): Kids {
  if (a.size === 0) {
    const kids = pruneKids(b, floor);
    return kids.size === 0 ? a : kids;
  }
  let merged: Map<string, Node> | undefined;
  for (const [name, theirs] of b) {
    const ours = a.get(name);
    const node = ours === undefined ? pruneNode(theirs, floor) : mergeNodes(ours, theirs, floor);
    if (node === ours || isEmptyNode(node)) continue;
    merged ??= new Map(a);
    merged.set(name, node);
  }
  return merged ?? a;
}

function mergeNodes(a: Node, b: Node, floor: Stamp): Node {
  if (a === b) return a;
  if (isRegisterAlone(a) && isRegisterAlone(b)) return mergeRegisters(a, b, floor);
  const isRaised = isAfter(b.removed, latest(a.removed, floor));
  const removed = isRaised ? b.removed : a.removed;
  const ours = isRaised ? pruneNode(a, removed) : a;
  const own = latest(floor, removed);
  const reg = mergeEntries(ours.reg, b.reg, own);
  const att = mergeEntries(ours.att, b.att, own);
  const ctr = mergeCounters(ours.ctr, b.ctr, own);
  const pn = mergeCounters(ours.pn, b.pn, own);
  const map = mergeMaps(ours.map, b.map, own);
  const isSame =
    removed === a.removed &&
    reg === a.reg &&
    att === a.att &&
    ctr === a.ctr &&
    pn === a.pn &&
    map === a.map;
  return isSame ? a : { removed, reg, att, ctr, pn, map };
}

/** The common case: of two plain fields one whole node wins. */
function isRegisterAlone(node: Node): node is Node & { readonly reg: Entry } {
  return (
    node.reg !== undefined &&
    node.removed === NONE &&
    node.map === undefined &&
    node.att === undefined &&
    node.ctr === undefined &&
    node.pn === undefined
  );
}

function mergeRegisters(
  a: Node & { readonly reg: Entry },
  b: Node & { readonly reg: Entry },
  floor: Stamp,
): Node {
  return mergeEntries(a.reg, b.reg, floor) === a.reg ? a : b;
}

function mergeEntries<T extends Entry>(
  a: T | undefined,
  b: T | undefined,
  floor: Stamp,
): T | undefined {
  if (b === undefined || a === b || !isAfter(b.stamp, floor)) return a;
  if (a === undefined) return b;
  return isNewer(b.stamp, b.value, a.stamp, a.value) ? b : a;
}

/** Canonical bytes decide between equal stamps, so that every replica decides alike (D11). */
function isNewer(stamp: Stamp, value: Value, thanStamp: Stamp, thanValue: Value): boolean {
  const order = compareStamps(stamp, thanStamp);
  if (order !== 0) return order > 0;
  // 0 and -0 are equal but have different bytes.
  if (Object.is(value, thanValue)) return false;
  return compareBytes(bytesOfValue(value), bytesOfValue(thanValue)) > 0;
}

/** Sums may exceed 64 bits; as text they still have one byte form. No register exceeds them. */
function bytesOfValue(value: Value): Uint8Array {
  const isOutside = typeof value === "bigint" && (value < INTEGER_MIN || value > INTEGER_MAX);
  return canonicalBytes(isOutside ? value.toString() : value);
}

function mergeCounters(
  a: Counter | undefined,
  b: Counter | undefined,
  floor: Stamp,
): Counter | undefined {
  if (b === undefined || a === b) return a;
  if (a === undefined) return pruneCounter(b, floor);
  const reset = mergeEntries(a.reset, b.reset, floor);
  const start = startOf(reset, floor);
  const ours = reset === a.reset ? a.adds : liveAdds(a.adds, start);
  const adds = joinAdds(ours, liveAdds(b.adds, start));
  return reset === a.reset && adds === a.adds ? a : { reset, adds };
}

/** The stamp that ends earlier births: the floor, or a restart above it. */
function startOf(reset: { readonly stamp: Stamp } | undefined, floor: Stamp): Stamp {
  return reset === undefined ? floor : latest(floor, reset.stamp);
}

function liveAdds(adds: readonly Add[], start: Stamp): readonly Add[] {
  const isLive = (add: Add): boolean => !isAfter(start, add.birth);
  return adds.every(isLive) ? adds : adds.filter(isLive);
}

function joinAdds(a: readonly Add[], b: readonly Add[]): readonly Add[] {
  if (b.length === 0) return a;
  if (a.length === 0) return b;
  const merged: Add[] = [];
  let isSame = true;
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const ours = a[i];
    const theirs = b[j];
    const order = compareAdds(ours, theirs);
    if (order < 0 && ours !== undefined) {
      merged.push(ours);
      i++;
    } else if (order > 0 && theirs !== undefined) {
      merged.push(theirs);
      isSame = false;
      j++;
    } else if (ours !== undefined && theirs !== undefined) {
      const isTheirs = isNewer(theirs.stamp, theirs.sum, ours.stamp, ours.sum);
      merged.push(isTheirs ? theirs : ours);
      if (isTheirs) isSame = false;
      i++;
      j++;
    }
  }
  return isSame ? a : merged;
}

/** Order of adds: by birth, then site. An absent one comes last. */
export function compareAdds(a: Add | undefined, b: Add | undefined): number {
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const order = compareStamps(a.birth, b.birth);
  if (order !== 0) return order;
  const siteA = siteOfAdd(a);
  const siteB = siteOfAdd(b);
  if (siteA === siteB) return 0;
  return siteA < siteB ? -1 : 1;
}

function mergeMaps(
  a: MapState | undefined,
  b: MapState | undefined,
  floor: Stamp,
): MapState | undefined {
  if (b === undefined || a === b) return a;
  if (a === undefined) return pruneMap(b, floor);
  const touch = isAfter(b.touch, latest(a.touch, floor)) ? b.touch : a.touch;
  const kids = mergeKids(a.kids, b.kids, floor);
  return touch === a.touch && kids === a.kids ? a : { touch, kids };
}

function pruneKids(kids: Kids, floor: Stamp): Kids {
  let pruned: Map<string, Node> | undefined;
  for (const [name, kid] of kids) {
    const node = pruneNode(kid, floor);
    if (node === kid && !isEmptyNode(kid)) continue;
    pruned ??= new Map(kids);
    if (isEmptyNode(node)) pruned.delete(name);
    else pruned.set(name, node);
  }
  return pruned ?? kids;
}

function pruneNode(node: Node, floor: Stamp): Node {
  const removed = isAfter(node.removed, floor) ? node.removed : NONE;
  const own = latest(floor, node.removed);
  const reg = pruneEntry(node.reg, own);
  const att = pruneEntry(node.att, own);
  const ctr = pruneCounter(node.ctr, own);
  const pn = pruneCounter(node.pn, own);
  const map = pruneMap(node.map, own);
  const isSame =
    removed === node.removed &&
    reg === node.reg &&
    att === node.att &&
    ctr === node.ctr &&
    pn === node.pn &&
    map === node.map;
  if (isSame) return node;
  const pruned = { removed, reg, att, ctr, pn, map };
  return isEmptyNode(pruned) ? EMPTY_NODE : pruned;
}

function pruneEntry<T extends { readonly stamp: Stamp }>(
  entry: T | undefined,
  floor: Stamp,
): T | undefined {
  return entry !== undefined && isAfter(entry.stamp, floor) ? entry : undefined;
}

function pruneCounter(counter: Counter | undefined, floor: Stamp): Counter | undefined {
  if (counter === undefined) return undefined;
  const reset = pruneEntry(counter.reset, floor);
  const adds = liveAdds(counter.adds, startOf(reset, floor));
  if (reset === undefined && adds.length === 0) return undefined;
  return reset === counter.reset && adds === counter.adds ? counter : { reset, adds };
}

function pruneMap(map: MapState | undefined, floor: Stamp): MapState | undefined {
  if (map === undefined) return undefined;
  const touch = isAfter(map.touch, floor) ? map.touch : NONE;
  const kids = pruneKids(map.kids, floor);
  if (touch === NONE && kids.size === 0) return undefined;
  return touch === map.touch && kids === map.kids ? map : { touch, kids };
}
