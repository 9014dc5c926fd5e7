/**
 * The horizon in the model: which tombstones a document of the model may forget, and a document of the
 * engine taken into the model where it forgot more than the model follows (EVICT, late writes).
 */

import { NONE, type Stamp } from "@bigpeer/protocol";
import type { Counter, DocumentState, Kids, Node } from "../../src/crdt/state.ts";
import { describeDoc } from "../support/dump.ts";
import {
  emptyDoc,
  isDocShown,
  type ModelCounter,
  type ModelDoc,
  type ModelNode,
  type ModelStamp,
  mergeDocs,
} from "../support/model.ts";

const NEVER: ModelStamp = [-1, 0];

function isSet(stamp: ModelStamp): boolean {
  return stamp[0] >= 0;
}

function isCounting(node: ModelNode): boolean {
  return node.ctr !== undefined || node.pn !== undefined || hasCounter(node.map?.kids);
}

function hasCounter(kids: ReadonlyMap<string, ModelNode> | undefined): boolean {
  return [...(kids?.values() ?? [])].some(isCounting);
}

function hasRivals({ reg, att, ctr, pn }: ModelNode): boolean {
  return [reg, att, ctr, pn].some((part) => part !== undefined);
}

function isDeathForgettable(doc: ModelDoc): boolean {
  if (!isSet(doc.dead) || doc.seeded) return false;
  return !isDocShown(doc) || !hasCounter(doc.kids);
}

/** Whether anything of the document may be forgotten at this horizon. */
export function hasTombstone(doc: ModelDoc, horizon: number): boolean {
  if (isDeathForgettable(doc) && doc.dead[0] <= horizon) return true;
  return isDocShown(doc) && hasTombstoneBelow(doc.kids, horizon);
}

function hasTombstoneBelow(kids: ReadonlyMap<string, ModelNode>, horizon: number): boolean {
  return [...kids.values()].some((kid) => {
    if (isSet(kid.removed) && !isCounting(kid) && kid.removed[0] <= horizon) return true;
    return kid.map !== undefined && !hasRivals(kid) && hasTombstoneBelow(kid.map.kids, horizon);
  });
}

export function forget(doc: ModelDoc, horizon: number): ModelDoc {
  const isPassed = isDeathForgettable(doc) && doc.dead[0] <= horizon;
  if (!isDocShown(doc)) return isPassed ? emptyDoc() : doc;
  return { ...doc, dead: isPassed ? NEVER : doc.dead, kids: forgetKids(doc.kids, horizon) };
}

function forgetKids(kids: ReadonlyMap<string, ModelNode>, horizon: number): Map<string, ModelNode> {
  const kept = new Map<string, ModelNode>();
  for (const [name, kid] of kids) {
    const isPassed = isSet(kid.removed) && !isCounting(kid) && kid.removed[0] <= horizon;
    const node: ModelNode = { ...kid, removed: isPassed ? NEVER : kid.removed };
    if (kid.map !== undefined && !hasRivals(kid)) {
      const below = forgetKids(kid.map.kids, horizon);
      const isEmpty = !isSet(kid.map.touch) && below.size === 0;
      node.map = isEmpty ? undefined : { touch: kid.map.touch, kids: below };
    }
    if (isSet(node.removed) || hasRivals(node) || node.map !== undefined) kept.set(name, node);
  }
  return kept;
}

/**
 * The document without any floor at or below the horizon, also without those that something leans on.
 * A replica that merged later writes into a state from before the horizon may hold such as the server
 * no longer has; what shows is the same.
 */
export function withoutFloors(doc: ModelDoc, horizon: number): ModelDoc {
  const isPassed = doc.dead[0] <= horizon;
  return {
    ...doc,
    dead: isPassed ? NEVER : doc.dead,
    kids: kidsWithoutFloors(doc.kids, horizon),
  };
}

function kidsWithoutFloors(
  kids: ReadonlyMap<string, ModelNode>,
  horizon: number,
): Map<string, ModelNode> {
  const kept = new Map<string, ModelNode>();
  for (const [name, kid] of kids) {
    const node: ModelNode = { ...kid, removed: kid.removed[0] <= horizon ? NEVER : kid.removed };
    if (kid.map !== undefined) {
      const below = kidsWithoutFloors(kid.map.kids, horizon);
      const isEmpty = !isSet(kid.map.touch) && below.size === 0;
      node.map = isEmpty ? undefined : { touch: kid.map.touch, kids: below };
    }
    if (isSet(node.removed) || hasRivals(node) || node.map !== undefined) kept.set(name, node);
  }
  return kept;
}

