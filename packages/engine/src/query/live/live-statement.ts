/**
 * prepareLive: prepares a statement as a live query, and decides how its result is maintained.
 *
 * A live query must give the same rows for the same documents: a SELECT or UNION over stored
 * collections. `query.semantic` refuses other statements (EXPLAIN, SHOW, …), system collections,
 * and functions that read the clock, random numbers or the request.
 *
 * A SELECT of one collection without groups, DISTINCT, USE IDS, UNNEST or subqueries is maintained
 * incrementally: each row comes from one document, so a changed document changes one row. Every
 * other statement runs again, only when a change could matter. For one collection, and for a UNION
 * of such, that is when WHERE was or is true for the document; otherwise when any collection of the
 * statement holds the document.
 */

import { SUBSCRIPTION_TOKENS_MAX } from "../../limits.ts";
import { type Fault, semanticFault } from "../fault.ts";
import type { CollectionUse } from "../permission/collection-use.ts";
import { UNSTEADY_FUNCTIONS } from "../permission/permission-filter.ts";
import { joinsMaxOf } from "../plan/directive.ts";
import { planQuery } from "../plan/select-plan.ts";
import { prepareParsed } from "../statement/prepare.ts";
import type { RunWork } from "../statement/work.ts";
import { Lexer } from "../syntax/lexer.ts";
import { parseStatement } from "../syntax/parse-statement.ts";
import {
  armsOf,
  expressionsOf,
  isQueryTerm,
  subqueriesOf,
  termsOf,
} from "../syntax/statement-walk.ts";
import type {
  Expression,
  ParameterNode,
  ParsedStatement,
  Query,
  SelectStatement,
} from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import { anyDocumentOf, type ConditionPlan, conditionOf } from "./condition.ts";
import { compileKept, type KeptPlan } from "./kept-rows.ts";

export interface LiveStatement {
  readonly text: string;
  /** The parameters that must be given. */
  readonly parameters: readonly ParameterNode[];
  /** The collections that it names. */
  readonly access: readonly CollectionUse[];
  /** The statement as a whole. */
  readonly run: RunWork;
  /** Present only if its rows can be maintained incrementally. */
  readonly kept: KeptPlan | undefined;
  /** A change that affects none of them leaves the rows as they are. */
  readonly conditions: readonly ConditionPlan[];
  /** The same for strict mode, which may show other variants of fields. */
  readonly collections: readonly ConditionPlan[];
}

/** A SELECT of whole documents of one collection, as in a subscription. */
export interface PreparedCondition {
  readonly plan: ConditionPlan;
  readonly parameters: readonly ParameterNode[];
  readonly access: readonly CollectionUse[];
}

/** Throws a Fault; `elapsed` is a monotonic clock. */
export function prepareLive(text: string, elapsed: () => number): LiveStatement {
  const parsed = parseStatement(text);
  const query = followable(parsed);
  const { parameters, access, work } = prepareParsed(parsed, elapsed);
  if (work.kind !== "read") throw semanticFault("expected a SELECT", query.at, SELECT_HINT);
  const collections = collectionsOf(access).map(anyDocumentOf);
  const conditions = conditionsOf(query, parsed) ?? collections;
  const kept = keptOf(query, parsed);
  return { text, parameters, access, run: work.run, kept, conditions, collections };
}

/** The condition of `SELECT * FROM c [WHERE …]`; throws a Fault for everything else. */
export function prepareCondition(text: string): PreparedCondition {
  return prepareParsedCondition(parseStatement(text, SUBSCRIPTION_TOKENS_MAX), text);
}

/** The same for a parsed statement. */
export function prepareParsedCondition(parsed: ParsedStatement, text: string): PreparedCondition {
  const query = followable(parsed);
  const [plan] = (isWhole(query) && conditionsOf(query, parsed)) || [];
  if (plan === undefined) throw notWhole(query, text);
  const { parameters, access } = prepareParsed(parsed, () => 0);
  return { plan, parameters, access };
}

/** Whether its rows are whole documents selected by WHERE alone. */
function isWhole(query: Query): query is SelectStatement {
  if (query.kind !== "select" || query.isDistinct || query.groupBy !== undefined) return false;
  const { projections, having, orderBy, limit, offset } = query;
  const isAll = projections.length === 1 && projections[0]?.kind === "all";
  const isPlain = having === undefined && orderBy.length === 0;
  return isAll && isPlain && limit === undefined && offset === undefined && !namesIds(query);
}

const WHOLE = "SELECT * FROM a collection, with WHERE or without";

const WHOLE_HINT =
  "a subscription chooses documents, as they are; what execute and observers read may have more";

/** The fault of a query that is more than a filter of documents: its first surplus clause. */
function notWhole(query: Query, text: string): Fault {
  const [found, at] = surplusOf(query, text);
  const what = found === undefined ? "" : `, found ${found}`;
  return semanticFault(`expected ${WHOLE}${what}`, at, WHOLE_HINT);
}

