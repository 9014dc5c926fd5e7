/**
 * Plan: query plan of a statement, as inert data that EXPLAIN shows and the executor follows.
 *
 * A plan depends on the text alone. It holds the inputs for the choice of an access path: the ids
 * that the statement names, its conditions, the fields that it reads and its order. The path is
 * chosen when the statement runs and the indexes are known (access.ts). A join is by id if its
 * condition gives one, by hash if it holds an equality, else a nested loop. All conditions are
 * evaluated again, so a choice can be slow but never wrong.
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
import { conjuncts, hasSubquery, readsSlot } from "../syntax/tree-walk.ts";
import { type AccessTerm, type IdsAccess, idsAccess, NO_WISH, type Wish } from "./access.ts";
import {
  type CollectionPurpose,
  type ResolvedCollection,
  resolveCollection,
} from "./collection.ts";
import { indexHintOf } from "./directive.ts";
import type { Output } from "./output.ts";
import { isSteady, type Probe, probeOf } from "./probe.ts";
import {
  type BindQuery,
  bindExpression,
  constantScope,
  type OuterNames,
  type Scope,
  type ScopeTerm,
  type Slots,
} from "./scope.ts";

/** A subquery in FROM: its rows take the place of documents. */
export interface QuerySource {
  readonly kind: "query";
  readonly plan: QueryPlan;
}

export interface SourcePlan extends AccessTerm {
  readonly collection: ResolvedCollection | QuerySource;
  readonly types: Types | undefined;
  readonly alias: string;
  readonly slot: number;
  /** Ids that the statement names; undefined if the access path is chosen at run time. */
  readonly ids: IdsAccess | undefined;
}

export type JoinMethod =
  /** The left side gives `id`: one lookup for each row. */
  | { readonly kind: "by_id"; readonly id: Expression }
  /** Equal keys on both sides: a hash table of the right side, or lookups in an index of it. */
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
  /** Conditions on the joined document alone, evaluated before the join. */
  readonly filter: readonly Expression[];
  readonly on: Expression;
}

/** A row for each element of an array. */
export interface UnnestPlan {
  readonly type: "unnest";
  /** Also a row if there is no element. */
  readonly isOuter: boolean;
  readonly alias: string;
  readonly slot: number;
  readonly of: Expression;
}

export interface RowsPlan {
  readonly source: SourcePlan;
  readonly joins: readonly (JoinPlan | UnnestPlan)[];
  readonly where: Expression | undefined;
  readonly wish: Wish;
}

/** The plan of a SELECT: its rows, its output and its window. */
export interface SelectPlan extends BoundQuery {
  readonly kind: "select";
  readonly rows: RowsPlan;
  readonly terms: readonly ScopeTerm[];
  readonly output: Output;
  readonly isDistinct: boolean;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  /** Number of slots of a frame. */
  readonly slots: number;
}

