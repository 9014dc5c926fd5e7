/**
 * readsOf: collects the paths that a statement reads of the documents of a term. The store can then
 * skip other fields, and an index that has all the paths can replace the document.
 */

import type { Path } from "@bigpeer/protocol";
import type { Expression } from "../syntax/tree.ts";
import { eachChild } from "../syntax/tree-walk.ts";

/** The path that an expression reads of a document, if the expression is nothing but a path. */
export function pathOf(node: Expression, slot: number): Path | undefined {
  if (node.kind !== "field") return undefined;
  const names: string[] = [];
  let at: Expression = node;
  for (; at.kind === "field"; at = at.of) names.push(at.name);
  const isPath = at.kind === "slot" && at.holds === "document" && at.slot === slot;
  return isPath ? names.toReversed() : undefined;
}

/** All paths that are read of the document in a slot; undefined when it is read as a whole. */
export function readsOf(
  expressions: Iterable<Expression | undefined>,
  slot: number,
): readonly Path[] | undefined {
  const paths = new Map<string, Path>();
  let isWhole = false;
  const visit = (node: Expression): void => {
    const path = pathOf(node, slot);
    if (path !== undefined) {
      const [first = "", ...others] = path;
      paths.set(others.length === 0 ? `.${first}` : JSON.stringify(path), path);
      return;
    }
    isWhole ||= readsWhole(node, slot);
    eachChild(node, visit);
  };
  for (const expression of expressions) if (expression !== undefined) visit(expression);
  return isWhole ? undefined : [...paths.values()];
}

/** A subquery may read anything of the row around it. */
function readsWhole(node: Expression, slot: number): boolean {
  if (node.kind === "slot") return node.holds === "document" && node.slot === slot;
  if (node.kind !== "subquery") return false;
  return node.bound?.imports.some(({ outer }) => outer === slot) ?? false;
}

/** The first fields of the paths; `_id` is not a field. */
export function fieldsOf(reads: readonly Path[]): readonly string[] {
  const fields = new Set(reads.map(([first]) => first as string));
  fields.delete("_id");
  return [...fields];
}
