/**
 * Constant expressions: compiles an expression that reads no document, so its value depends only on
 * the arguments.
 */

import type { Value } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import { newFrame } from "../frame/frame.ts";
import { bindExpression, constantScope, Slots } from "../plan/scope.ts";
import type { Execution } from "../run/execution.ts";
import type { Expression } from "../syntax/tree.ts";
import { Failure, MISSING, toValue } from "../value/datum.ts";

/** Compiles a constant expression; a failed evaluation is MISSING. */
export function compileConstant(node: Expression): (execution: Execution) => Value | undefined {
  const evaluate = compileOutcome(node);
  return (execution) => {
    const outcome = evaluate(execution);
    return outcome instanceof Failure ? MISSING : outcome;
  };
}

export function compileOutcome(
  node: Expression,
): (execution: Execution) => Value | undefined | Failure {
  const slots = new Slots();
  const evaluate = compile(bindExpression(node, constantScope(slots)));
  return ({ run }) => {
    const frame = newFrame(run, slots.count);
    run.budget.startPiece();
    const outcome = evaluate(frame);
    return outcome === MISSING || outcome instanceof Failure ? outcome : toValue(outcome);
  };
}
