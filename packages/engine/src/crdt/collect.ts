/**
 * Collect: garbage collection of deletes and UNSETs behind the horizon, in the state of one
 * document.
 *
 * It never changes the shown fields, now or after later merges. So a floor stays in three cases:
 * over a counter (an old increment must not join the new count); below a field that holds a rival
 * variant (the UNSET may make its map the newest); and for ever on a document that was once alive
 * by INITIAL (a new device would seed it again). Rules D23, D24.
 */

import { NONE, type Stamp } from "@bigpeer/protocol";
import { isShown } from "./show.ts";
import { type DocumentState, EMPTY_STATE, isEmptyNode, type Kids, type Node } from "./state.ts";

/** The state after collection at `horizon`; EMPTY_STATE when nothing is left. */
export function collect(state: DocumentState, horizon: number): DocumentState {
  const isBehind = isDeadCollectable(state) && state.dead.time <= horizon;
  if (!isShown(state)) return isBehind ? EMPTY_STATE : state;
  const dead = isBehind ? NONE : state.dead;
  const root = collectKids(state.root, horizon);
  return dead === state.dead && root === state.root ? state : { ...state, dead, root };
}

/** The time of the oldest collectable floor: the store indexes the document by it. */
export function oldestTombstone(state: DocumentState): number | undefined {
  let oldest = isDeadCollectable(state) ? state.dead.time : Number.POSITIVE_INFINITY;
  if (isShown(state)) {
    eachCollectable(state.root, (removed) => {
      oldest = Math.min(oldest, removed.time);
    });
  }
  return Number.isFinite(oldest) ? oldest : undefined;
}

function isDeadCollectable(state: DocumentState): boolean {
  if (state.dead === NONE || state.seeded) return false;
  return !isShown(state) || !hasCounter(state.root);
}

function eachCollectable(kids: Kids, visit: (removed: Stamp) => void): void {
  for (const kid of kids.values()) {
    if (isRemovedCollectable(kid)) visit(kid.removed);
    if (kid.map !== undefined && !hasRivals(kid)) eachCollectable(kid.map.kids, visit);
  }
}

function collectKids(kids: Kids, horizon: number): Kids {
  let kept: Map<string, Node> | undefined;
  for (const [name, kid] of kids) {
    const node = collectNode(kid, horizon);
    if (node === kid) continue;
    kept ??= new Map(kids);
    if (isEmptyNode(node)) kept.delete(name);
    else kept.set(name, node);
  }
  return kept ?? kids;
}

function collectNode(node: Node, horizon: number): Node {
  const isBehind = isRemovedCollectable(node) && node.removed.time <= horizon;
  const removed = isBehind ? NONE : node.removed;
  const map = node.map === undefined || hasRivals(node) ? node.map : collectMap(node, horizon);
  return removed === node.removed && map === node.map ? node : { ...node, removed, map };
}

function collectMap(node: Node, horizon: number): Node["map"] {
  if (node.map === undefined) return undefined;
  const kids = collectKids(node.map.kids, horizon);
  if (kids === node.map.kids) return node.map;
  return node.map.touch === NONE && kids.size === 0 ? undefined : { touch: node.map.touch, kids };
}

function isRemovedCollectable(node: Node): boolean {
  return node.removed !== NONE && !isCounting(node);
}

/** Whether a node holds another variant beside its map. */
function hasRivals(node: Node): boolean {
  return (
    node.reg !== undefined ||
    node.att !== undefined ||
    node.ctr !== undefined ||
    node.pn !== undefined
  );
}

function isCounting(node: Node): boolean {
  return (
    node.ctr !== undefined ||
    node.pn !== undefined ||
    (node.map !== undefined && hasCounter(node.map.kids))
  );
}

function hasCounter(kids: Kids): boolean {
  for (const kid of kids.values()) if (isCounting(kid)) return true;
  return false;
}
