/**
 * Edit: turns an operation at a stamp into a delta to merge into the state of its document.
 *
 * The delta depends on the writer's view: an insert over hidden entries starts clean, an update of
 * a document that does not show writes nothing, an increment names the birth of the counter that it
 * saw. Undefined means that the operation writes nothing (rules D3 to D9).
 */

import {
  beforeStamp,
  type CounterType,
  checkAmount,
  DEPTH_MAX,
  type DocumentOperation,
  type Edit,
  type IncrementEdit,
  type InitialOperation,
  type InsertOperation,
  isAfter,
  isObject,
  isRootSet,
  latest,
  levelsOf,
  NONE,
  type Path,
  PeerError,
  type RestartEdit,
  type SetEdit,
  type Stamp,
  type TypeMark,
  type Types,
  type UnsetEdit,
  unreachable,
  type Value,
  type ValueObject,
  ZERO,
} from "@bigpeer/protocol";
import { addAmounts, isShown, markOf, visibleType } from "./show.ts";
import {
  type Counter,
  counterOf,
  type DocumentState,
  EMPTY_STATE,
  type Entry,
  isEmptyState,
  type Node,
} from "./state.ts";

/** Document operations that produce a delta. */
export type StateOperation = Exclude<DocumentOperation, { kind: "merge" | "evict" | "layer" }>;

export function deltaOf(
  view: DocumentState,
  operation: StateOperation,
  stamp: Stamp,
): DocumentState | undefined {
  switch (operation.kind) {
    case "insert":
      return insertDelta(view, operation, stamp);
    case "initial":
      return initialDelta(view, operation);
    case "update":
      return isShown(view) ? updateDelta(view, operation.edits, stamp) : undefined;
    case "delete":
      return isShown(view) ? { ...EMPTY_STATE, dead: stamp } : undefined;
    default:
      return unreachable(operation);
  }
}

/** Whether an insert ends all older entries: its writer sees a tombstone or hidden entries (D3). */
export function isCleanInsert(view: DocumentState, operation: InsertOperation): boolean {
  const hasHidden = !isShown(view) && !isEmptyState(view);
  return hasHidden || operation.clean === true;
}

function insertDelta(view: DocumentState, operation: InsertOperation, stamp: Stamp): DocumentState {
  return {
    alive: stamp,
    dead: isCleanInsert(view, operation) ? beforeStamp(stamp) : NONE,
    seeded: false,
    root: fieldNodes(operation.fields, operation.types, stamp),
  };
}

/** Whether INITIAL writes anything: the document neither shows nor was deleted (D5). */
export function isSeedable(view: DocumentState): boolean {
  return !isShown(view) && view.dead === NONE;
}

/** INITIAL is a seed: equal on every device, below every real write, void after a delete. */
function initialDelta(view: DocumentState, operation: InitialOperation): DocumentState | undefined {
  if (!isSeedable(view)) return undefined;
  const root = fieldNodes(operation.fields, operation.types, ZERO);
  return { alive: ZERO, dead: NONE, seeded: true, root };
}

function updateDelta(
  view: DocumentState,
  edits: readonly Edit[],
  stamp: Stamp,
): DocumentState | undefined {
  const root: MutableKids = new Map();
  for (const edit of edits) applyEdit(view, edit, stamp, root);
  return root.size === 0 ? undefined : { ...EMPTY_STATE, root };
}

type MutableNode = { -readonly [K in keyof Node]: Node[K] };
type MutableKids = Map<string, MutableNode>;

function applyEdit(view: DocumentState, edit: Edit, stamp: Stamp, root: MutableKids): void {
  switch (edit.kind) {
    case "set":
      return setEdit(edit, stamp, root);
    case "unset":
      if (leadsThroughMaps(view, edit)) nodeAt(root, edit.path).removed = stamp;
      return;
    case "increment":
      return incrementEdit(view, edit, stamp, root);
    case "restart":
      return restartEdit(edit, stamp, root);
    default:
      return unreachable(edit);
  }
}

/** The node at a path of a delta; maps on the way are created without a touch. */
function nodeAt(root: MutableKids, path: Path): MutableNode {
  if (path.length > DEPTH_MAX) {
    throw new PeerError("operation.invalid", `expected a path of at most ${DEPTH_MAX} fields`);
  }
  let kids = root;
  let node: MutableNode | undefined;
  for (const name of path) {
    if (node !== undefined) {
      node.map ??= { touch: NONE, kids: new Map() };
      kids = node.map.kids as MutableKids;
    }
    node = kidOf(kids, name);
  }
  if (node === undefined) {
    throw new PeerError("operation.invalid", "expected a path of at least one field");
  }
  return node;
}

function setEdit(edit: SetEdit, stamp: Stamp, root: MutableKids): void {
  if (isRootSet(edit)) {
    const { value, types } = edit;
    return writeKids(root, value, typeof types === "object" ? types : undefined, stamp);
  }
  // Path and value are bounded each; together they must not be deeper than a value (V7).
  if (edit.path.length + levelsOf(edit.value) > DEPTH_MAX) {
    throw new PeerError("operation.invalid", `expected at most ${DEPTH_MAX} levels of nesting`, {
      at: edit.path.join("."),
    });
  }
  writeNode(nodeAt(root, edit.path), edit.value, edit.types, stamp);
}

function fieldNodes(fields: ValueObject, types: Types | undefined, stamp: Stamp): MutableKids {
  const kids: MutableKids = new Map();
  writeKids(kids, fields, types, stamp);
  return kids;
}

