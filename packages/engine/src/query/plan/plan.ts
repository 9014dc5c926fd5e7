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
import { isQueryTerm } from "../syntax/statement-walk.ts";
import type {
  BoundQuery,
  Expression,
  Join,
  OrderTerm,
  Query,
  QueryTerm,
  SourceTerm,
  Unnest,
  Use,
} from "../syntax/tree.ts";
import { conjuncts, hasSubquery, slotsOf } from "../syntax/tree-walk.ts";
import {
  type CollectionPurpose,
  type ResolvedCollection,
  resolveCollection,
} from "./collection.ts";
import type { Output } from "./output.ts";
import {
  type BindQuery,
  bindExpression,
  constantScope,
  type OuterNames,
  type Scope,
  type ScopeTerm,
  type Slots,
} from "./scope.ts";

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

/** A query in FROM: its rows take the place of documents. */
export interface QuerySource {
  readonly kind: "query";
  readonly plan: QueryPlan;
}

export interface SourcePlan {
  readonly collection: ResolvedCollection | QuerySource;
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

/** A row for each element of an array. */
export interface UnnestPlan {
  readonly type: "unnest";
  /** Also a row where there is no element. */
  readonly isOuter: boolean;
  readonly alias: string;
  readonly slot: number;
  readonly of: Expression;
}

export interface RowsPlan {
  readonly source: SourcePlan;
  readonly joins: readonly (JoinPlan | UnnestPlan)[];
  readonly where: Expression | undefined;
}

/** The plan of a SELECT: its rows, what is given back of them, and the window. */
export interface SelectPlan extends BoundQuery {
  readonly kind: "select";
  readonly rows: RowsPlan;
  readonly terms: readonly ScopeTerm[];
  readonly output: Output;
  readonly isDistinct: boolean;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  /** Places of a frame. */
  readonly slots: number;
}

export interface UnionPlan extends BoundQuery {
  readonly kind: "union";
  readonly arms: readonly SelectPlan[];
  /** The rows of so many arms, the first ones, all differ. */
  readonly distinctCount: number;
  /** Each row stands in the first slot, as documents do. */
  readonly order: readonly OrderTerm[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly slots: number;
}

export type QueryPlan = SelectPlan | UnionPlan;

export interface RowsClauses {
  readonly from: SourceTerm;
  /** What is done with the rows of the first term. */
  readonly purpose?: CollectionPurpose;
  readonly joins?: readonly (Join | Unnest)[];
  readonly where?: Expression;
}

export interface RowsOptions {
  readonly joinsMax?: number;
  /** How queries in FROM are planned; undefined where there can be none. */
  readonly planSource?: (query: Query) => QueryPlan;
  readonly bindQuery?: BindQuery;
  /** What stands around the query that the rows are of. */
  readonly outer?: OuterNames | undefined;
}

export interface BoundRows {
  readonly rows: RowsPlan;
  readonly scope: Scope;
}

export function planRows(clauses: RowsClauses, slots: Slots, options: RowsOptions = {}): BoundRows {
  const { joinsMax = JOINS_MAX, bindQuery, outer } = options;
  const joins = swapRight(clauses);
  if (joins.joins.length > joinsMax) {
    const message = `too many joins: expected at most ${joinsMax} joined terms`;
    throw semanticFault(message, joins.joins[joinsMax]?.at);
  }
  const terms: ScopeTerm[] = [];
  const scope: Scope = { slots, terms, variables: [], outer, ...(bindQuery && { bindQuery }) };
  const first = addSource(joins.from, scope, { ...options, purpose: clauses.purpose ?? "read" });
  terms.push(first.term);
  const planned = joins.joins.map((join) => {
    const plan = join.type === "unnest" ? planUnnest(join, scope) : planJoin(join, scope, options);
    terms.push(plan.term);
    return plan.plan;
  });
  const where = clauses.where && bindExpression(clauses.where, scope);
  const source = chooseAccess(first.source, useOf(joins.from), where, outer);
  return { rows: { source, joins: planned, where }, scope };
}

interface Joins {
  readonly from: SourceTerm;
  readonly joins: readonly (Join | Unnest)[];
}

/** A RIGHT JOIN is a LEFT JOIN from the other side. */
function swapRight(clauses: RowsClauses): Joins {
  const [first, ...others] = clauses.joins ?? [];
  const later = others.find(({ type }) => type === "right");
  if (later !== undefined) {
    throw semanticFault("RIGHT JOIN is supported only as the first join", later.at);
  }
  if (first?.type !== "right") return { from: clauses.from, joins: clauses.joins ?? [] };
  return { from: first.term, joins: [{ ...first, type: "left", term: clauses.from }, ...others] };
}

function useOf(term: SourceTerm): Use | undefined {
  return isQueryTerm(term) ? undefined : term.use;
}

interface AddedSource {
  readonly source: SourcePlan;
  readonly term: ScopeTerm;
}

interface SourceOptions extends RowsOptions {
  readonly purpose: CollectionPurpose;
}

function addSource(term: SourceTerm, scope: Scope, options: SourceOptions): AddedSource {
  const alias = aliasOf(term);
  checkAlias(alias, scope.terms, isQueryTerm(term) ? term.at : term.collection.at);
  const slot = scope.slots.take();
  const access: Access = { kind: "scan" };
  if (isQueryTerm(term)) {
    const collection = planQueryTerm(term, options);
    return { term: { alias, slot }, source: { collection, types: undefined, alias, slot, access } };
  }
  const { collection } = term;
  const resolved = resolveCollection(collection, options.purpose);
  return {
    term: { alias, slot, ...(term.isUnnamed && { isUnnamed: true }) },
    source: { collection: resolved, types: collection.types, alias, slot, access },
  };
}

function aliasOf(term: SourceTerm): string {
  return isQueryTerm(term) ? term.alias : (term.alias ?? term.collection.name);
}

function checkAlias(alias: string, terms: readonly ScopeTerm[], at: number): void {
  if (terms.every((known) => known.alias !== alias)) return;
  throw semanticFault(`two terms are named ${alias}: give one another alias`, at);
}

/** It knows nothing of what stands around it. */
function planQueryTerm({ query, at }: QueryTerm, { planSource }: SourceOptions): QuerySource {
  if (planSource === undefined) throw semanticFault("a SELECT cannot be used here", at);
  const plan = planSource(query);
  const arms = plan.kind === "select" ? [plan] : plan.arms;
  if (arms.some(({ output }) => isOfElements(output))) {
    throw semanticFault("expected rows that are objects in FROM: give the value a name", at);
  }
  return { kind: "query", plan };
}

function isOfElements({ isRaw, columns }: Output): boolean {
  const [only] = columns;
  if (!isRaw || only?.kind !== "column") return false;
  return only.expression.kind === "slot" && only.expression.holds === "element";
}

interface PlannedJoin<T> {
  readonly plan: T;
  readonly term: ScopeTerm;
}

function planUnnest(unnest: Unnest, scope: Scope): PlannedJoin<UnnestPlan> {
  const { isOuter, at } = unnest;
  const alias = unnest.alias ?? lastStep(unnest.of);
  if (alias === undefined) throw semanticFault("expected an alias for the elements: write AS", at);
  checkAlias(alias, scope.terms, at);
  const of = bindExpression(unnest.of, scope);
  const slot = scope.slots.take();
  return {
    plan: { type: "unnest", isOuter, alias, slot, of },
    term: { alias, slot, isElement: true },
  };
}

function lastStep(path: Expression): string | undefined {
  return path.kind === "name" || path.kind === "field" ? path.name : undefined;
}

function chooseAccess(
  source: SourcePlan,
  use: Use | undefined,
  where: Expression | undefined,
  outer: OuterNames | undefined,
): SourcePlan {
  const access = usedAccess(use) ?? idAccess(source, where, outer);
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
function idAccess(
  source: SourcePlan,
  where: Expression | undefined,
  outer: OuterNames | undefined,
): Access | undefined {
  if (source.collection.kind !== "stored") return undefined;
  const isKnown = (node: Expression): boolean =>
    outer === undefined ? slotsOf(node).size === 0 : outer.isKnown(node);
  for (const condition of conjuncts(where)) {
    const id = equalTo(condition, (side) => isId(side, source.slot));
    if (id !== undefined && isKnown(id)) {
      return { kind: "ids", ids: { kind: "ids", ids: [id] }, keepsRepeats: false };
    }
    if (condition.kind !== "in" || condition.isNegated) continue;
    if (isId(condition.operand, source.slot) && isKnown(condition.list)) {
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

function planJoin(join: Join, scope: Scope, options: RowsOptions): PlannedJoin<JoinPlan> {
  const known = new Set(scope.terms.map(({ slot }) => slot));
  const { source, term } = addSource(join.term, scope, { ...options, purpose: "read" });
  const terms = [...scope.terms, term];
  const access = usedAccess(useOf(join.term)) ?? source.access;
  const on = bindExpression(join.on, { ...scope, terms });
  // What a query in the condition takes may have to wait, which only the condition itself can do.
  const conditions = conjuncts(on).filter((condition) => !hasSubquery(condition));
  const isOwn = (node: Expression): boolean => readsOnly(node, new Set([source.slot]), terms);
  const filter = conditions.filter(isOwn);
  const method = chooseMethod(conditions, source, (node) => readsOnly(node, known, terms));
  const type = join.type === "left" ? "left" : "inner";
  return { plan: { type, source: { ...source, access }, method, filter, on }, term };
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
