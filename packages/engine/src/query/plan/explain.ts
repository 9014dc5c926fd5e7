/**
 * EXPLAIN: a plan as rows for people. Operators stand in the order in which a row passes them.
 */

import type { MutableObject, Value, ValueObject } from "@bigpeer/protocol";
import { printExpression } from "../syntax/print.ts";
import type { Expression, OrderTerm } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import type { Output } from "./output.ts";
import type {
  JoinPlan,
  QueryPlan,
  RowsPlan,
  SelectPlan,
  SourcePlan,
  UnionPlan,
  UnnestPlan,
} from "./plan.ts";

/** The plan of a whole statement. */
export function explainSequence(children: readonly ValueObject[]): ValueObject {
  return { "#operator": "sequence", children };
}

export function explainQuery(plan: QueryPlan): ValueObject[] {
  return plan.kind === "select" ? explainSelect(plan) : explainUnion(plan);
}

function explainUnion({ arms, distinctCount, order, limit, offset }: UnionPlan): ValueObject[] {
  const children = arms.map((arm) => explainSequence(explainSelect(arm)));
  const steps = [operator("union", { distinctArms: distinctCount, children })];
  if (order.length > 0) steps.push(explainOrder(order));
  return [...steps, ...explainWindow(limit, offset)];
}

/** The plans of the queries inside of expressions. */
function explainSubqueries(expressions: readonly (Expression | undefined)[]): ValueObject {
  const subqueries: ValueObject[] = [];
  for (const expression of expressions) {
    if (expression === undefined) continue;
    eachNode(expression, (node) => {
      if (node.kind !== "subquery" || node.bound === undefined) return;
      const plan = node.bound as QueryPlan;
      const isCorrelated = plan.imports.length > 0;
      subqueries.push({ ...explainSequence(explainQuery(plan)), isCorrelated });
    });
  }
  return subqueries.length === 0 ? {} : { subqueries };
}

function explainSelect(plan: SelectPlan): ValueObject[] {
  const { output } = plan;
  const steps = [...explainRows(plan.rows), ...explainGrouping(output)];
  if (output.order.length > 0) steps.push(explainOrder(output.order));
  const inner = output.columns.map((column) =>
    column.kind === "all" ? undefined : column.expression,
  );
  const projections = output.columns.map(explainColumn);
  steps.push(operator("projection", { projections, ...explainSubqueries(inner) }));
  if (plan.isDistinct) steps.push(operator("distinct", {}));
  steps.push(...explainWindow(plan.limit, plan.offset));
  return steps;
}

export function explainRows({ source, joins, where }: RowsPlan): ValueObject[] {
  const steps = [explainSource(source), ...joins.map(explainJoin)];
  if (where !== undefined) steps.push(explainFilter(where));
  return steps;
}

function explainFilter(condition: Expression): ValueObject {
  const details = { condition: printExpression(condition), ...explainSubqueries([condition]) };
  return operator("filter", details);
}

export function explainWindow(
  limit: Expression | undefined,
  offset: Expression | undefined,
): ValueObject[] {
  if (limit === undefined && offset === undefined) return [];
  return [
    operator("limit", {
      ...(limit && { limit: printExpression(limit) }),
      ...(offset && { offset: printExpression(offset) }),
    }),
  ];
}

export function explainOrder(order: readonly OrderTerm[]): ValueObject {
  const keys = order.map(({ expression, isDescending, nulls }) => ({
    expression: printExpression(expression),
    direction: isDescending ? "desc" : "asc",
    ...(nulls && { nulls }),
  }));
  const inner = explainSubqueries(order.map(({ expression }) => expression));
  return operator("sort", { keys, ...inner });
}

function operator(name: string, details: ValueObject): ValueObject {
  return { "#operator": name, ...details };
}

function explainSource({ collection, alias, access }: SourcePlan): ValueObject {
  if (collection.kind === "query") {
    return operator("subquery", { alias, children: explainQuery(collection.plan) });
  }
  const [datasource, name] =
    collection.kind === "stored"
      ? ["default", collection.name]
      : ["system", collection.collection.name];
  const where: MutableObject = { collection: name, datasource, alias };
  if (access.kind === "scan") {
    return operator("scan", { ...where, descriptor: { path: { full_scan: {} } } });
  }
  const ids: Value =
    access.ids.kind === "id_list"
      ? printExpression(access.ids.list)
      : access.ids.ids.map(printExpression);
  return operator("idScan", { ...where, ids });
}

function explainJoin(plan: JoinPlan | UnnestPlan): ValueObject {
  if (plan.type === "unnest") {
    const { isOuter, alias, of } = plan;
    const type = isOuter ? "left" : "inner";
    return operator("unnest", { type, alias, expression: printExpression(of) });
  }
  const { type, source, method, on } = plan;
  const inner = explainSource(source);
  const details = { type, on: printExpression(on), inner, ...explainSubqueries([on]) };
  switch (method.kind) {
    case "by_id":
      return operator("nlJoin", { ...details, id: printExpression(method.id) });
    case "hash":
      return operator("hashJoin", {
        ...details,
        outerKeys: method.left.map(printExpression),
        innerKeys: method.right.map(printExpression),
      });
    default:
      return operator("nlJoin", details);
  }
}

function explainGrouping({ grouping }: Output): ValueObject[] {
  if (grouping === undefined) return [];
  const steps = [
    operator("group", {
      keys: grouping.keys.map(({ expression }) => printExpression(expression)),
      aggregates: grouping.aggregates.map(({ call }) => printExpression(call)),
      ...explainSubqueries([
        ...grouping.keys.map(({ expression }) => expression),
        ...grouping.aggregates.map(({ call }) => call),
      ]),
    }),
  ];
  const { having } = grouping;
  if (having !== undefined) steps.push(explainFilter(having));
  return steps;
}

function explainColumn(column: Output["columns"][number]): ValueObject {
  if (column.kind === "all") return { wildcard: true };
  const expression: Expression = column.expression;
  if (column.kind === "spread") return { expression: printExpression(expression), wildcard: true };
  return { name: column.name, expression: printExpression(expression) };
}
