/**
 * rowsForOutput: adds to a plan what the rest of the statement wants of its rows: which fields, in
 * which order, and whether a part of the rows may be enough.
 */

import type { Expression, OrderTerm } from "../syntax/tree.ts";
import { NO_WISH, orderPaths, type Wish } from "./access.ts";
import type { Output } from "./output.ts";
import type { JoinPlan, RowsPlan, SourcePlan, UnnestPlan } from "./plan.ts";
import { readsOf } from "./reads.ts";

/** The rows of a SELECT. */
export function rowsForOutput(rows: RowsPlan, output: Output, hasLimit: boolean): RowsPlan {
  const isWhole = output.columns.some(({ kind }) => kind === "all");
  const expressions = [...expressionsOf(rows), ...outputExpressions(output)];
  const wish = output.grouping === undefined ? wishOf(output.order, hasLimit, rows) : NO_WISH;
  return withReads({ ...rows, wish }, isWhole ? undefined : expressions);
}

/** The rows that a write selects: whole documents, or only their ids. */
export function rowsForChoice(
  rows: RowsPlan,
  order: readonly OrderTerm[],
  { hasLimit, isIdsOnly }: { readonly hasLimit: boolean; readonly isIdsOnly: boolean },
): RowsPlan {
  const keys = order.map(({ expression }) => expression);
  const expressions = isIdsOnly ? [...expressionsOf(rows), ...keys] : undefined;
  return withReads({ ...rows, wish: wishOf(order, hasLimit, rows) }, expressions);
}

function wishOf(order: readonly OrderTerm[], hasLimit: boolean, rows: RowsPlan): Wish {
  const { source, joins } = rows;
  return { order: orderPaths(order, source.slot, joins.length === 0), hasLimit };
}

/** `expressions`: all that read documents; undefined when documents are read as a whole. */
function withReads(
  rows: RowsPlan,
  expressions: readonly (Expression | undefined)[] | undefined,
): RowsPlan {
  if (expressions === undefined) return rows;
  const reading = (source: SourcePlan): SourcePlan => ({
    ...source,
    reads: readsOf(expressions, source.slot),
  });
  const joins = rows.joins.map((join) =>
    join.type === "unnest" ? join : { ...join, source: reading(join.source) },
  );
  return { ...rows, source: reading(rows.source), joins };
}

function expressionsOf({ where, joins }: RowsPlan): (Expression | undefined)[] {
  return [where, ...joins.map(conditionOf)];
}

/** The condition also contains what the join method uses. */
function conditionOf(join: JoinPlan | UnnestPlan): Expression {
  return join.type === "unnest" ? join.of : join.on;
}

function outputExpressions({
  columns,
  grouping,
  shared,
  order,
}: Output): (Expression | undefined)[] {
  return [
    ...columns.map((column) => (column.kind === "all" ? undefined : column.expression)),
    ...(grouping?.keys ?? []).map(({ expression }) => expression),
    ...(grouping?.aggregates ?? []).map(({ call }) => call),
    grouping?.having,
    ...shared.map(({ expression }) => expression),
    ...order.map(({ expression }) => expression),
  ];
}
