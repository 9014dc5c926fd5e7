/**
 * attempt: evaluates an expression about one row. A subquery in it may take long, so the evaluation
 * can pause.
 */

import type { Evaluate, Frame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { Outcome } from "../value/datum.ts";
import type { Execution } from "./execution.ts";

/** The same for `work` that has no effect before it has evaluated everything about its row. */
export function* attempted<T>(
  work: () => T,
  { run, warnings }: Pick<Execution, "run" | "warnings">,
): Steps<T> {
  return run.subqueries === undefined ? work() : yield* run.subqueries.attempt(work, warnings);
}

/** Yields false for each pause, as a Pull of rows does. */
export function* attempt(
  evaluate: Evaluate,
  frame: Frame,
  { run, warnings }: Execution,
): Generator<false, Outcome, void> {
  if (run.subqueries === undefined) return evaluate(frame);
  const steps = run.subqueries.attempt(() => evaluate(frame), warnings);
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) yield false;
  return step.value;
}
