/**
 * EXPLAIN: a plan as rows for people. Operators stand in the order in which a row passes them.
 */

import type { MutableObject, Value, ValueObject } from "@bigpeer/protocol";
import { printExpression } from "../syntax/print.ts";
import type { Expression, OrderTerm } from "../syntax/tree.ts";
import type { Output } from "./output.ts";
import type { JoinPlan, RowsPlan, SourcePlan } from "./plan.ts";
import type { SelectPlan } from "./select-plan.ts";

/** The plan of a whole statement. */
export function explainSequence(children: readonly ValueObject[]): ValueObject {
  return { "#operator": "sequence", children };
}

export function explainSelect(plan: SelectPlan): ValueObject[] {
  const { output } = plan;
  const steps = [...explainRows(plan.rows), ...explainGrouping(output)];
  if (output.order.length > 0) steps.push(explainOrder(output.order));
  steps.push(operator("projection", { projections: output.columns.map(explainColumn) }));
  if (plan.isDistinct) steps.push(operator("distinct", {}));
  steps.push(...explainWindow(plan.limit, plan.offset));
  return steps;
}

export function explainRows({ source, joins, where }: RowsPlan): ValueObject[] {
  const steps = [explainSource(source), ...joins.map(explainJoin)];
  if (where !== undefined) steps.push(operator("filter", { condition: printExpression(where) }));
  return steps;
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
  return operator("sort", { keys });
}

function operator(name: string, details: ValueObject): ValueObject {
  return { "#operator": name, ...details };
}

function explainSource({ collection, alias, access }: SourcePlan): ValueObject {
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

function explainJoin({ type, source, method, on }: JoinPlan): ValueObject {
  const details = { type, on: printExpression(on), inner: explainSource(source) };
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
    }),
  ];
  const { having } = grouping;
  if (having !== undefined) steps.push(operator("filter", { condition: printExpression(having) }));
  return steps;
}

function explainColumn(column: Output["columns"][number]): ValueObject {
  if (column.kind === "all") return { wildcard: true };
  const expression: Expression = column.expression;
  if (column.kind === "spread") return { expression: printExpression(expression), wildcard: true };
  return { name: column.name, expression: printExpression(expression) };
}
