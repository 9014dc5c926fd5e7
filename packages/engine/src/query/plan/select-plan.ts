/**
 * Plans of queries: SELECT, UNION, and those inside of other statements.
 *
 * Each SELECT has a frame of its own. What one inside of an expression reads of the row around it is
 * copied into its frame before it runs. One in FROM reads nothing of what stands around it.
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

/** `around`: the scope of the expression that the query stands in. */
export function planQuery(query: Query, joinsMax?: number, around?: Scope): QueryPlan {
  return query.kind === "select"
    ? planSelect(query, joinsMax, around)
    : planUnion(query, joinsMax, around);
}

/** How queries inside of a statement are planned. */
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
  // Names are those of the columns of the rows.
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

/** A UNION without ALL concerns all that stands before it. */
function distinctCountOf(others: UnionStatement["others"]): number {
  const last = others.findLastIndex(({ isAll }) => !isAll);
  return last < 0 ? 0 : last + 2;
}

/** One value in each row, so that it is clear what is looked for among them. */
function checkMembers(plan: QueryPlan, query: Query): void {
  const outputs = plan.kind === "select" ? [plan.output] : plan.arms.map(({ output }) => output);
  const isRaw = outputs[0]?.isRaw;
  if (outputs.every((output) => isOneColumn(output) && output.isRaw === isRaw)) return;
  throw semanticFault("expected a SELECT of one column after IN", query.at);
}

function isOneColumn({ columns }: Output): boolean {
  return columns.length === 1 && columns[0]?.kind === "column";
}

/** Binds a clause that may read no document. */
export function bindConstant(node: Expression | undefined): Expression | undefined {
  return node && bindExpression(node, constantScope());
}
