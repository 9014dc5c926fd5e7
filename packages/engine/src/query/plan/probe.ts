/**
 * Probe: the part of a condition on one document that an index can answer (sargable predicate).
 *
 * A probe holds for every document for which the condition is true, and perhaps for others. The
 * condition itself is always evaluated, so a probe may be too wide but never too narrow.
 */

import type { Path } from "@bigpeer/protocol";
import type {
  BetweenNode,
  BinaryNode,
  Expression,
  InNode,
  IsNode,
  LikeNode,
} from "../syntax/tree.ts";
import { conjuncts, eachNode } from "../syntax/tree-walk.ts";
import { pathOf } from "./reads.ts";

export type Probe =
  | ProbeTerm
  | { readonly kind: "all"; readonly parts: readonly Probe[] }
  | { readonly kind: "any"; readonly parts: readonly Probe[] };

/** A test of the value at a path. */
export interface ProbeTerm {
  readonly kind: "term";
  readonly path: Path;
  readonly test: Test;
}

export type Test = PointTest | RangeTest;

/** Tests with known single values. */
export type PointTest =
  | { readonly kind: "equal"; readonly value: Expression }
  | { readonly kind: "member"; readonly list: Expression }
  | { readonly kind: "null" }
  | { readonly kind: "missing" };

export type RangeTest =
  | { readonly kind: "compare"; readonly operator: OrderOperator; readonly value: Expression }
  /** Matches the prefix of the pattern. */
  | { readonly kind: "like"; readonly pattern: Expression; readonly escape?: Expression }
  /** IS NOT MISSING. */
  | { readonly kind: "present" };

export type OrderOperator = "<" | "<=" | ">" | ">=";

export interface ProbeOptions {
  /** The slot of the document. */
  readonly slot: number;
  /** Whether an expression has one value for all documents, known before the first. */
  readonly isKnown: (node: Expression) => boolean;
}

export function isPointTest(test: Test): test is PointTest {
  return test.kind !== "compare" && test.kind !== "like" && test.kind !== "present";
}

/** Undefined when no part of the condition can be answered by an index. */
export function probeOf(
  condition: Expression | undefined,
  options: ProbeOptions,
): Probe | undefined {
  const parts: Probe[] = [];
  for (const part of conjuncts(condition)) {
    const probe = probeOfPart(part, options);
    if (probe?.kind === "all") parts.push(...probe.parts);
    else if (probe !== undefined) parts.push(probe);
  }
  const [only] = parts;
  return parts.length > 1 ? { kind: "all", parts } : only;
}

function probeOfPart(node: Expression, options: ProbeOptions): Probe | undefined {
  switch (node.kind) {
    case "binary":
      return node.operator === "or"
        ? probeOfChoice(node, options)
        : probeOfComparison(node, options);
    case "in":
      return probeOfMember(node, options);
    case "between":
      return probeOfBetween(node, options);
    case "like":
      return probeOfLike(node, options);
    case "is":
      return probeOfIs(node, options);
    case "field":
      return term(node, options, {
        kind: "equal",
        value: { kind: "literal", value: true, at: node.at },
      });
    default:
      return undefined;
  }
}

function term(operand: Expression, { slot }: ProbeOptions, test: Test): Probe | undefined {
  const path = pathOf(operand, slot);
  return path && { kind: "term", path, test };
}

/** An index must be able to answer every side: a document may match any of them. */
function probeOfChoice(node: BinaryNode, options: ProbeOptions): Probe | undefined {
  const parts: Probe[] = [];
  for (const side of alternatives(node)) {
    const probe = probeOf(side, options);
    if (probe === undefined) return undefined;
    if (probe.kind === "any") parts.push(...probe.parts);
    else parts.push(probe);
  }
  return { kind: "any", parts };
}

/** The sides of a chain of OR. Uses an explicit stack, since chains may be long. */
function alternatives(node: BinaryNode): Expression[] {
  const sides: Expression[] = [];
  const waiting: Expression[] = [node];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.kind === "binary" && next.operator === "or") waiting.push(next.right, next.left);
    else sides.push(next);
  }
  return sides;
}

const MIRRORED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;

function probeOfComparison(node: BinaryNode, options: ProbeOptions): Probe | undefined {
  const { operator, left, right } = node;
  const { isKnown } = options;
  switch (operator) {
    case "=":
      if (isKnown(right)) return term(left, options, { kind: "equal", value: right });
      return isKnown(left) ? term(right, options, { kind: "equal", value: left }) : undefined;
    case "<":
    case "<=":
    case ">":
    case ">=":
      if (isKnown(right)) return term(left, options, { kind: "compare", operator, value: right });
      if (!isKnown(left)) return undefined;
      return term(right, options, { kind: "compare", operator: MIRRORED[operator], value: left });
    default:
      return undefined;
  }
}

function probeOfMember(node: InNode, options: ProbeOptions): Probe | undefined {
  const { operand, list, isNegated } = node;
  if (isNegated || !options.isKnown(list)) return undefined;
  return term(operand, options, { kind: "member", list });
}

function probeOfBetween(node: BetweenNode, options: ProbeOptions): Probe | undefined {
  const { operand, low, high, isNegated } = node;
  if (isNegated || !options.isKnown(low) || !options.isKnown(high)) return undefined;
  const path = pathOf(operand, options.slot);
  if (path === undefined) return undefined;
  return {
    kind: "all",
    parts: [
      { kind: "term", path, test: { kind: "compare", operator: ">=", value: low } },
      { kind: "term", path, test: { kind: "compare", operator: "<=", value: high } },
    ],
  };
}

function probeOfLike(node: LikeNode, options: ProbeOptions): Probe | undefined {
  const { operator, isNegated, operand, pattern, escape } = node;
  if (operator !== "like" || isNegated || !options.isKnown(pattern)) return undefined;
  if (escape !== undefined && !options.isKnown(escape)) return undefined;
  return term(operand, options, { kind: "like", pattern, ...(escape && { escape }) });
}

function probeOfIs(node: IsNode, options: ProbeOptions): Probe | undefined {
  const { what, isNegated, operand } = node;
  if (!isNegated) return term(operand, options, { kind: what });
  return what === "missing" ? term(operand, options, { kind: "present" }) : undefined;
}

/** Whether an expression gives the same value in each evaluation. */
export function isSteady(node: Expression): boolean {
  let isSteadyNode = true;
  eachNode(node, (each) => {
    if (each.kind === "call" && each.name === "uuid") isSteadyNode = false;
  });
  return isSteadyNode;
}