function surplusOf(query: Query, text: string): [found: string | undefined, at: number] {
  const clause = (word: string, before = query.at): number => clauseAt(text, word, before);
  if (query.kind !== "select") return ["UNION", clause("UNION", query.others[0]?.select.at)];
  const { isDistinct, projections, from, joins, groupBy, having, orderBy, limit, offset } = query;
  const [projection] = projections;
  if (isDistinct) return ["DISTINCT", clause("DISTINCT", projection?.at)];
  const column = projections.find(({ kind }) => kind !== "all") ?? projections[1];
  if (column !== undefined) return ["columns", column.at];
  if (isQueryTerm(from)) return ["a query after FROM", query.at];
  if (joins[0] !== undefined) return ["a join", joins[0].at];
  if (groupBy !== undefined) return ["GROUP BY", clause("GROUP", groupBy[0]?.at)];
  if (having !== undefined) return ["HAVING", clause("HAVING", having.at)];
  if (orderBy[0] !== undefined) return ["ORDER BY", clause("ORDER", orderBy[0].expression.at)];
  if (limit !== undefined) return ["LIMIT", clause("LIMIT", limit.at)];
  if (offset !== undefined) return ["OFFSET", clause("OFFSET", offset.at)];
  return [undefined, query.at];
}

/** Position of the keyword of a clause: the last one before the contents of the clause. */
function clauseAt(text: string, word: string, before: number): number {
  const lexer = new Lexer(text);
  let at = before;
  for (let token = lexer.next(); token.at < before; token = lexer.next()) {
    if (token.word === word) at = token.at;
  }
  return at;
}

const SELECT_HINT = "only a SELECT can be subscribed to or observed";

/** The query of a statement that can be live; throws for all others. */
function followable({ statement }: ParsedStatement): Query {
  if (statement.kind !== "select" && statement.kind !== "union") {
    // As it is written: DELETE, EVICT and TOMBSTONE are of one kind.
    const kind = statement.kind === "remove" ? statement.method : statement.kind;
    const found = kind.replaceAll("_", " ").toUpperCase();
    throw semanticFault(`expected a SELECT, found ${found}`, statement.at, SELECT_HINT);
  }
  checkSteady(statement);
  return statement;
}

function checkSteady(query: Query): void {
  for (const term of armsOf(query).flatMap(termsOf)) {
    if (isQueryTerm(term)) continue;
    const { namespace, name, at } = term.collection;
    if (namespace === undefined || namespace === "default") continue;
    throw semanticFault(
      `expected a collection of documents, found ${namespace}:${name}`,
      at,
      "execute reads a system collection; it can be neither subscribed to nor observed",
    );
  }
  for (const expression of expressionsOf(query)) eachNode(expression, refuseUnsteady);
  for (const inner of subqueriesOf(query)) checkSteady(inner);
}

function refuseUnsteady(node: Expression): void {
  if (node.kind !== "call" || !UNSTEADY_FUNCTIONS.has(node.name)) return;
  const message = `expected a query about documents alone: ${node.name} gives something else each time`;
  const hint = `give the value of ${node.name}() as an argument, and register the query again when it changes`;
  throw semanticFault(message, node.at, hint);
}

function collectionsOf(access: readonly CollectionUse[]): string[] {
  return [...new Set(access.flatMap((use) => (use.kind === "read" ? [use.collection] : [])))];
}

/** One for each arm; undefined if a document alone does not decide. */
function conditionsOf(query: Query, { directives }: ParsedStatement): ConditionPlan[] | undefined {
  if (subqueriesOf(query).length > 0) return undefined;
  const plan = planQuery(query, joinsMaxOf(directives));
  const arms = plan.kind === "select" ? [plan] : plan.arms;
  const selects = armsOf(query);
  const conditions: ConditionPlan[] = [];
  for (const [i, arm] of arms.entries()) {
    const condition = conditionOf(arm, selects[i] as SelectStatement);
    if (condition === undefined) return undefined;
    conditions.push(condition);
  }
  return conditions;
}

function keptOf(query: Query, { directives }: ParsedStatement): KeptPlan | undefined {
  if (query.kind !== "select" || subqueriesOf(query).length > 0) return undefined;
  const plan = planQuery(query, joinsMaxOf(directives));
  if (plan.kind !== "select" || plan.isDistinct || plan.output.grouping !== undefined) {
    return undefined;
  }
  const { source, joins } = plan.rows;
  const { collection, types } = source;
  if (collection.kind !== "stored" || joins.length > 0 || types !== undefined) return undefined;
  return namesIds(query) ? undefined : compileKept(plan, collection.name);
}

/** USE IDS: rows in the order of the named ids, repeated ones included. */
function namesIds({ from }: SelectStatement): boolean {
  if (isQueryTerm(from)) return false;
  return from.use?.kind === "ids" || from.use?.kind === "id_list";
}
