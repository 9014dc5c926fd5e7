/**
 * EXPLAIN: describes a plan as rows for people, operators in the order in which a row passes them.
 *
 * A plan has no access paths, since they depend on the indexes: the caller passes the choice.
 */

import { unreachable, type ValueObject } from "@bigpeer/protocol";
import { type Access, NO_WISH } from "../plan/access.ts";
import type { Output } from "../plan/output.ts";
import type {
  JoinPlan,
  QueryPlan,
  RowsPlan,
  SelectPlan,
  SourcePlan,
  UnionPlan,
  UnnestPlan,
} from "../plan/plan.ts";
import { countedOf } from "../plan/plan.ts";
import type { ExplainableChoice, Explaining, PlanOutline } from "../run/plan-explainer.ts";
import { printExpression } from "../syntax/print.ts";
import type { Expression, OrderTerm } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import { explainAccess, operator } from "./explain-access.ts";

/** The operator, with its statistics if they are known. */
function withStats(step: ValueObject, stats: ValueObject | undefined): ValueObject {
  return stats === undefined ? step : { ...step, "#stats": stats };
}

/** The plan of a whole statement. */
export function explainPlan(outline: PlanOutline, how: Explaining): ValueObject {
  return explainSequence(stepsOf(outline, how));
}

function stepsOf(outline: PlanOutline, how: Explaining): ValueObject[] {
  switch (outline.kind) {
    case "query":
      return explainQuery(outline.plan, how);
    case "insert": {
      const { source, collection, onConflict } = outline;
      const steps = source === undefined ? [] : explainQuery(source, how);
      return [...steps, operator("insert", { collection, onConflict })];
    }
    case "choice": {
      const steps = explainChoice(outline.choice, how);
      return outline.operator === undefined ? steps : [...steps, operator(outline.operator, {})];
    }
    case "definition":
      return [operator(outline.operator, { name: outline.name })];
    default:
      return unreachable(outline);
  }
}

function explainSequence(children: readonly ValueObject[]): ValueObject {
  return { "#operator": "sequence", children };
}

function explainQuery(plan: QueryPlan, how: Explaining): ValueObject[] {
  return plan.kind === "select" ? explainSelect(plan, how) : explainUnion(plan, how);
}

function explainUnion(plan: UnionPlan, how: Explaining): ValueObject[] {
  const { arms, distinctCount, order, limit, offset } = plan;
  const children = arms.map((arm) => explainSequence(explainSelect(arm, how)));
  const steps = [operator("union", { distinctArms: distinctCount, children })];
  if (order.length > 0) steps.push(explainOrder(order, how));
  return [...steps, ...explainWindow(limit, offset)];
}

/** The plans of the subqueries in expressions. */
function explainSubqueries(
  expressions: readonly (Expression | undefined)[],
  how: Explaining,
): ValueObject {
  const subqueries: ValueObject[] = [];
  for (const expression of expressions) {
    if (expression === undefined) continue;
    eachNode(expression, (node) => {
      if (node.kind !== "subquery" || node.bound === undefined) return;
      const plan = node.bound as QueryPlan;
      const isCorrelated = plan.imports.length > 0;
      subqueries.push({ ...explainSequence(explainQuery(plan, how)), isCorrelated });
    });
  }
  return subqueries.length === 0 ? {} : { subqueries };
}

function explainSelect(plan: SelectPlan, how: Explaining): ValueObject[] {
  const { output, rows } = plan;
  const counted = countedOf(plan);
  const { steps: found, isOrdered } =
    counted === undefined
      ? explainRows(rows, how)
      : { steps: [explainCount(counted)], isOrdered: false };
  const steps = [...found, ...explainGrouping(output, how)];
  if (output.order.length > 0 && !isOrdered) steps.push(explainOrder(output.order, how));
  const inner = output.columns.map((column) =>
    column.kind === "all" ? undefined : column.expression,
  );
  const projections = output.columns.map(explainColumn);
  const projection = operator("projection", { projections, ...explainSubqueries(inner, how) });
  steps.push(withStats(projection, how.statsOf?.(output.columns)));
  if (plan.isDistinct) steps.push(operator("distinct", {}));
  steps.push(...explainWindow(plan.limit, plan.offset));
  return steps;
}

/** The document count that the store keeps. */
function explainCount(collection: string): ValueObject {
  return operator("countScan", { collection, datasource: "default" });
}

interface ExplainedRows {
  readonly steps: ValueObject[];
  /** Whether rows come in the wanted order: then nothing is sorted. */
  readonly isOrdered: boolean;
}

