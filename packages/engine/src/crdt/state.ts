/**
 * State: the data structure of a replicated (CRDT) document, without code that interprets it.
 *
 * A document has two stamps of existence and a tree of nodes. One node may hold several typed
 * variants of its field at once; show.ts decides which is visible. Everything here is immutable and
 * shared freely: merge.ts returns the very object that it was given when nothing changed.
 *
 * A partial state (only what a write adds) has the same type and is called a delta.
 */

import { type CounterType, NONE, type Site, type Stamp, type Value } from "@bigpeer/protocol";

export interface Entry {
  readonly stamp: Stamp;
  readonly value: Value;
}

/** The sum that one site (that of `stamp`) added to the counter that began at `birth`. */
export interface Add {
  readonly birth: Stamp;
  readonly stamp: Stamp;
  readonly sum: number | bigint;
}

export interface Reset {
  readonly stamp: Stamp;
  readonly value: number | bigint;
}

export interface Counter {
  readonly reset: Reset | undefined;
  /** In order of birth, then site; at most one for each pair. */
  readonly adds: readonly Add[];
}

export interface MapState {
  readonly touch: Stamp;
  readonly kids: Kids;
}

export type Kids = ReadonlyMap<string, Node>;

export interface Node {
  /** The last UNSET: it ends all entries at and below this node that are not newer. */
  readonly removed: Stamp;
  readonly reg: Entry | undefined;
  readonly att: Entry | undefined;
  readonly ctr: Counter | undefined;
  readonly pn: Counter | undefined;
  readonly map: MapState | undefined;
}

export interface DocumentState {
  readonly alive: Stamp;
  readonly dead: Stamp;
  /** Whether the document was ever alive by INITIAL: its tombstone is never collected (D24). */
  readonly seeded: boolean;
  readonly root: Kids;
}

const NO_KIDS: Kids = new Map();

export const EMPTY_NODE: Node = {
  removed: NONE,
  reg: undefined,
  att: undefined,
  ctr: undefined,
  pn: undefined,
  map: undefined,
};

/** Spelt out: spreading EMPTY_NODE is several times slower, and most fields are such nodes. */
export function registerNode(reg: Entry): Node {
  return { removed: NONE, reg, att: undefined, ctr: undefined, pn: undefined, map: undefined };
}

export const EMPTY_STATE: DocumentState = {
  alive: NONE,
  dead: NONE,
  seeded: false,
  root: NO_KIDS,
};

export function counterOf(node: Node | undefined, type: CounterType): Counter | undefined {
  return type === "counter" ? node?.ctr : node?.pn;
}

export function siteOfAdd(add: Add): Site {
  return add.stamp.site;
}

export function isEmptyNode(node: Node): boolean {
  return node.removed === NONE && !hasVariant(node);
}

export function hasVariant(node: Node): boolean {
  return (
    node.reg !== undefined ||
    node.att !== undefined ||
    node.ctr !== undefined ||
    node.pn !== undefined ||
    node.map !== undefined
  );
}

export function isEmptyState(state: DocumentState): boolean {
  return state.alive === NONE && state.dead === NONE && !state.seeded && state.root.size === 0;
}

/** Calls `visit` with every stamp of a node and all below it, births left out. */
export function eachStamp(node: Node, visit: (stamp: Stamp) => void): void {
  if (node.removed !== NONE) visit(node.removed);
  if (node.reg !== undefined) visit(node.reg.stamp);
  if (node.att !== undefined) visit(node.att.stamp);
  if (node.ctr !== undefined) eachCounterStamp(node.ctr, visit);
  if (node.pn !== undefined) eachCounterStamp(node.pn, visit);
  if (node.map === undefined) return;
  if (node.map.touch !== NONE) visit(node.map.touch);
  for (const kid of node.map.kids.values()) eachStamp(kid, visit);
}

function eachCounterStamp(counter: Counter, visit: (stamp: Stamp) => void): void {
  if (counter.reset !== undefined) visit(counter.reset.stamp);
  for (const add of counter.adds) visit(add.stamp);
}

/** Calls `visit` with every stamp of a state, births left out. */
export function eachStateStamp(state: DocumentState, visit: (stamp: Stamp) => void): void {
  if (state.alive !== NONE) visit(state.alive);
  if (state.dead !== NONE) visit(state.dead);
  for (const kid of state.root.values()) eachStamp(kid, visit);
}
