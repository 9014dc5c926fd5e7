/**
 * Expression walks: visit the children or all nodes of an expression, or copy it with changed
 * children.
 */

import { unreachable } from "@bigpeer/protocol";
import type { Binding, Expression, ObjectEntry, WhenClause } from "./tree.ts";

type Change = (expression: Expression) => Expression;

/** Copies a node with `change` applied to each child. */
export function mapChildren(node: Expression, change: Change): Expression {
  switch (node.kind) {
    case "literal":
    case "missing":
    case "parameter":
    case "name":
    case "slot":
    // A subquery has a scope of its own: callers that need its nodes walk it themselves.
    case "subquery":
      return node;
    case "field":
      return { ...node, of: change(node.of) };
    case "element":
      return { ...node, of: change(node.of), index: change(node.index) };
    case "array":
      return { ...node, elements: node.elements.map(change) };
    case "object":
      return { ...node, entries: node.entries.map((entry) => mapEntry(entry, change)) };
    case "unary":
    case "is":
    case "cast":
      return { ...node, operand: change(node.operand) };
    case "binary":
      return { ...node, left: change(node.left), right: change(node.right) };
    case "in":
      return { ...node, operand: change(node.operand), list: change(node.list) };
    case "between":
      return {
        ...node,
        operand: change(node.operand),
        low: change(node.low),
        high: change(node.high),
      };
    case "call":
      return { ...node, args: node.args.map(change) };
    default:
      return mapOptional(node, change);
  }
}

type OptionalNode = Extract<Expression, { kind: "like" | "case" | "quantifier" | "comprehension" }>;

/** Copies nodes with optional children. */
function mapOptional(node: OptionalNode, change: Change): Expression {
  switch (node.kind) {
    case "like":
      return {
        ...node,
        operand: change(node.operand),
        pattern: change(node.pattern),
        ...(node.escape && { escape: change(node.escape) }),
      };
    case "case":
      return {
        ...node,
        ...(node.subject && { subject: change(node.subject) }),
        whens: node.whens.map((clause) => mapWhen(clause, change)),
        ...(node.otherwise && { otherwise: change(node.otherwise) }),
      };
    case "quantifier":
      return {
        ...node,
        binding: mapBinding(node.binding, change),
        condition: change(node.condition),
      };
    case "comprehension":
      return {
        ...node,
        binding: mapBinding(node.binding, change),
        ...(node.key && { key: change(node.key) }),
        value: change(node.value),
        ...(node.condition && { condition: change(node.condition) }),
      };
    default:
      return unreachable(node);
  }
}

function mapEntry({ key, value }: ObjectEntry, change: Change): ObjectEntry {
  return { key: change(key), value: change(value) };
}

function mapWhen({ when, result }: WhenClause, change: Change): WhenClause {
  return { when: change(when), result: change(result) };
}

function mapBinding(binding: Binding, change: Change): Binding {
  return { ...binding, source: change(binding.source) };
}

/** Visits each child without copying: every stage walks the whole tree, some more than once. */
export function eachChild(node: Expression, visit: (child: Expression) => void): void {
  switch (node.kind) {
    case "literal":
    case "missing":
    case "parameter":
    case "name":
    case "slot":
    case "subquery":
      return;
    case "field":
      visit(node.of);
      return;
    case "element":
      visit(node.of);
      visit(node.index);
      return;
    case "array":
      for (const element of node.elements) visit(element);
      return;
    case "object":
      for (const { key, value } of node.entries) {
        visit(key);
        visit(value);
      }
      return;
    case "unary":
    case "is":
    case "cast":
      visit(node.operand);
      return;
    case "binary":
      visit(node.left);
      visit(node.right);
      return;
    case "in":
      visit(node.operand);
      visit(node.list);
      return;
    case "between":
      visit(node.operand);
      visit(node.low);
      visit(node.high);
      return;
    case "call":
      for (const arg of node.args) visit(arg);
      return;
    default:
      eachOptional(node, visit);
  }
}

function eachOptional(node: OptionalNode, visit: (child: Expression) => void): void {
  switch (node.kind) {
    case "like":
      visit(node.operand);
      visit(node.pattern);
      if (node.escape) visit(node.escape);
      return;
    case "case":
      if (node.subject) visit(node.subject);
      for (const { when, result } of node.whens) {
        visit(when);
        visit(result);
      }
      if (node.otherwise) visit(node.otherwise);
      return;
    case "quantifier":
      visit(node.binding.source);
      visit(node.condition);
      return;
    case "comprehension":
      visit(node.binding.source);
      if (node.key) visit(node.key);
      visit(node.value);
      if (node.condition) visit(node.condition);
      return;
    default:
      unreachable(node);
  }
}

/** Calls `visit` for the node and all its descendants. */
export function eachNode(node: Expression, visit: (node: Expression) => void): void {
  visit(node);
  eachChild(node, (child) => eachNode(child, visit));
}

/** The conjuncts of a condition. Iterates with its own stack: chains may be long. */
export function conjuncts(condition: Expression | undefined): Expression[] {
  const parts: Expression[] = [];
  const waiting = condition === undefined ? [] : [condition];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.kind === "binary" && next.operator === "and") waiting.push(next.right, next.left);
    else parts.push(next);
  }
  return parts;
}

/** Whether an expression, or a subquery in it, reads a slot that `isWanted` accepts. */
export function readsSlot(node: Expression, isWanted: (slot: number) => boolean): boolean {
  let isFound = false;
  eachNode(node, (found) => {
    if (isFound) return;
    if (found.kind === "slot") isFound = isWanted(found.slot);
    else if (found.kind === "subquery") {
      isFound = found.bound?.imports.some(({ outer }) => isWanted(outer)) ?? false;
    }
  });
  return isFound;
}

export function hasSubquery(node: Expression): boolean {
  let isFound = false;
  eachNode(node, ({ kind }) => {
    isFound ||= kind === "subquery";
  });
  return isFound;
}