function explainRows({ source, joins, where, wish }: RowsPlan, how: Explaining): ExplainedRows {
  const chosen = how.choose(source, wish);
  const steps = [
    ...explainSource(source, chosen.access, how),
    ...joins.map((join) => withStats(explainJoin(join, how), how.statsOf?.(join))),
  ];
  if (where !== undefined) steps.push(explainFilter(where, how));
  return { steps, isOrdered: chosen.isOrdered };
}

/** The documents that a write selects, in their order and window. */
function explainChoice(choice: ExplainableChoice, how: Explaining): ValueObject[] {
  const { steps, isOrdered } = explainRows(choice.plan, how);
  if (choice.order.length > 0 && !isOrdered) steps.push(explainOrder(choice.order, how));
  return [...steps, ...explainWindow(choice.limit, choice.offset)];
}

function explainFilter(condition: Expression, how: Explaining): ValueObject {
  const inner = explainSubqueries([condition], how);
  const step = operator("filter", { condition: printExpression(condition), ...inner });
  return withStats(step, how.statsOf?.(condition));
}

function explainWindow(
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

function explainOrder(order: readonly OrderTerm[], how: Explaining): ValueObject {
  const keys = order.map(({ expression, isDescending, nulls }) => ({
    expression: printExpression(expression),
    direction: isDescending ? "desc" : "asc",
    ...(nulls && { nulls }),
  }));
  const inner = explainSubqueries(
    order.map(({ expression }) => expression),
    how,
  );
  return withStats(operator("sort", { keys, ...inner }), how.statsOf?.(order));
}

function explainSource(source: SourcePlan, access: Access, how: Explaining): ValueObject[] {
  const { collection, alias } = source;
  if (collection.kind === "query") {
    return [operator("subquery", { alias, children: explainQuery(collection.plan, how) })];
  }
  const [datasource, name] =
    collection.kind === "stored"
      ? ["default", collection.name]
      : ["system", collection.collection.name];
  const where: ValueObject = { collection: name, datasource, alias };
  const stats = how.statsOf?.(source);
  const entries = access.kind === "index" ? how.entriesRead?.(access.index.number) : undefined;
  const isFetching =
    access.kind === "union" ||
    access.kind === "intersect" ||
    (access.kind === "index" && !access.isCovering);
  const step = explainAccess(access, where);
  if (!isFetching) return [withStats(step, stats)];
  return [withStats(step, entries), withStats(operator("fetch", where), stats)];
}

function explainJoin(plan: JoinPlan | UnnestPlan, how: Explaining): ValueObject {
  if (plan.type === "unnest") {
    const { isOuter, alias, of } = plan;
    const type = isOuter ? "left" : "inner";
    return operator("unnest", { type, alias, expression: printExpression(of) });
  }
  const { type, source, method, on } = plan;
  const access = how.choose(source, NO_WISH).access;
  const [inner, ...fetch] = explainSource(source, access, how);
  const details: ValueObject = {
    type,
    on: printExpression(on),
    ...(inner && { inner: fetch.length === 0 ? inner : explainSequence([inner, ...fetch]) }),
    ...explainSubqueries([on], how),
  };
  const isLookedUp = access.kind !== "scan" && access.kind !== "ids";
  if (method.kind === "by_id")
    return operator("nlJoin", { ...details, id: printExpression(method.id) });
  if (method.kind === "pairs" || isLookedUp) return operator("nlJoin", details);
  return operator("hashJoin", {
    ...details,
    outerKeys: method.left.map(printExpression),
    innerKeys: method.right.map(printExpression),
  });
}

function explainGrouping({ grouping }: Output, how: Explaining): ValueObject[] {
  if (grouping === undefined) return [];
  const { keys, aggregates, having } = grouping;
  const inner = [
    ...keys.map(({ expression }) => expression),
    ...aggregates.map(({ call }) => call),
  ];
  const group = operator("group", {
    keys: keys.map(({ expression }) => printExpression(expression)),
    aggregates: aggregates.map(({ call }) => printExpression(call)),
    ...explainSubqueries(inner, how),
  });
  const steps = [withStats(group, how.statsOf?.(grouping))];
  if (having !== undefined) steps.push(explainFilter(having, how));
  return steps;
}

function explainColumn(column: Output["columns"][number]): ValueObject {
  if (column.kind === "all") return { wildcard: true };
  const expression: Expression = column.expression;
  if (column.kind === "spread") return { expression: printExpression(expression), wildcard: true };
  return { name: column.name, expression: printExpression(expression) };
}
