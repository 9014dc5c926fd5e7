/**
 * submitChosen: submits a write that selects documents by a condition. A quick selection happens
 * inside the transaction; a longer one before it (run/early-choice.ts).
 */

import type { Committed } from "../../store/queued-request.ts";
import type { Steps } from "../frame/steps.ts";
import {
  CHOOSE_EARLY,
  ChoosingEarly,
  EARLY_CHOICES_MAX,
  QuickChoices,
} from "../run/early-choice.ts";
import type { Choices, Execution } from "../run/execution.ts";
import type { TaskRun } from "./task-run.ts";

/** A write that can take its selections from elsewhere. */
export interface ChoosingWrite<T> {
  readonly taskRun: TaskRun;
  /** Submits the write, which takes its selections from `choices`; undefined: it selects itself. */
  submit(choices: Choices | undefined): Promise<Committed<T>>;
}

/** Makes the selections of a write and nothing else. */
type Choose = (execution: Execution) => Steps<unknown>;

export function submitChosen<T>(write: ChoosingWrite<T>, choose: Choose): Promise<Committed<T>> {
  const { elapsed } = write.taskRun.task.context;
  return write.submit(new QuickChoices(elapsed)).catch((error: unknown) => {
    if (error !== CHOOSE_EARLY) throw error;
    return submitEarly(write, choose);
  });
}

/** Selects before the transaction; if others keep changing the documents, inside it. */
async function submitEarly<T>(write: ChoosingWrite<T>, choose: Choose): Promise<Committed<T>> {
  for (let tries = 0; tries < EARLY_CHOICES_MAX; tries++) {
    const choices = await chooseEarly(write.taskRun, choose);
    if (choices === undefined) break;
    try {
      return await write.submit(choices);
    } catch (error) {
      if (error !== CHOOSE_EARLY) throw error;
    }
  }
  return write.submit(undefined);
}

/** Undefined if there were warnings: their rows may differ in the end. */
async function chooseEarly(taskRun: TaskRun, choose: Choose): Promise<Choices | undefined> {
  const { context, request } = taskRun.task;
  // It has used a slice already.
  await context.slicer.wait(request.owner);
  const snapshot = context.store.snapshot();
  const choosing = new ChoosingEarly(snapshot.txnId);
  const execution = taskRun.execution(snapshot, undefined, choosing);
  const { budget } = execution.run;
  budget.release();
  await context.slicer.take(choose(execution), budget, snapshot, request.owner);
  return execution.warnings.total > 0 ? undefined : choosing.made;
}