export interface UnionPlan extends BoundQuery {
  readonly kind: "union";
  readonly arms: readonly SelectPlan[];
  /** Number of leading arms whose rows must be distinct. */
  readonly distinctCount: number;
  /** Each row is in the first slot, as documents are. */
  readonly order: readonly OrderTerm[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly slots: number;
}

export type QueryPlan = SelectPlan | UnionPlan;

/** The collection whose documents a SELECT counts, if it does nothing else; otherwise undefined. */
export function countedOf({ rows, output }: SelectPlan): string | undefined {
  const { source, joins, where } = rows;
  const { grouping } = output;
  if (grouping === undefined || !grouping.isWhole || joins.length > 0) return undefined;
  if (!grouping.aggregates.every(({ call }) => call.isStar === true && !call.isDistinct))
    return undefined;
  if (source.ids !== undefined || !isAlways(where)) return undefined;
  return source.collection.kind === "stored" ? source.collection.name : undefined;
}

/** Whether a condition holds for every document. */
export function isAlways(where: Expression | undefined): boolean {
  return where === undefined || (where.kind === "literal" && where.value === true);
}

export interface RowsClauses {
  readonly from: SourceTerm;
  /** Use of the rows of the first term. */
  readonly purpose?: CollectionPurpose;
  readonly joins?: readonly (Join | Unnest)[];
  readonly where?: Expression;
}

export interface RowsOptions {
  readonly joinsMax?: number;
  /** Plans subqueries in FROM; undefined where none are allowed. */
  readonly planSource?: (query: Query) => QueryPlan;
  readonly bindQuery?: BindQuery;
  /** The names around the query that the rows belong to. */
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
  const source = withCondition(first.source, where, outer);
  return { rows: { source, joins: planned, where, wish: NO_WISH }, scope };
}

interface Joins {
  readonly from: SourceTerm;
  readonly joins: readonly (Join | Unnest)[];
}

/** A RIGHT JOIN is a LEFT JOIN with the sides swapped. */
function swapRight(clauses: RowsClauses): Joins {
  const [first, ...others] = clauses.joins ?? [];
  const later = others.find(({ type }) => type === "right");
  if (later !== undefined) {
    throw semanticFault("RIGHT JOIN is supported only as the first join", later.at);
  }
  if (first?.type !== "right") return { from: clauses.from, joins: clauses.joins ?? [] };
  return { from: first.term, joins: [{ ...first, type: "left", term: clauses.from }, ...others] };
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
  const open = { alias, slot, ids: undefined, probe: undefined, reads: undefined, hint: undefined };
  if (isQueryTerm(term)) {
    const collection = planQueryTerm(term, options);
    return { term: { alias, slot }, source: { ...open, collection, types: undefined } };
  }
  const { collection, use } = term;
  const resolved = resolveCollection(collection, options.purpose);
  const named = { ids: usedIds(use), hint: indexHintOf(use) };
  return {
    term: { alias, slot, ...(term.isUnnamed && { isUnnamed: true }) },
    source: { ...open, ...named, collection: resolved, types: collection.types },
  };
}

function aliasOf(term: SourceTerm): string {
  return isQueryTerm(term) ? term.alias : (term.alias ?? term.collection.name);
}

function checkAlias(alias: string, terms: readonly ScopeTerm[], at: number): void {
  if (terms.every((known) => known.alias !== alias)) return;
  throw semanticFault(`two terms are named ${alias}: give one another alias`, at);
}

/** A subquery in FROM cannot refer to anything around it. */
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

function usedIds(use: Use | undefined): IdsAccess | undefined {
  if (use?.kind === "ids") {
    const ids = use.ids.map((id) => bindExpression(id, constantScope()));
    return { kind: "ids", ids: { kind: "ids", ids }, keepsDuplicates: true };
  }
  if (use?.kind === "id_list") {
    const list = bindExpression(use.list, constantScope());
    return { kind: "ids", ids: { kind: "id_list", list }, keepsDuplicates: true };
  }
  return undefined;
}

/** Adds the probe of the WHERE condition to the first term. */
function withCondition(
  source: SourcePlan,
  where: Expression | undefined,
  outer: OuterNames | undefined,
): SourcePlan {
  if (source.collection.kind !== "stored") return source;
  const isKnown = (node: Expression): boolean =>
    isSteady(node) && (outer === undefined ? !readsSlot(node, () => true) : outer.isKnown(node));
  const probe = probeOf(where, { slot: source.slot, isKnown });
  return { ...source, probe, ids: source.ids ?? idsAccess(probe) };
}

/** The other side of an equality whose one side is wanted. */
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
  const on = bindExpression(join.on, { ...scope, terms });
  // A subquery may have to pause, which is possible only in the ON condition itself.
  const conditions = conjuncts(on).filter((condition) => !hasSubquery(condition));
  const isOwn = readsOnly(new Set([source.slot]), terms);
  const filter = conditions.filter(isOwn);
  const isLeft = readsOnly(known, terms);
  const method = chooseMethod(conditions, source, isLeft);
  const type = join.type === "left" ? "left" : "inner";
  const probe = joinProbe(conditions, source, isLeft);
  return { plan: { type, source: { ...source, probe }, method, filter, on }, term };
}

/** The probe of the join conditions on the joined document, given a left row. */
function joinProbe(
  conditions: readonly Expression[],
  { slot, collection }: SourcePlan,
  isLeft: (node: Expression) => boolean,
): Probe | undefined {
  if (collection.kind !== "stored") return undefined;
  const isKnown = (node: Expression): boolean => isSteady(node) && isLeft(node);
  const probes = conditions.map((condition) => probeOf(condition, { slot, isKnown }));
  const parts = probes.flatMap((probe) => (probe?.kind === "all" ? probe.parts : (probe ?? [])));
  return parts.length === 0 ? undefined : { kind: "all", parts };
}

/** Whether an expression reads only the documents of `allowed`. Variables do not count. */
function readsOnly(
  allowed: ReadonlySet<number>,
  terms: readonly ScopeTerm[],
): (node: Expression) => boolean {
  const others = new Set(terms.map(({ slot }) => slot).filter((slot) => !allowed.has(slot)));
  const isOther = (slot: number): boolean => others.has(slot);
  return (node) => !readsSlot(node, isOther);
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
  const isRight = (node: Expression): boolean => isOnly(node, slot);
  if (isLeft(a) && isRight(b)) return { left: a, right: b };
  return isLeft(b) && isRight(a) ? { left: b, right: a } : undefined;
}

/** Reads the one document and no other slot. */
function isOnly(node: Expression, slot: number): boolean {
  return readsSlot(node, (read) => read === slot) && !readsSlot(node, (read) => read !== slot);
}
