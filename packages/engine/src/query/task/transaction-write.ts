/**
 * TransactionWrite: runs a write in a transaction of its own, and answers when it is durable. A
 * replay of a request with an idempotency key gets the first answer again and writes nothing.
 */

import type { Committed } from "../../store/queued-request.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { Steps } from "../frame/steps.ts";
import type { Choices } from "../run/execution.ts";
import { budgeted } from "../run/time-slicer.ts";
import type { Work } from "../statement/work.ts";
import { answerOf, type Done } from "./answer.ts";
import { type ChoosingWrite, submitChosen } from "./chosen-write.ts";
import { preparedBytes } from "./prepared-texts.ts";
import type { RememberedAnswer, ReplayableRequest } from "./replay.ts";
import type { TaskRun } from "./task-run.ts";

export class TransactionWrite<T> implements ChoosingWrite<RememberedAnswer<T>> {
  readonly taskRun: TaskRun;
  readonly #work: Work<T>;
  readonly #replayable: ReplayableRequest | undefined;
  #isReplay = false;

  constructor(work: Work<T>, taskRun: TaskRun, replayable?: ReplayableRequest) {
    this.#work = work;
    this.taskRun = taskRun;
    this.#replayable = replayable;
  }

  /** Resolves when everything that was written or read is durable. */
  run(): Promise<Done<T>> {
    const { choose } = this.#work;
    const committed = choose === undefined ? this.submit(undefined) : submitChosen(this, choose);
    return committed.then((each) => this.#done(each));
  }

  submit(choices: Choices | undefined): Promise<Committed<RememberedAnswer<T>>> {
    const { context, request } = this.taskRun.task;
    const evaluate = (transaction: Transaction): Steps<RememberedAnswer<T>> =>
      this.#evaluate(transaction, choices);
    const { requestId, by } = request;
    return context.store.transactInSteps(evaluate, { requestId, by });
  }

  /** May run several times: a write is evaluated again when a commit before it failed. */
  *#evaluate(transaction: Transaction, choices: Choices | undefined): Steps<RememberedAnswer<T>> {
    choices?.begin();
    const { text } = this.taskRun.task;
    const execution = this.taskRun.execution(transaction.view, transaction, choices);
    const { budget } = execution.run;
    budget.release();
    budget.take(preparedBytes(text));
    transaction.watch(() => budget.step());
    const replayable = this.#replayable;
    const known = replayable?.recalled<T>(transaction);
    this.#isReplay = known !== undefined;
    if (known !== undefined) return known;
    const result = yield* budgeted(this.#work.run(execution), budget);
    const answer = answerOf(result, execution.warnings);
    return replayable?.remember(transaction, answer) ?? answer;
  }

  #done({ txnId, result: answer }: Committed<RememberedAnswer<T>>): Done<T> {
    if (this.#work.changesSettings === true) this.taskRun.task.context.reloadSettings();
    const { result, warnings, totalWarnings } = answer;
    const isReplay = this.#isReplay;
    return { result, warnings, totalWarnings, txnId: answer.txnId ?? txnId, isReplay };
  }
}
