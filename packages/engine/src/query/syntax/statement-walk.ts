/**
 * Statement walks: collect the expressions, subqueries, parameters and collections of whole
 * statements.
 */

import { unreachable } from "@bigpeer/protocol";
import { finish, type Steps } from "../../steps.ts";
import type {
  CollectionRef,
  Expression,
  ParameterNode,
  Projection,
  Query,
  QueryTerm,
  Selection,
  SelectStatement,
  SourceTerm,
  Statement,
} from "./tree.ts";
import { eachNode } from "./tree-walk.ts";

type Parts = readonly (Expression | undefined)[];

/** Characters of text between two pauses. */
const LENGTH_AT_ONCE = 16 * 1024;

/** Visits expressions in steps: an INSERT may have hundreds of thousands of documents. */
export function* eachPart(parts: Parts, visit: (part: Expression) => void): Steps<void> {
  let paused = 0;
  for (const part of parts) {
    if (part === undefined) continue;
    if (part.at - paused > LENGTH_AT_ONCE) {
      paused = part.at;
      yield;
    }
    visit(part);
  }
}

/**
 * The expressions that are evaluated even if no document matches. Right sides of SET are not among
 * them, nor parts of a statement that is only explained.
 */
export function expressionsOf(statement: Statement): Expression[] {
  return partsOf(statement).filter((part) => part !== undefined);
}

function partsOf(statement: Statement): Parts {
  switch (statement.kind) {
    case "select":
    case "union":
      return queryParts(statement);
    case "insert": {
      const { source, returning } = statement;
      const parts = source.kind === "documents" ? source.documents : queryParts(source);
      return [...parts, ...projectionParts(returning ?? [])];
    }
    case "update":
      return [...statement.apply.map(({ value }) => value), ...selectionParts(statement)];
    case "remove":
      return selectionParts(statement);
    case "explain":
    case "advise":
    case "sync_context":
      return [];
    case "profile":
      return partsOf(statement.statement);
    case "explain_sync":
      return [statement.id, statement.peerKey];
    case "execute_function":
      return [statement.call];
    case "alter_system":
      return [statement.value];
    case "create_index":
    case "drop_index":
    case "show":
      return [];
    default:
      return unreachable(statement);
  }
}

function queryParts(query: Query): Parts {
  if (query.kind === "select") return selectParts(query);
  return [
    ...selectParts(query.first),
    ...query.others.flatMap(({ select }) => selectParts(select)),
    ...query.orderBy.map(({ expression }) => expression),
    query.limit,
    query.offset,
  ];
}

function selectParts(select: SelectStatement): Parts {
  return [
    ...projectionParts(select.projections),
    ...termParts(select.from),
    ...select.joins.flatMap((join) =>
      join.type === "unnest" ? [join.of] : [...termParts(join.term), join.on],
    ),
    select.where,
    ...(select.groupBy ?? []),
    select.having,
    ...select.orderBy.map(({ expression }) => expression),
    select.limit,
    select.offset,
  ];
}

function selectionParts(selection: Selection): Parts {
  return [
    ...termParts(selection.term),
    selection.where,
    ...selection.orderBy.map(({ expression }) => expression),
    selection.limit,
    selection.offset,
    ...projectionParts(selection.returning ?? []),
  ];
}

function projectionParts(projections: readonly Projection[]): Parts {
  return projections.map((projection) => {
    if (projection.kind === "all") return undefined;
    return projection.kind === "all_of" ? projection.of : projection.expression;
  });
}

function termParts(term: SourceTerm): Parts {
  if (isQueryTerm(term)) return queryParts(term.query);
  const { use } = term;
  if (use?.kind === "ids") return use.ids;
  return use?.kind === "id_list" ? [use.list] : [];
}

export function isQueryTerm(term: SourceTerm): term is QueryTerm {
  return "query" in term;
}

/** The arms of a query, in order. */
export function armsOf(query: Query): readonly SelectStatement[] {
  if (query.kind === "select") return [query];
  return [query.first, ...query.others.map(({ select }) => select)];
}

/** The FROM terms of one SELECT. */
export function termsOf({ from, joins }: SelectStatement): SourceTerm[] {
  return [from, ...joins.flatMap((join) => (join.type === "unnest" ? [] : [join.term]))];
}

/**
 * The direct subqueries of a statement: those in its expressions, including the right sides of SET,
 * and those in FROM. Not its own arms, not subqueries of subqueries, and nothing of an inner
 * statement, as of EXPLAIN.
 */
export function subqueriesOf(statement: Statement): Query[] {
  return finish(subqueriesInSteps(statement));
}

export function* subqueriesInSteps(statement: Statement): Steps<Query[]> {
  const found: Query[] = [];
  yield* eachPart(ownParts(statement), (part) => {
    eachNode(part, (node) => {
      if (node.kind === "subquery") found.push(node.query);
    });
  });
  for (const select of selectsOf(statement)) {
    for (const term of termsOf(select)) if (isQueryTerm(term)) found.push(term.query);
  }
  return found;
}

/**
 * The collections that subqueries in some expressions read, at any depth; undefined if one of them
 * reads a system collection.
 */
export function readsOfParts(parts: Parts): string[] | undefined {
  const queries: Query[] = [];
  for (const part of parts) {
    if (part === undefined) continue;
    eachNode(part, (node) => {
      if (node.kind === "subquery") queries.push(node.query);
    });
  }
  return readsOfAll(queries);
}

/** Like `readsOfParts`, for queries. */
export function readsOfAll(queries: readonly Query[]): string[] | undefined {
  const reads = new Set<string>();
  for (const query of queries) {
    const inside = readsOfAll(subqueriesOf(query));
    if (inside === undefined) return undefined;
    for (const name of inside) reads.add(name);
    for (const term of armsOf(query).flatMap(termsOf)) {
      if (isQueryTerm(term)) continue;
      const { namespace = "default", name } = term.collection;
      if (namespace !== "default") return undefined;
      reads.add(name);
    }
  }
  return [...reads];
}

function ownParts(statement: Statement): Parts {
  switch (statement.kind) {
    case "update":
      return [...partsOf(statement), ...statement.set.map(({ value }) => value)];
    case "profile":
      return [];
    case "sync_context":
      return [statement.where];
    default:
      return partsOf(statement);
  }
}

/**
 * All parameters that a statement names, including those that not every run evaluates and those of
 * an inner statement.
 */
export function namedParameters(statement: Statement): ParameterNode[] {
  const found: ParameterNode[] = [];
  for (const part of ownParts(statement)) {
    if (part === undefined) continue;
    eachNode(part, (node) => {
      if (node.kind === "parameter") found.push(node);
    });
  }
  for (const query of subqueriesOf(statement)) found.push(...namedParameters(query));
  if ("statement" in statement) found.push(...namedParameters(statement.statement));
  return found;
}

/** The collections that a statement reads, including those of its subqueries. */
export function* sourcesInSteps(statement: Statement): Steps<CollectionRef[]> {
  const terms = selectsOf(statement).flatMap(termsOf);
  const own = "term" in statement ? [statement.term] : terms;
  const refs = own.flatMap((term) => (isQueryTerm(term) ? [] : term.collection));
  for (const query of yield* subqueriesInSteps(statement)) {
    refs.push(...(yield* sourcesInSteps(query)));
  }
  return refs;
}

function selectsOf(statement: Statement): readonly SelectStatement[] {
  switch (statement.kind) {
    case "select":
    case "union":
      return armsOf(statement);
    case "insert":
      return statement.source.kind === "documents" ? [] : armsOf(statement.source);
    default:
      return [];
  }
}
