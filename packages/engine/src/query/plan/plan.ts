/**
 * Plan: how the rows of a statement are found, as inert data that EXPLAIN shows and the executor
 * follows.
 *
 * Access paths: the ids that the statement names, else the whole collection. Joins: by id
 * where the condition gives one, by a hash table where it holds an equality, else every pair. The
 * conditions that a path was chosen by are checked again, so a choice can be slow but never wrong.
 */

import type { Types } from "@bigpeer/protocol";
import { JOINS_MAX } from "../../limits.ts";
import { semanticFault } from "../fault.ts";
import type { Expression, FromTerm, Join, Use } from "../syntax/tree.ts";
import { conjuncts, slotsOf } from "../syntax/tree-walk.ts";
import {
  type CollectionPurpose,
  type ResolvedCollection,
  resolveCollection,
} from "./collection.ts";
import { bindExpression, constantScope, type Scope, type ScopeTerm, type Slots } from "./scope.ts";

export type Access =
  | { readonly kind: "scan" }
  /** Ids that are known before a row is read. USE IDS gives a row for each, also for repeated ones. */
  | {
      readonly kind: "ids";
      readonly ids: NamedIds;
      readonly keepsRepeats: boolean;
    };

/** An expression for each id, or one that gives an array of ids. */
export type NamedIds = Extract<Use, { kind: "ids" | "id_list" }>;

export interface SourcePlan {
  readonly collection: ResolvedCollection;
  readonly types: Types | undefined;
  readonly alias: string;
  readonly slot: number;
  readonly access: Access;
}

export type JoinMethod =
  /** `id` is made of what stands on the left: one lookup for each row. */
  | { readonly kind: "by_id"; readonly id: Expression }
  /** Equal keys on both sides. */
  | {
      readonly kind: "hash";
      readonly left: readonly Expression[];
      readonly right: readonly Expression[];
    }
  | { readonly kind: "pairs" };

export interface JoinPlan {
  readonly type: "inner" | "left";
  readonly source: SourcePlan;
  readonly method: JoinMethod;
  /** Conditions on the joined document alone: checked before it is joined. */
  readonly filter: readonly Expression[];
  readonly on: Expression;
}

export interface RowsPlan {
  readonly source: SourcePlan;
  readonly joins: readonly JoinPlan[];
  readonly where: Expression | undefined;
}

export interface RowsClauses {
  readonly from: FromTerm;
  /** What is done with the rows of the first term. */
  readonly purpose?: CollectionPurpose;
  readonly joins?: readonly Join[];
  readonly where?: Expression;
}

export interface BoundRows {
  readonly rows: RowsPlan;
  readonly scope: Scope;
}

export function planRows(
  clauses: RowsClauses,
  slots: Slots,
  joinsMax: number = JOINS_MAX,
): BoundRows {
  const joins = swapRight(clauses);
  if (joins.joins.length > joinsMax) {
    const message = `too many joins: expected at most ${joinsMax} joined terms`;
    throw semanticFault(message, joins.joins[joinsMax]?.at);
  }
  const terms: ScopeTerm[] = [];
  const first = addTerm(joins.from, terms, slots, clauses.purpose);
  const planned = joins.joins.map((join) => planJoin(join, terms, slots));
  const scope: Scope = { slots, terms, variables: [] };
  const where = clauses.where && bindExpression(clauses.where, scope);
  const source = chooseAccess(first, joins.from.use, where);
  return { rows: { source, joins: planned, where }, scope };
}

/** A RIGHT JOIN is a LEFT JOIN from the other side. */
function swapRight(clauses: RowsClauses): { from: FromTerm; joins: readonly Join[] } {
  const [first, ...others] = clauses.joins ?? [];
  const later = others.find(({ type }) => type === "right");
  if (later !== undefined) {
    throw semanticFault("RIGHT JOIN is supported only as the first join", later.at);
  }
  if (first?.type !== "right") return { from: clauses.from, joins: clauses.joins ?? [] };
  return { from: first.term, joins: [{ ...first, type: "left", term: clauses.from }, ...others] };
}

function addTerm(
  term: FromTerm,
  terms: ScopeTerm[],
  slots: Slots,
  purpose: CollectionPurpose = "read",
): SourcePlan {
  const { collection } = term;
  const alias = term.alias ?? collection.name;
  if (terms.some((known) => known.alias === alias)) {
    throw semanticFault(`two terms are named ${alias}: give one another alias`, collection.at);
  }
  const slot = slots.take();
  terms.push({ alias, slot, ...(term.isUnnamed && { isUnnamed: true }) });
  const resolved = resolveCollection(collection, purpose);
  return {
    collection: resolved,
    types: collection.types,
    alias,
    slot,
    access: { kind: "scan" },
  };
}

