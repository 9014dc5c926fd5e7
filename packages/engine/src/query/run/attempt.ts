/**
 * Attempt: an expression about one row, evaluated where rows are pulled. Queries in it may take long,
 * so that it may pause.
 */

import type { Evaluate, Frame } from "../frame/frame.ts";
import type { Outcome } from "../value/datum.ts";
import type { Execution } from "./execution.ts";

/** Yields false for each pause, as rows that are pulled do. */
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