function writeKids(
  kids: MutableKids,
  fields: ValueObject,
  types: Types | undefined,
  stamp: Stamp,
): void {
  for (const name in fields) {
    writeNode(kidOf(kids, name), fields[name] as Value, markOf(types, name), stamp);
  }
}

function kidOf(kids: MutableKids, name: string): MutableNode {
  let node = kids.get(name);
  if (node === undefined) {
    node = emptyNode();
    kids.set(name, node);
  }
  return node;
}

/** Spelt out: spreading EMPTY_NODE is several times slower, and every written field passes here. */
function emptyNode(): MutableNode {
  return {
    removed: NONE,
    reg: undefined,
    att: undefined,
    ctr: undefined,
    pn: undefined,
    map: undefined,
  };
}

function writeNode(
  node: MutableNode,
  value: Value,
  mark: TypeMark | undefined,
  stamp: Stamp,
): void {
  switch (mark) {
    case "register":
      node.reg = { stamp, value };
      return;
    case "attachment":
      node.att = attachmentEntry(value, stamp);
      return;
    case "counter":
      node.ctr = { reset: { stamp, value: checkAmount(value, mark, "a counter") }, adds: [] };
      return;
    case "pn_counter":
      node.pn = { reset: { stamp, value: checkAmount(value, mark, "a counter") }, adds: [] };
      return;
    default:
      if (isObject(value)) writeMap(node, value, mark === "map" ? undefined : mark, stamp);
      else if (mark === undefined) node.reg = { stamp, value };
      else throw new PeerError("operation.invalid", "expected an object for a map");
  }
}

function writeMap(
  node: MutableNode,
  value: ValueObject,
  types: Types | undefined,
  stamp: Stamp,
): void {
  // Another edit of the same tick may have written below this path already.
  const kids = (node.map?.kids ?? new Map()) as MutableKids;
  writeKids(kids, value, types, stamp);
  node.map = { touch: stamp, kids };
}

function attachmentEntry(value: Value, stamp: Stamp): Entry {
  if (!isObject(value)) {
    throw new PeerError("operation.invalid", "expected an attachment token (an object)");
  }
  return { stamp, value };
}

function incrementEdit(
  view: DocumentState,
  edit: IncrementEdit,
  stamp: Stamp,
  root: MutableKids,
): void {
  const type = edit.counter ?? "counter";
  const by = checkAmount(edit.by, type, edit.path.join("."));
  const counter = counterOf(findNode(view, edit.path).node, type);
  const birth = edit.birth === undefined ? birthOf(view, edit) : bornAt(edit.birth, stamp);
  const before = counter?.adds.find((add) => isSameAdd(add.birth, add.stamp.site, birth, stamp));
  // The sum of this site is as new or newer: it already contains this replayed increment.
  if (before !== undefined && !isAfter(stamp, before.stamp)) return;
  const sum = type === "counter" ? addAmounts(before?.sum ?? 0, by) : plus(before?.sum, by);
  putCounter(nodeAt(root, edit.path), type, { reset: undefined, adds: [{ birth, stamp, sum }] });
}

function isSameAdd(birth: Stamp, site: string, otherBirth: Stamp, stamp: Stamp): boolean {
  return birth.time === otherBirth.time && birth.site === otherBirth.site && site === stamp.site;
}

function plus(a: number | bigint | undefined, b: number | bigint): number {
  return Number(a ?? 0) + Number(b);
}

/** The birth of an increment: the newest of insert, UNSET on the path, and restart (D6). */
export function birthOf(view: DocumentState, edit: IncrementEdit): Stamp {
  const { node, removed } = findNode(view, edit.path);
  const counter = counterOf(node, edit.counter ?? "counter");
  return latest(latest(view.alive, removed), counter?.reset?.stamp ?? NONE);
}

/** A birth is never after its increment: such an increment would survive deletes and restarts. */
function bornAt([time, site]: readonly [number, string], stamp: Stamp): Stamp {
  const birth = { time, site };
  if (!isAfter(birth, stamp)) return birth;
  throw new PeerError("operation.invalid", "expected a birth before the increment");
}

function restartEdit(edit: RestartEdit, stamp: Stamp, root: MutableKids): void {
  const type = edit.counter ?? "counter";
  const value = checkAmount(edit.value, type, edit.path.join("."));
  putCounter(nodeAt(root, edit.path), type, { reset: { stamp, value }, adds: [] });
}

function putCounter(node: MutableNode, type: CounterType, counter: Counter): void {
  if (type === "counter") node.ctr = counter;
  else node.pn = counter;
}

interface FoundNode {
  readonly node: Node | undefined;
  /** The newest UNSET on the path, the node's own included. */
  readonly removed: Stamp;
}

export function findNode(state: DocumentState, path: Path): FoundNode {
  let kids = state.root;
  let node: Node | undefined;
  let removed = NONE;
  for (const [i, name] of path.entries()) {
    node = kids.get(name);
    if (node === undefined) return { node: undefined, removed };
    removed = latest(removed, node.removed);
    if (i === path.length - 1) break;
    if (node.map === undefined) return { node: undefined, removed };
    kids = node.map.kids;
  }
  return { node, removed };
}

/** Whether each field above the path is a map: it shows as one, or is declared (D9). */
export function leadsThroughMaps(state: DocumentState, { path, isDeclared }: UnsetEdit): boolean {
  let kids = state.root;
  for (const name of path.slice(0, -1)) {
    const node = kids.get(name);
    if (node?.map === undefined) return false;
    if (isDeclared !== true && visibleType(node) !== "map") return false;
    kids = node.map.kids;
  }
  return true;
}
