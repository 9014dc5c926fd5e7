/**
 * TaskRun: one run of a prepared request, with its arguments, budget and strict mode. It makes the
 * Execution of each evaluation: on a snapshot, in a transaction, or in both, one after the other.
 */

import type { Transaction } from "../../store/transaction.ts";
import type { View } from "../../store/view.ts";
import type { Budget } from "../frame/budget.ts";
import type { Run } from "../frame/frame.ts";
import type { Choices, Execution } from "../run/execution.ts";
import { Lookout } from "../run/lookout.ts";
import { Warnings } from "../run/warnings.ts";
import type { RunnerContext } from "./runner-context.ts";
import { isStrictFor, type TaskRequest } from "./task-kind.ts";

/** What a run must know of its task, the same for all its runs. */
export interface TaskDetails {
  /** Text that positions of errors refer to. */
  readonly text: string;
  readonly isStatement: boolean;
  readonly request: TaskRequest;
  readonly context: RunnerContext;
}

export class TaskRun {
  readonly task: TaskDetails;
  readonly run: Run;
  /** Fixed at the start: the evaluations of one run must not differ when the setting changes. */
  readonly #isStrict: boolean;

  constructor(task: TaskDetails, run: Run) {
    this.task = task;
    this.run = run;
    this.#isStrict = isStrictFor(task, task.request, task.context.settings);
  }

  /** Another run of the same task. */
  again(change: Partial<Pick<Run, "platform" | "budget">>): TaskRun {
    return new TaskRun(this.task, { ...this.run, ...change });
  }

  /** A budget as for a new request. */
  newBudget(): Budget {
    const { context, request } = this.task;
    return context.newBudget(request.timeoutMs);
  }

  execution(whole: View, transaction?: Transaction, choices?: Choices): Execution {
    const { run, task } = this;
    const { context } = task;
    const { authority } = task.request;
    const checker = authority?.isFull === false ? authority.checker(run) : undefined;
    const isNarrowed = checker !== undefined && !checker.authority.isReadingAll;
    const view = isNarrowed ? checker.narrow(whole) : whole;
    return {
      run,
      text: task.text,
      isStrict: this.#isStrict,
      view,
      checker,
      transaction,
      choices,
      warnings: new Warnings(),
      lookout: task.isStatement ? new Lookout() : undefined,
      system: {
        view,
        store: isNarrowed ? undefined : whole,
        isFull: checker === undefined,
        credential: authority?.credential,
        settings: context.settings,
        requests: context.requests,
        appId: context.appId,
        nowMs: run.request.startMs,
        systemData: context.systemData,
      },
    };
  }
}
