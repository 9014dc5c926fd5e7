/**
 * Attempt: an expression about one row, evaluated where rows are pulled. Queries in it may take long,
 * so that it may pause.
 */

import type { Evaluate, Frame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { Outcome } from "../value/datum.ts";
import type { Execution } from "./execution.ts";

/** The same for what changes nothing before it has evaluated all that it evaluates about a row. */
export function* attempted<T>(
  work: () => T,
  { run, warnings }: Pick<Execution, "run" | "warnings">,
): Steps<T> {
  return run.subqueries === undefined ? work() : yield* run.subqueries.attempt(work, warnings);
}

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
