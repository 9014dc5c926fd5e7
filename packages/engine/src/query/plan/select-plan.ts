/**
 * planQuery: plans SELECT and UNION, including subqueries of other statements.
 *
 * Each SELECT has a frame of its own. What a subquery in an expression reads of the outer row is
 * copied into its frame before it runs. A subquery in FROM reads nothing of the outer row.
 */

import { assert } from "@bigpeer/protocol";
import { semanticFault } from "../fault.ts";
import type { Expression, Query, SelectStatement, UnionStatement } from "../syntax/tree.ts";
import { bindOutput, type Output } from "./output.ts";
import {
  planRows,
  type QueryPlan,
  type RowsOptions,
  type SelectPlan,
  type UnionPlan,
} from "./plan.ts";
import {
  type BindQuery,
  bindExpression,
  constantScope,
  OuterNames,
  type Scope,
  type ScopeTerm,
  Slots,
} from "./scope.ts";
import { rowsForOutput } from "./wish.ts";

/** `around`: the scope of the expression that contains the query. */
export function planQuery(query: Query, joinsMax?: number, around?: Scope): QueryPlan {
  return query.kind === "select"
    ? planSelect(query, joinsMax, around)
    : planUnion(query, joinsMax, around);
}

/** How the subqueries of a statement are planned. */
export function queryOptions(
  joinsMax?: number,
): Required<Pick<RowsOptions, "planSource" | "bindQuery">> {
  const bindQuery: BindQuery = (query, purpose, around) => {
    const plan = planQuery(query, joinsMax, around);
    if (purpose === "members") checkMembers(plan, query);
    return plan;
  };
  return { bindQuery, planSource: (query) => planQuery(query, joinsMax) };
}

function planSelect(
  statement: SelectStatement,
  joinsMax: number | undefined,
  around: Scope | undefined,
): SelectPlan {
  const slots = new Slots();
  const outer = around && new OuterNames(around, slots);
  const options = { ...(joinsMax !== undefined && { joinsMax }), ...queryOptions(joinsMax), outer };
  const { rows, scope } = planRows(statement, slots, options);
  const output = bindOutput(statement, scope);
  return {
    kind: "select",
    rows: rowsForOutput(rows, output, statement.limit !== undefined),
    terms: scope.terms,
    output,
    isDistinct: statement.isDistinct,
    limit: bindConstant(statement.limit),
    offset: bindConstant(statement.offset),
    slots: slots.count,
    imports: outer?.imports ?? [],
  };
}

function planUnion(
  { first, others, orderBy, limit, offset }: UnionStatement,
  joinsMax: number | undefined,
  around: Scope | undefined,
): UnionPlan {
  const arms = [first, ...others.map(({ select }) => select)].map((select) =>
    planSelect(select, joinsMax, around),
  );
  const slots = new Slots();
  const slot = slots.take();
  assert(slot === 0, "the row in the first slot");
  // Names refer to the columns of the rows.
  const terms: ScopeTerm[] = [{ alias: "", slot, isUnnamed: true }];
  const scope: Scope = { slots, terms, variables: [] };
  const order = orderBy.map((term) => ({
    ...term,
    expression: bindExpression(term.expression, scope),
  }));
  return {
    kind: "union",
    arms,
    distinctCount: distinctCountOf(others),
    order,
    limit: bindConstant(limit),
    offset: bindConstant(offset),
    slots: slots.count,
    imports: arms.flatMap(({ imports }) => imports),
  };
}

/** A UNION without ALL applies to all arms before it. */
function distinctCountOf(others: UnionStatement["others"]): number {
  const last = others.findLastIndex(({ isAll }) => !isAll);
  return last < 0 ? 0 : last + 2;
}

/** Requires one column, so that it is clear what IN compares with. */
function checkMembers(plan: QueryPlan, query: Query): void {
  const outputs = plan.kind === "select" ? [plan.output] : plan.arms.map(({ output }) => output);
  const isRaw = outputs[0]?.isRaw;
  if (outputs.every((output) => isOneColumn(output) && output.isRaw === isRaw)) return;
  throw semanticFault("expected a SELECT of one column after IN", query.at);
}

function isOneColumn({ columns }: Output): boolean {
  return columns.length === 1 && columns[0]?.kind === "column";
}

/** Binds a clause that may not read documents. */
export function bindConstant(node: Expression | undefined): Expression | undefined {
  return node && bindExpression(node, constantScope());
}
