/**
 * Walking over expressions: each child once, a copy with other children, a key for equal ones.
 */

import { unreachable } from "@bigpeer/protocol";
import { Float } from "../value/datum.ts";
import type {
  Binding,
  Expression,
  ObjectEntry,
  SlotNode,
  SubqueryNode,
  WhenClause,
} from "./tree.ts";

type Change = (expression: Expression) => Expression;

/** The same node with every child replaced by what `change` makes of it. */
export function mapChildren(node: Expression, change: Change): Expression {
  switch (node.kind) {
    case "literal":
    case "missing":
    case "parameter":
    case "name":
    case "slot":
    // A query has names of its own: whoever wants to see into it does so by himself.
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

/** Nodes some of whose children may be absent. */
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

export function eachChild(node: Expression, visit: (child: Expression) => void): void {
  mapChildren(node, (child) => {
    visit(child);
    return child;
  });
}

/** Calls `visit` for the node and for everything in it. */
export function eachNode(node: Expression, visit: (node: Expression) => void): void {
  visit(node);
  eachChild(node, (child) => eachNode(child, visit));
}

/** Equal for expressions that mean the same, wherever they stand. */
export function expressionKey(node: Expression): string {
  return JSON.stringify(node, (key, value: unknown) => {
    if (!isMeaning(key)) return undefined;
    if (typeof value === "bigint") return { bigint: String(value) };
    if (value instanceof Float) return { float: value.value };
    // JSON has no infinities: they would be nulls.
    if (typeof value === "number" && !Number.isFinite(value)) return { number: String(value) };
    if (isSubquery(value))
      return { query: value.query, purpose: value.purpose, reads: readsOf(value) };
    // Two equal comprehensions have variables of equal names in different slots.
    return isVariable(value) ? { variable: value.name } : value;
  });
}

function isSubquery(value: unknown): value is SubqueryNode {
  const node = value as Partial<SubqueryNode> | null;
  return typeof node === "object" && node?.kind === "subquery";
}

/** What its names stand for, where that is something around it; a variable is known by its name. */
function readsOf({ bound }: SubqueryNode): string {
  const imports = bound?.imports ?? [];
  return imports.map(({ holds, outer }) => (holds === "variable" ? holds : outer)).join();
}

function isVariable(value: unknown): value is SlotNode {
  const node = value as Partial<SlotNode> | null;
  return typeof node === "object" && node?.kind === "slot" && node.holds === "variable";
}

/** As comparing the keys, but done with at the first difference. */
export function isSameExpression(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isVariable(a) && isVariable(b)) return a.name === b.name;
  if (isSubquery(a) && isSubquery(b)) {
    const isSameUse = a.purpose === b.purpose && readsOf(a) === readsOf(b);
    return isSameUse && isSameExpression(a.query, b.query);
  }
  const keysA = Object.keys(a).filter(isMeaning);
  const keysB = Object.keys(b).filter(isMeaning);
  if (keysA.length !== keysB.length) return false;
  return keysA.every((key) =>
    isSameExpression((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}

function isMeaning(key: string): boolean {
  return key !== "at" && key !== "slots";
}

/** The parts of a condition that must all be true. With a stack of its own: chains may be long. */
export function conjuncts(condition: Expression | undefined): Expression[] {
  const parts: Expression[] = [];
  const waiting = condition === undefined ? [] : [condition];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.kind === "binary" && next.operator === "and") waiting.push(next.right, next.left);
    else parts.push(next);
  }
  return parts;
}

/** The slots that an expression reads, be it for a query in it. */
export function slotsOf(node: Expression): ReadonlySet<number> {
  const slots = new Set<number>();
  eachNode(node, (found) => {
    if (found.kind === "slot") slots.add(found.slot);
    else if (found.kind === "subquery") {
      for (const { outer } of found.bound?.imports ?? []) slots.add(outer);
    }
  });
  return slots;
}

export function hasSubquery(node: Expression): boolean {
  let isFound = false;
  eachNode(node, ({ kind }) => {
    isFound ||= kind === "subquery";
  });
  return isFound;
}
