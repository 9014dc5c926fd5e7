/**
 * refuseBareCaller: refuses `owner == userId` in permission queries; `:userId` was meant (P24).
 *
 * Without the colon the query compares two fields of the document, for every caller. Backticks mark
 * a field that really has this name.
 */

import { semanticFault } from "../fault.ts";
import { parseFilter } from "../syntax/parse-filter.ts";
import { printExpression } from "../syntax/print.ts";
import type { Expression } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import { cutName } from "../unknown-name.ts";

const COMPARISONS: ReadonlySet<string> = new Set(["=", "!=", "<", "<=", ">", ">="]);

/** Throws a Fault when the query compares a field with `userId` or `claims.name`. */
export function refuseBareCaller(query: string): void {
  eachNode(parseFilter(query), (node) => {
    const sides = sidesOf(node);
    if (!sides.every((side) => rootOf(side) !== undefined)) return;
    const bare = sides.find((side) => isBareCaller(side, query));
    if (bare === undefined) return;
    const field = cutName(printExpression(bare));
    const hint = `did you mean :${field}? a field of that name stands in backticks`;
    throw semanticFault(`expected a value or the caller, found the field ${field}`, bare.at, hint);
  });
}

/** The operands of a comparison; empty for other nodes. */
function sidesOf(node: Expression): readonly Expression[] {
  if (node.kind === "binary") return COMPARISONS.has(node.operator) ? [node.left, node.right] : [];
  if (node.kind === "in") return [node.operand, node.list];
  return node.kind === "call" && node.name === "filter_contains" ? node.args : [];
}

/** The first name of a path; undefined for everything else. */
function rootOf(expression: Expression): string | undefined {
  let each = expression;
  while (each.kind === "field" || each.kind === "element") each = each.of;
  return each.kind === "name" ? each.name : undefined;
}

function isBareCaller(side: Expression, query: string): boolean {
  const root = rootOf(side) ?? "";
  const isCaller = side.kind === "name" ? root === "userId" : root === "claims";
  return isCaller && query.startsWith(root, side.at);
}
