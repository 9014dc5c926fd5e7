/**
 * UNNEST: emits each row once per element of an array in it; other values have no elements.
 */

import { compile } from "../compile/expression.ts";
import type { UnnestPlan } from "../plan/plan.ts";
import { Failure, isDatumArray, MISSING } from "../value/datum.ts";
import { attempt } from "./attempt.ts";
import { warnOf } from "./execution.ts";
import type { JoinStep } from "./join.ts";

export function compileUnnest({ of, slot, isOuter }: UnnestPlan): JoinStep {
  const array = compile(of);
  return function* unnest(execution, frame, left) {
    const { budget } = execution.run;
    for (const isRow of left) {
      if (!isRow) {
        yield false;
        continue;
      }
      budget.startRow();
      const outcome = yield* attempt(array, frame, execution);
      if (outcome instanceof Failure) warnOf(execution, outcome, MISSING);
      const elements = isDatumArray(outcome) ? outcome : [];
      for (const element of elements) {
        budget.startRow();
        budget.step();
        frame.slots[slot] = element;
        yield true;
      }
      if (elements.length > 0 || !isOuter) continue;
      frame.slots[slot] = MISSING;
      yield true;
    }
  };
}
