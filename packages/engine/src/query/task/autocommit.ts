/**
 * AUTOCOMMIT: runs each request by itself: a read on a snapshot, a write in a transaction.
 */

import type { Done } from "./answer.ts";
import { readSnapshot } from "./snapshot-read.ts";
import type { Ready } from "./task-kind.ts";
import type { TaskRun } from "./task-run.ts";
import { TransactionWrite } from "./transaction-write.ts";

/** A WorkHost for results of all types. */
export interface Autocommit {
  readonly isAtOnce: false;
  run<T>(ready: Ready<T>, taskRun: TaskRun): Done<T> | Promise<Done<T>>;
}

export const AUTOCOMMIT: Autocommit = {
  isAtOnce: false,
  run: ({ work }, taskRun) =>
    work.kind === "write" ? new TransactionWrite(work, taskRun).run() : readSnapshot(work, taskRun),
};
