/**
 * Update rounds: which field edits of an update are written in one tick.
 *
 * One tick cannot order two writes of one place, and a later edit must see what an earlier one left.
 * So an edit comes a round after every earlier one at its path, above it or below it.
 */

import type { FieldEdit } from "./field-edit.ts";

/** What was written at a path and below it, as the number of the last round; -1 for never. */
interface PathNode {
  at: number;
  below: number;
  readonly kids: Map<string, PathNode>;
}

export function roundsOf(fields: readonly FieldEdit[]): FieldEdit[][] {
  const root = newNode();
  const rounds: FieldEdit[][] = [];
  for (const field of fields) {
    const number = takeRound(root, field.path);
    const round = rounds[number];
    if (round === undefined) rounds.push([field]);
    else round.push(field);
  }
  return rounds;
}

/** The first round behind all that the path meets, which is noted along the path. */
function takeRound(root: PathNode, path: readonly string[]): number {
  const nodes: PathNode[] = [];
  let node = root;
  let last = -1;
  for (const name of path) {
    node = kidOf(node, name);
    nodes.push(node);
    last = Math.max(last, node.at);
  }
  const round = Math.max(last, node.below) + 1;
  for (const each of nodes) each.below = Math.max(each.below, round);
  node.at = round;
  return round;
}

function kidOf(node: PathNode, name: string): PathNode {
  const known = node.kids.get(name) ?? newNode();
  node.kids.set(name, known);
  return known;
}

function newNode(): PathNode {
  return { at: -1, below: -1, kids: new Map() };
}
