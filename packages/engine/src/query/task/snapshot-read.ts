/**
 * readSnapshot: runs a read on a snapshot of the store, in time slices with other work.
 */

import type { Work } from "../statement/work.ts";
import { type Done, doneAt } from "./answer.ts";
import type { TaskRun } from "./task-run.ts";

/** Returns a promise only if one slice is not enough. */
export function readSnapshot<T>({ run }: Work<T>, taskRun: TaskRun): Done<T> | Promise<Done<T>> {
  const { context, request } = taskRun.task;
  const snapshot = context.store.snapshot();
  let isHeld = false;
  try {
    const { txnId } = snapshot;
    const execution = taskRun.execution(snapshot);
    const { warnings } = execution;
    const steps = run(execution);
    // From here on the last step closes the snapshot.
    isHeld = true;
    const result = context.slicer.take(steps, taskRun.run.budget, snapshot, request.owner);
    return result instanceof Promise
      ? result.then((late) => doneAt(late, warnings, txnId))
      : doneAt(result, warnings, txnId);
  } finally {
    if (!isHeld) snapshot.close();
  }
}
