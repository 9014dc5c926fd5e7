/**
 * Delta: computes the smallest part of a CRDT state that another replica lacks.
 *
 * `difference` compares two states of one document. `restrict` needs only the newer state and the
 * stamps written since: every entry carries the stamp of its write, so the entries with those
 * stamps are the delta. Both return states; merging one into the older state gives the newer (D18).
 */

import {
  canonicalBytes,
  compareBytes,
  compareStamps,
  NONE,
  type Stamp,
  type Value,
} from "@bigpeer/protocol";
import {
  type Add,
  type Counter,
  type DocumentState,
  type Entry,
  isEmptyNode,
  type Kids,
  type MapState,
  type Node,
  siteOfAdd,
} from "./state.ts";

/** The part of `newer` that `older` lacks. `newer` must have grown from `older` by merges. */
export function difference(older: DocumentState, newer: DocumentState): DocumentState {
  return {
    alive: changedStamp(older.alive, newer.alive),
    dead: changedStamp(older.dead, newer.dead),
    seeded: newer.seeded && !older.seeded,
    root: kidsDifference(older.root, newer.root),
  };
}

function changedStamp(older: Stamp, newer: Stamp): Stamp {
  return compareStamps(older, newer) === 0 ? NONE : newer;
}

function kidsDifference(older: Kids | undefined, newer: Kids): Kids {
  const kids = new Map<string, Node>();
  for (const [name, node] of newer) {
    const before = older?.get(name);
    const delta = before === undefined ? node : nodeDifference(before, node);
    if (!isEmptyNode(delta)) kids.set(name, delta);
  }
  return kids;
}

function nodeDifference(older: Node, newer: Node): Node {
  return {
    removed: changedStamp(older.removed, newer.removed),
    reg: changedEntry(older.reg, newer.reg),
    att: changedEntry(older.att, newer.att),
    ctr: counterDifference(older.ctr, newer.ctr),
    pn: counterDifference(older.pn, newer.pn),
    map: mapDifference(older.map, newer.map),
  };
}

/** Entries with equal stamps may have different values: then the newer state has the winner. */
function changedEntry<T extends Entry>(older: T | undefined, newer: T | undefined): T | undefined {
  if (older === undefined || newer === undefined) return newer;
  const isSame =
    compareStamps(older.stamp, newer.stamp) === 0 && isSameValue(older.value, newer.value);
  return isSame ? undefined : newer;
}

function isSameValue(a: Value, b: Value): boolean {
  if (typeof a !== "object" || typeof b !== "object") return Object.is(a, b);
  return a === b || compareBytes(canonicalBytes(a), canonicalBytes(b)) === 0;
}

function counterDifference(
  older: Counter | undefined,
  newer: Counter | undefined,
): Counter | undefined {
  if (older === undefined || newer === undefined) return newer;
  const reset = changedEntry(older.reset, newer.reset);
  const adds = newer.adds.filter((add) => !older.adds.some((old) => isSameAdd(old, add)));
  return reset === undefined && adds.length === 0 ? undefined : { reset, adds };
}

function isSameAdd(a: Add, b: Add): boolean {
  return (
    compareStamps(a.birth, b.birth) === 0 &&
    siteOfAdd(a) === siteOfAdd(b) &&
    compareStamps(a.stamp, b.stamp) === 0 &&
    Object.is(a.sum, b.sum)
  );
}

function mapDifference(
  older: MapState | undefined,
  newer: MapState | undefined,
): MapState | undefined {
  if (older === undefined || newer === undefined) return newer;
  const touch = changedStamp(older.touch, newer.touch);
  const kids = kidsDifference(older.kids, newer.kids);
  return touch === NONE && kids.size === 0 ? undefined : { touch, kids };
}

/** The part of a state whose stamps satisfy `keep`. */
export function restrict(state: DocumentState, keep: (stamp: Stamp) => boolean): DocumentState {
  return {
    alive: keptStamp(state.alive, keep),
    dead: keptStamp(state.dead, keep),
    seeded: state.seeded,
    root: restrictKids(state.root, keep),
  };
}

type Keep = (stamp: Stamp) => boolean;

function keptStamp(stamp: Stamp, keep: Keep): Stamp {
  return stamp !== NONE && keep(stamp) ? stamp : NONE;
}

function restrictKids(kids: Kids, keep: Keep): Kids {
  const kept = new Map<string, Node>();
  for (const [name, kid] of kids) {
    const node = restrictNode(kid, keep);
    if (!isEmptyNode(node)) kept.set(name, node);
  }
  return kept;
}

function restrictNode(node: Node, keep: Keep): Node {
  return {
    removed: keptStamp(node.removed, keep),
    reg: node.reg !== undefined && keep(node.reg.stamp) ? node.reg : undefined,
    att: node.att !== undefined && keep(node.att.stamp) ? node.att : undefined,
    ctr: restrictCounter(node.ctr, keep),
    pn: restrictCounter(node.pn, keep),
    map: restrictMap(node.map, keep),
  };
}

export function restrictCounter(counter: Counter | undefined, keep: Keep): Counter | undefined {
  if (counter === undefined) return undefined;
  const reset =
    counter.reset !== undefined && keep(counter.reset.stamp) ? counter.reset : undefined;
  const adds = counter.adds.filter((add) => keep(add.stamp));
  return reset === undefined && adds.length === 0 ? undefined : { reset, adds };
}

function restrictMap(map: MapState | undefined, keep: Keep): MapState | undefined {
  if (map === undefined) return undefined;
  const touch = keptStamp(map.touch, keep);
  const kids = restrictKids(map.kids, keep);
  return touch === NONE && kids.size === 0 ? undefined : { touch, kids };
}
