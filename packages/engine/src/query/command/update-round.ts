/**
 * Update rounds: groups the field edits of an update into rounds; each round is written with one
 * stamp.
 *
 * One stamp cannot order two writes of one path, and a later edit must see the result of an earlier
 * one. So an edit comes a round after every earlier edit at its path, above it or below it.
 *
 * An edit that depends on the document also checks that everything above its path is a map. A fixed
 * edit anywhere below turns a field into a map, also beside the path. The first such edit comes
 * before a later check, and none of them before an earlier one. Increments and conversions beside
 * the path do not matter: they are refused themselves unless there is a map.
 *
 * Increments of one path with no edit between them that touches the path become one increment by
 * their sum. A PN_COUNTER then rounds once instead of at each increment.
 */

import { checkSum, type FieldEdit, type IncrementField, sumOf } from "./field-edit.ts";

/** The rounds of the edits at a path and below it; -1 for none. */
interface PathNode {
  /** Round of the last edit at the path, and of the last one there or below. */
  at: number;
  below: number;
  /** Round of the first fixed edit below, since the last one at the path: it makes a map here. */
  mapped: number;
  /** Round of the last edit below that checked for a map before one was certain. */
  looked: number;
  /** The increment at the path, while later ones can be added to it. */
  increment: Slot | undefined;
  readonly kids: Map<string, PathNode>;
}

/** Position of an edit in the rounds. */
interface Slot {
  readonly round: FieldEdit[];
  readonly index: number;
}

/** Assigns edits to rounds. Throws a PeerError if increments add up to more than 64 bits. */
export function roundsOf(fields: readonly FieldEdit[]): FieldEdit[][] {
  const root = newNode();
  const rounds: FieldEdit[][] = [];
  for (const field of fields) {
    const { above, node } = walk(root, field.path);
    if (field.kind === "increment" && joins(node.increment, field)) continue;
    const number = takeRound(above, node, field.kind === "fixed");
    const round = rounds[number] ?? [];
    rounds[number] = round;
    if (field.kind === "increment") node.increment = { round, index: round.length };
    round.push(field);
  }
  for (const field of rounds.flat()) if (field.kind === "increment") checkSum(field);
  return rounds;
}

interface Walk {
  /** From the root down, without the node itself. */
  readonly above: readonly PathNode[];
  readonly node: PathNode;
}

function walk(root: PathNode, path: readonly string[]): Walk {
  const above: PathNode[] = [];
  let node = root;
  for (const [i, name] of path.entries()) {
    if (i > 0) above.push(node);
    node = kidOf(node, name);
  }
  return { above, node };
}

/** Adds an increment to the one in the slot, if there is one. */
function joins(slot: Slot | undefined, field: IncrementField): boolean {
  const earlier = slot?.round[slot.index];
  if (slot === undefined || earlier?.kind !== "increment") return false;
  slot.round[slot.index] = sumOf(earlier, field);
  return true;
}

/** The first round after all that the edit depends on. Records that round along the path. */
function takeRound(above: readonly PathNode[], node: PathNode, isFixed: boolean): number {
  let round = Math.max(node.at, node.below) + 1;
  for (const { at, mapped, looked } of above) {
    // A write in the same round as a check comes after that check.
    round = Math.max(round, at + 1, isFixed ? looked : mapped + 1);
  }
  for (const each of above) {
    each.below = Math.max(each.below, round);
    each.increment = undefined;
    if (isFixed) each.mapped = each.mapped === -1 ? round : Math.min(each.mapped, round);
    else if (each.mapped === -1) each.looked = Math.max(each.looked, round);
  }
  restart(node, round);
  return round;
}

/** Forgets the edits below: they come before this round, and all later ones after it. */
function restart(node: PathNode, round: number): void {
  node.at = round;
  node.below = round;
  node.mapped = -1;
  node.looked = -1;
  node.increment = undefined;
  node.kids.clear();
}

function kidOf(node: PathNode, name: string): PathNode {
  const known = node.kids.get(name) ?? newNode();
  node.kids.set(name, known);
  return known;
}

function newNode(): PathNode {
  return { at: -1, below: -1, mapped: -1, looked: -1, increment: undefined, kids: new Map() };
}
