/**
 * WorkHost: where the work of a prepared request runs: on a snapshot or in a transaction of its own
 * (autocommit), or on the draft of a StatementTransaction.
 */

import type { Done } from "./answer.ts";
import type { Ready } from "./task-kind.ts";
import type { TaskRun } from "./task-run.ts";

export interface WorkHost<T> {
  /** Whether the caller is synchronous, so that nothing may wait. */
  readonly isAtOnce: boolean;
  /** Returns a promise only when there is something to wait for. */
  run(ready: Ready<T>, taskRun: TaskRun): Done<T> | Promise<Done<T>>;
}
