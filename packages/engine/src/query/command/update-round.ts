/**
 * Update rounds: which field edits of an update are written in one tick.
 *
 * One tick cannot order two writes of one place, and a later edit must see what an earlier one left.
 * So an edit comes a round after every earlier one at its path, above it or below it.
 *
 * An edit that depends on the document also looks whether everything above it is a map. What makes a
 * map of it is an edit of fixed value anywhere below, also beside the path: the first of these comes
 * before a later look, and none of them before an earlier one. An increment or a conversion beside
 * the path decides nothing: it is refused itself unless there is a map.
 *
 * Increments of one path with nothing in between that meets it are one increment by their sum. A
 * PN_COUNTER then rounds once instead of each time.
 */

import { checkSum, type FieldEdit, type IncrementField, sumOf } from "./field-edit.ts";

/** What happened at a path and below it, as numbers of rounds; -1 for never. */
interface PathNode {
  /** The last edit at the path, and the last one there or below. */
  at: number;
  below: number;
  /** The first edit below, since the last one at the path, that makes a map of whatever is here. */
  mapped: number;
  /** The last edit below that had to look here before it was known to be a map. */
  looked: number;
  /** Where the edit at the path stands, while it is an increment that another may join. */
  increment: Slot | undefined;
  readonly kids: Map<string, PathNode>;
}

/** A place in the rounds. */
interface Slot {
  readonly round: FieldEdit[];
  readonly index: number;
}

/** Throws a PeerError when increments add up to more than a counter can hold. */
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

/** Adds an increment to the one that stands in the slot. */
function joins(slot: Slot | undefined, field: IncrementField): boolean {
  const earlier = slot?.round[slot.index];
  if (slot === undefined || earlier?.kind !== "increment") return false;
  slot.round[slot.index] = sumOf(earlier, field);
  return true;
}

/** The first round behind all that the edit depends on; it is noted along the path. */
function takeRound(above: readonly PathNode[], node: PathNode, isFixed: boolean): number {
  let round = Math.max(node.at, node.below) + 1;
  for (const { at, mapped, looked } of above) {
    // What is written in the round of a look comes behind it.
    round = Math.max(round, at + 1, isFixed ? looked : mapped + 1);
  }
  for (const each of above) {
    each.below = Math.max(each.below, round);
    each.increment = undefined;
    if (isFixed) each.mapped = each.mapped === -1 ? round : Math.min(each.mapped, round);
    else if (each.mapped === -1) each.looked = Math.max(each.looked, round);
  }
  startAnew(node, round);
  return round;
}

/** All that was below comes before this round, and all that will be behind it. */
function startAnew(node: PathNode, round: number): void {
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
