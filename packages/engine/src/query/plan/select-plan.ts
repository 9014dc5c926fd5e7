/**
 * The plan of a SELECT: its rows, what is given back of them, and the window.
 */

import type { Expression, SelectStatement } from "../syntax/tree.ts";
import { bindOutput, type Output } from "./output.ts";
import { planRows, type RowsPlan } from "./plan.ts";
import { bindExpression, constantScope, type ScopeTerm, Slots } from "./scope.ts";

export interface SelectPlan {
  readonly rows: RowsPlan;
  readonly terms: readonly ScopeTerm[];
  readonly output: Output;
  readonly isDistinct: boolean;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  /** Places of a frame. */
  readonly slots: number;
}

export function planSelect(statement: SelectStatement, joinsMax?: number): SelectPlan {
  const slots = new Slots();
  const { rows, scope } = planRows(statement, slots, joinsMax);
  const output = bindOutput(statement, scope);
  return {
    rows,
    terms: scope.terms,
    output,
    isDistinct: statement.isDistinct,
    limit: bindConstant(statement.limit),
    offset: bindConstant(statement.offset),
    slots: slots.count,
  };
}

/** Binds a clause that may read no document. */
export function bindConstant(node: Expression | undefined): Expression | undefined {
  return node && bindExpression(node, constantScope());
}
