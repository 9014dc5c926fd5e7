/**
 * The shape of trees: how chains of conditions are joined, and how deep a tree may get.
 *
 * Every stage after the parser walks a tree by recursion, so that its depth is what costs stack.
 */

import { CONDITIONS_MAX, EXPRESSION_DEPTH_MAX } from "../../limits.ts";
import { Fault } from "../fault.ts";
import type { Expression } from "./tree.ts";
import { eachChild } from "./tree-walk.ts";

/** A chain that is longer becomes a balanced tree: AND and OR are the same in any grouping. */
const LEANING_LENGTH_MAX = 64;

type Joint = "and" | "or";

/** `operands` joined by AND or OR, at least one. */
export function joinConditions(operands: readonly Expression[], operator: Joint): Expression {
  if (operands.length > CONDITIONS_MAX) {
    const message = `more than ${CONDITIONS_MAX} conditions joined by ${operator.toUpperCase()}; use IN with a list`;
    throw new Fault("query.too_large", message, operands[CONDITIONS_MAX]?.at);
  }
  if (operands.length > LEANING_LENGTH_MAX) return joinBalanced(operands, operator);
  return operands.reduce((left, right) => joinTwo(left, right, operator));
}

function joinTwo(left: Expression, right: Expression, operator: Joint): Expression {
  return { kind: "binary", at: left.at, operator, left, right };
}

function joinBalanced(operands: readonly Expression[], operator: Joint): Expression {
  const [first] = operands;
  if (first !== undefined && operands.length === 1) return first;
  const middle = operands.length >> 1;
  const left = joinBalanced(operands.slice(0, middle), operator);
  return joinTwo(left, joinBalanced(operands.slice(middle), operator), operator);
}

/** `tokens` were read for it: a tree is no deeper than they are many, and small ones need no look. */
export function checkDepth(root: Expression, tokens: number): void {
  if (tokens <= EXPRESSION_DEPTH_MAX) return;
  // Level by level, without recursion: how deep it gets is the question.
  let level: Expression[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= EXPRESSION_DEPTH_MAX) {
      const message = `the expression is more than ${EXPRESSION_DEPTH_MAX} operators deep`;
      throw new Fault("query.too_large", message, root.at);
    }
    const below: Expression[] = [];
    for (const node of level) eachChild(node, (child) => below.push(child));
    level = below;
  }
}