function chooseAccess(
  source: SourcePlan,
  use: Use | undefined,
  where: Expression | undefined,
): SourcePlan {
  const access = usedAccess(use) ?? idAccess(source, where);
  return access === undefined ? source : { ...source, access };
}

function usedAccess(use: Use | undefined): Access | undefined {
  if (use?.kind === "ids") {
    const ids = use.ids.map((id) => bindExpression(id, constantScope()));
    return { kind: "ids", ids: { kind: "ids", ids }, keepsRepeats: true };
  }
  if (use?.kind === "id_list") {
    const list = bindExpression(use.list, constantScope());
    return { kind: "ids", ids: { kind: "id_list", list }, keepsRepeats: true };
  }
  return undefined;
}

/** `_id = constant` among the conditions that must hold. */
function idAccess(source: SourcePlan, where: Expression | undefined): Access | undefined {
  if (source.collection.kind !== "stored") return undefined;
  for (const condition of conjuncts(where)) {
    const id = equalTo(condition, (side) => isId(side, source.slot));
    if (id !== undefined && slotsOf(id).size === 0) {
      return { kind: "ids", ids: { kind: "ids", ids: [id] }, keepsRepeats: false };
    }
    if (condition.kind !== "in" || condition.isNegated) continue;
    if (isId(condition.operand, source.slot) && slotsOf(condition.list).size === 0) {
      const { list } = condition;
      return { kind: "ids", ids: { kind: "id_list", list }, keepsRepeats: false };
    }
  }
  return undefined;
}

/** The other side of an equality, one of whose sides is what is looked for. */
function equalTo(
  condition: Expression,
  isWanted: (side: Expression) => boolean,
): Expression | undefined {
  if (condition.kind !== "binary" || condition.operator !== "=") return undefined;
  if (isWanted(condition.left)) return condition.right;
  return isWanted(condition.right) ? condition.left : undefined;
}

function isId(node: Expression, slot: number): boolean {
  return (
    node.kind === "field" &&
    node.name === "_id" &&
    node.of.kind === "slot" &&
    node.of.holds === "document" &&
    node.of.slot === slot
  );
}

function planJoin(join: Join, terms: ScopeTerm[], slots: Slots): JoinPlan {
  const known = new Set(terms.map(({ slot }) => slot));
  const source = addTerm(join.term, terms, slots);
  const access = usedAccess(join.term.use) ?? source.access;
  const on = bindExpression(join.on, { slots, terms: [...terms], variables: [] });
  const conditions = conjuncts(on);
  const isOwn = (node: Expression): boolean => readsOnly(node, new Set([source.slot]), terms);
  const filter = conditions.filter(isOwn);
  const method = chooseMethod(conditions, source, (node) => readsOnly(node, known, terms));
  const type = join.type === "left" ? "left" : "inner";
  return { type, source: { ...source, access }, method, filter, on };
}

/** Whether of all documents only those of `allowed` are read. Variables do not count. */
function readsOnly(
  node: Expression,
  allowed: ReadonlySet<number>,
  terms: readonly ScopeTerm[],
): boolean {
  const read = slotsOf(node);
  return terms.every(({ slot }) => allowed.has(slot) || !read.has(slot));
}

function chooseMethod(
  conditions: readonly Expression[],
  source: SourcePlan,
  isLeft: (node: Expression) => boolean,
): JoinMethod {
  const left: Expression[] = [];
  const right: Expression[] = [];
  for (const condition of conditions) {
    if (condition.kind !== "binary" || condition.operator !== "=") continue;
    const id = equalTo(condition, (side) => isId(side, source.slot));
    if (id !== undefined && isLeft(id) && source.collection.kind === "stored") {
      return { kind: "by_id", id };
    }
    const sides = pairOf(condition.left, condition.right, source.slot, isLeft);
    if (sides === undefined) continue;
    left.push(sides.left);
    right.push(sides.right);
  }
  return left.length > 0 ? { kind: "hash", left, right } : { kind: "pairs" };
}

function pairOf(
  a: Expression,
  b: Expression,
  slot: number,
  isLeft: (node: Expression) => boolean,
): { left: Expression; right: Expression } | undefined {
  const isRight = (node: Expression): boolean => slotsOf(node).has(slot) && isOnly(node, slot);
  if (isLeft(a) && isRight(b)) return { left: a, right: b };
  return isLeft(b) && isRight(a) ? { left: b, right: a } : undefined;
}

/** Reads the one document and nothing that another expression put into the frame. */
function isOnly(node: Expression, slot: number): boolean {
  return [...slotsOf(node)].every((read) => read === slot);
}
