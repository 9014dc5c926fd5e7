/**
 * explainAccess: describes the access path of one FROM term, for EXPLAIN.
 */

import { unreachable, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Access, IdsAccess, IndexAccess } from "../plan/access.ts";
import type { OrderOperator, PointTest, RangeTest } from "../plan/probe.ts";
import { printExpression } from "../syntax/print.ts";
import type { Expression } from "../syntax/tree.ts";

export function operator(name: string, details: ValueObject): ValueObject {
  return { "#operator": name, ...details };
}

/** `where` names the collection. */
export function explainAccess(access: Access, where: ValueObject): ValueObject {
  switch (access.kind) {
    case "scan": {
      const { bounds = [], isReversed } = access;
      const path = bounds.length === 0 ? { full_scan: {} } : { id_range: explainBounds(bounds) };
      const order = isReversed === true ? { order: "reverse" } : {};
      return operator("scan", { ...where, descriptor: { path }, ...order });
    }
    case "ids":
      return operator("idScan", { ...where, ids: explainIds(access) });
    case "index":
      return operator("indexScan", { ...where, desc: explainIndex(access) });
    case "union":
    case "intersect": {
      const children = access.arms.map((arm) => explainAccess(arm, where));
      return operator(access.kind === "union" ? "unionScan" : "intersectScan", {
        ...where,
        children,
      });
    }
    default:
      return unreachable(access);
  }
}

function explainIds({ ids }: IdsAccess): Value {
  return ids.kind === "id_list" ? printExpression(ids.list) : ids.ids.map(printExpression);
}

function explainIndex({ index, points, bounds, isCovering, walk }: IndexAccess): ValueObject {
  const ranges = points.map(explainPoint);
  if (bounds.length > 0) ranges.push(explainBounds(bounds));
  const spans = ranges.map((range, i): ValueObject => {
    const { path = [], isDescending = false } = index.keys[i] ?? {};
    return { key: path, direction: isDescending ? "desc" : "asc", range };
  });
  const order = walk === undefined ? {} : { order: walk.isReversed ? "reverse" : "forward" };
  return { index: index.name, covering: isCovering, spans, ...order };
}

function explainPoint(point: PointTest): ValueObject {
  switch (point.kind) {
    case "equal": {
      const bound = boundOf(point.value, true);
      return { low: bound, high: bound };
    }
    case "member":
      return { in: printExpression(point.list) };
    default:
      return { is: point.kind };
  }
}

/** Several bounds of one side are shown as a list. */
function explainBounds(tests: readonly RangeTest[]): ValueObject {
  const low: ValueObject[] = [];
  const high: ValueObject[] = [];
  const other: ValueObject[] = [];
  for (const test of tests) {
    if (test.kind === "like") other.push({ like: printExpression(test.pattern) });
    else if (test.kind === "present") other.push({ is: "not missing" });
    else (isLow(test.operator) ? low : high).push(boundOf(test.value, isIncluding(test.operator)));
  }
  return Object.assign({}, ...other, listed("low", low), listed("high", high)) as ValueObject;
}

function listed(side: string, bounds: readonly ValueObject[]): ValueObject {
  const [only] = bounds;
  if (only === undefined) return {};
  return { [side]: bounds.length === 1 ? only : bounds };
}

function isLow(comparison: OrderOperator): boolean {
  return comparison === ">" || comparison === ">=";
}

function isIncluding(comparison: OrderOperator): boolean {
  return comparison === "<=" || comparison === ">=";
}

function boundOf(value: Expression, included: boolean): ValueObject {
  return { expr: printExpression(value), included };
}