function stampOf(stamp: Stamp): ModelStamp {
  return stamp === NONE ? NEVER : [stamp.time, Number.parseInt(stamp.site, 16)];
}

export function modelOf(state: DocumentState): ModelDoc {
  const { alive, dead, seeded, root } = state;
  return { alive: stampOf(alive), dead: stampOf(dead), seeded, kids: kidsOf(root) };
}

function kidsOf(kids: Kids): Map<string, ModelNode> {
  return new Map([...kids].map(([name, kid]) => [name, nodeOf(kid)]));
}

function nodeOf({ removed, reg, att, ctr, pn, map }: Node): ModelNode {
  return {
    removed: stampOf(removed),
    reg: reg && [stampOf(reg.stamp), reg.value],
    att: att && [stampOf(att.stamp), att.value],
    ctr: counterOf(ctr, BigInt),
    pn: counterOf(pn, Number),
    map: map && { touch: stampOf(map.touch), kids: kidsOf(map.kids) },
  };
}

function counterOf(
  counter: Counter | undefined,
  exact: (amount: number | bigint) => number | bigint,
): ModelCounter | undefined {
  if (counter === undefined) return undefined;
  const adds: ModelCounter["adds"] = new Map();
  for (const add of counter.adds) {
    const [birth, stamp] = [stampOf(add.birth), stampOf(add.stamp)];
    const [, site] = stamp;
    adds.set(`${birth.join("/")} ${site}`, { birth, site, sum: [stamp, exact(add.sum)] });
  }
  const { reset } = counter;
  return { reset: reset && [stampOf(reset.stamp), exact(reset.value)], adds };
}

/** The times of all stamps of a document. */
function* timesIn({ alive, dead, kids }: ModelDoc): Iterable<number> {
  yield alive[0];
  yield dead[0];
  for (const kid of kids.values()) yield* timesInNode(kid);
}

function* timesInNode({ removed, reg, att, ctr, pn, map }: ModelNode): Iterable<number> {
  yield removed[0];
  for (const written of [reg, att, ctr?.reset, pn?.reset]) if (written) yield written[0][0];
  for (const counter of [ctr, pn]) {
    for (const { sum } of counter?.adds.values() ?? []) yield sum[0][0];
  }
  if (map === undefined) return;
  yield map.touch[0];
  for (const kid of map.kids.values()) yield* timesInNode(kid);
}

/** Whether something of it was written up to a time; INITIAL's zero is none. */
export function hasTimeUpTo(doc: ModelDoc, time: number): boolean {
  for (const each of timesIn(doc)) if (each > 0 && each <= time) return true;
  return false;
}

/** Whether it has a floor up to a time: that it was deleted, or something of it UNSET. */
export function hasFloorUpTo({ dead, kids }: ModelDoc, time: number): boolean {
  if (dead[0] > 0 && dead[0] <= time) return true;
  return [...kids.values()].some((kid) => {
    if (kid.removed[0] > 0 && kid.removed[0] <= time) return true;
    return kid.map !== undefined && hasFloorUpTo({ ...EMPTY, kids: kid.map.kids }, time);
  });
}

const EMPTY: ModelDoc = { alive: NEVER, dead: NEVER, seeded: false, kids: new Map() };

/**
 * Whether `more` has all that `less` has, but for floors up to a horizon, which are forgotten: what
 * they had ended must be ended all the same.
 */
export function isCovered(less: ModelDoc, more: ModelDoc, horizon: number): boolean {
  const both = mergeDocs(more, less);
  return describeDoc(plainer(both, horizon)) === describeDoc(plainer(more, horizon));
}

/** Without floors that nothing leans on: what does not show is ended by its floor alone. */
function plainer(doc: ModelDoc, horizon: number): ModelDoc {
  const { dead, kids } = withoutFloors(doc, horizon);
  if (isDocShown(doc)) return { ...doc, dead, kids };
  // Nothing of it shows: only what may show again counts.
  return dead[0] < 0 ? { ...EMPTY, seeded: doc.seeded } : { ...doc, kids };
}
