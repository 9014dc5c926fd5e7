/**
 * Tree shape: joins chains of conditions and limits the depth of expression trees.
 *
 * Every stage after the parser walks a tree by recursion, so depth costs stack.
 */

import { CONDITIONS_MAX, EXPRESSION_DEPTH_MAX } from "../../limits.ts";
import { Fault } from "../fault.ts";
import type { Expression } from "./tree.ts";
import { eachChild } from "./tree-walk.ts";

/** Longer chains become balanced trees: AND and OR are associative. */
const LEANING_LENGTH_MAX = 64;

type Joint = "and" | "or";

/** Joins one or more operands by AND or OR. */
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

/** Throws if a tree is too deep. A tree of few tokens cannot be, so it is not walked. */
export function checkDepth(root: Expression, tokens: number): void {
  if (tokens <= EXPRESSION_DEPTH_MAX) return;
  // Level by level, without recursion, since the depth is not known yet.
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
