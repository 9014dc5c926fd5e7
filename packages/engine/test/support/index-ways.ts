/**
 * Ways to an answer, as EXPLAIN tells them: which of them a plan takes. Generated questions are counted
 * by these, so that no way goes untried.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";

/** Answered from an index. */
export const INDEX_OPERATORS: readonly string[] = ["indexScan", "unionScan", "intersectScan"];

/** What else a plan may do instead of reading and sorting everything. */
export const WAYS: readonly string[] = [
  ...INDEX_OPERATORS,
  "idScan",
  "countScan",
  "a range of ids",
  "ids in reverse",
  "several values of a key",
  "a covering index",
  "an index that has to fetch",
  "an index in its order",
  "an index in reverse",
  "a join by an index",
  "a join by a table",
  "the first of a sort",
];

/** Those of a plan, each once. */
export function waysIn(plan: Value | undefined): ReadonlySet<string> {
  const ways = new Set<string>();
  const visit = (value: Value | undefined): void => {
    if (isArray(value)) {
      if (hasOperator(value, "sort") && hasOperator(value, "limit"))
        ways.add("the first of a sort");
      for (const part of value) visit(part);
    } else if (isObject(value)) {
      for (const way of waysOf(value)) ways.add(way);
      for (const part of Object.values(value)) visit(part);
    }
  };
  visit(plan);
  return ways;
}

function hasOperator(steps: readonly Value[], name: string): boolean {
  return steps.some((step) => isObject(step) && step["#operator"] === name);
}

function* waysOf(step: ValueObject): Iterable<string> {
  const name = step["#operator"];
  if (typeof name !== "string") return;
  if (INDEX_OPERATORS.includes(name) || name === "idScan" || name === "countScan") yield name;
  if (name === "indexScan") yield* waysOfIndex(step["desc"] as ValueObject);
  if (name === "hashJoin") yield "a join by a table";
  if (name === "nlJoin") {
    const inner = waysIn(step["inner"]);
    if (INDEX_OPERATORS.some((way) => inner.has(way))) yield "a join by an index";
  }
  if (name === "scan") {
    const { path } = step["descriptor"] as { readonly path: ValueObject };
    if (path["id_range"] !== undefined) yield "a range of ids";
    if (step["order"] === "reverse") yield "ids in reverse";
  }
}

function* waysOfIndex({ covering, order, spans }: ValueObject): Iterable<string> {
  yield covering === true ? "a covering index" : "an index that has to fetch";
  if (order !== undefined) yield "an index in its order";
  if (order === "reverse") yield "an index in reverse";
  const ranges = spans as readonly { readonly range: ValueObject }[];
  if (ranges.some(({ range }) => range["in"] !== undefined)) yield "several values of a key";
}
