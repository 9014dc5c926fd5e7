/**
 * Stale: separates the part of a delta from elsewhere that comes too late to be applied.
 *
 * Behind the horizon tombstones are forgotten. An entry stamped at or below it, for a document or
 * path that is not held, may have been ended by a forgotten tombstone; it is not applied (D23).
 * INITIAL's ZERO is no late write: documents seeded by it keep their tombstones for ever.
 */

import { NONE, type Stamp } from "@bigpeer/protocol";
import { collect, oldestTombstone } from "./collect.ts";
import { restrict, restrictCounter } from "./delta.ts";
import { merge } from "./merge.ts";
import {
  type DocumentState,
  EMPTY_STATE,
  type Entry,
  type Kids,
  type MapState,
  type Node,
} from "./state.ts";
import { isSameState } from "./state-codec.ts";

export interface Sifted {
  readonly delta: DocumentState;
  readonly isStale: boolean;
}

/** Splits off the stale part; `held` is undefined when nothing of the document is stored here. */
export function sift(
  delta: DocumentState,
  held: DocumentState | undefined,
  horizon: number,
): Sifted {
  if (horizon === 0) return { delta, isStale: false };
  let isStale = false;
  const isCurrent = (stamp: Stamp): boolean => {
    const isLate = stamp.time > 0 && stamp.time <= horizon;
    if (isLate) isStale = true;
    return !isLate;
  };
  if (held === undefined) {
    const kept = restrict(delta, isCurrent);
    // The late tombstone of a document that is not held has nothing left to end.
    if (delta.alive === NONE && delta.root.size === 0) return { delta: kept, isStale: false };
    // Without its insert a new document would be an orphan: all of it is quarantined.
    return isStale && kept.alive === NONE
      ? { delta: EMPTY_STATE, isStale }
      : { delta: kept, isStale };
  }
  const root = siftKids(delta.root, held.root, isCurrent);
  return { delta: isStale ? { ...delta, root } : delta, isStale };
}

/**
 * Whether a state from elsewhere brings nothing but floors that were collected here, or would be.
 * Replicas do not collect at the same moment, and receiving such a floor again is no change.
 */
export function isForgotten(delta: DocumentState, held: DocumentState, horizon: number): boolean {
  const oldest = oldestTombstone(delta);
  if (oldest === undefined || oldest > horizon) return false;
  return isSameState(collect(merge(held, delta), horizon), collect(held, horizon));
}

type IsCurrent = (stamp: Stamp) => boolean;

function siftKids(kids: Kids, held: Kids, isCurrent: IsCurrent): Kids {
  const sifted = new Map<string, Node>();
  for (const [name, kid] of kids) {
    const known = held.get(name);
    if (known === undefined) {
      const wrapped = restrict({ ...EMPTY_STATE, root: new Map([[name, kid]]) }, isCurrent);
      for (const [key, node] of wrapped.root) sifted.set(key, node);
    } else {
      sifted.set(name, siftNode(kid, known, isCurrent));
    }
  }
  return sifted;
}

/** On a held path, a late entry is stale if its variant is not held: an UNSET may have ended it. */
function siftNode(node: Node, known: Node, isCurrent: IsCurrent): Node {
  return {
    removed: node.removed,
    reg: known.reg === undefined ? currentEntry(node.reg, isCurrent) : node.reg,
    att: known.att === undefined ? currentEntry(node.att, isCurrent) : node.att,
    ctr: known.ctr === undefined ? restrictCounter(node.ctr, isCurrent) : node.ctr,
    pn: known.pn === undefined ? restrictCounter(node.pn, isCurrent) : node.pn,
    map: siftMap(node.map, known.map, isCurrent),
  };
}

function currentEntry(entry: Entry | undefined, isCurrent: IsCurrent): Entry | undefined {
  return entry !== undefined && isCurrent(entry.stamp) ? entry : undefined;
}

function siftMap(
  map: MapState | undefined,
  held: MapState | undefined,
  isCurrent: IsCurrent,
): MapState | undefined {
  if (map === undefined) return undefined;
  const isTouchHeld = held !== undefined && held.touch !== NONE;
  const touch = map.touch === NONE || isTouchHeld || isCurrent(map.touch) ? map.touch : NONE;
  const kids = siftKids(map.kids, held?.kids ?? new Map(), isCurrent);
  return touch === NONE && kids.size === 0 ? undefined : { touch, kids };
}
