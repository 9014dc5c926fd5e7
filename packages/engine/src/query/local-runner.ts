/**
 * LocalRunner: runs statements on one store, from text to result. A small peer needs no more of the
 * query language; StatementRunner adds the operations of the data API.
 *
 * Reads use a snapshot and run in time slices with other work. Writes are evaluated inside a
 * transaction and answered when it is durable. Every statement has a deadline and a memory limit,
 * and is recorded in `system:request_history`. The folder task/ does the work.
 */

import type { StatementRequest, StatementResult } from "./request.ts";
import type { PreparedStatement } from "./statement/prepare.ts";
import type { Requests } from "./system/requests.ts";
import type { Settings } from "./system/settings.ts";
import { AUTOCOMMIT } from "./task/autocommit.ts";
import { RunnerContext, type StatementRunnerOptions } from "./task/runner-context.ts";
import { STATEMENT } from "./task/statement-task.ts";
import { StatementTransaction } from "./task/statement-transaction.ts";
import { Task } from "./task/task.ts";

/** Without an idempotency key, which only the data API has. */
export type LocalRequest = Omit<StatementRequest, "repeat">;

export class LocalRunner {
  readonly #context: RunnerContext;

  constructor(
    options: StatementRunnerOptions,
    context: RunnerContext = new RunnerContext(options),
  ) {
    this.#context = context;
  }

  get settings(): Settings {
    return this.#context.settings;
  }

  get requests(): Requests {
    return this.#context.requests;
  }

  /** Rejects with a PeerError; its code gives the cause, its place the position in the text. */
  async execute(request: LocalRequest): Promise<StatementResult> {
    return this.start(request);
  }

  /**
   * The same as execute, without a promise when there is nothing to wait for: most reads end in
   * their first slice. Errors may then be thrown.
   */
  start(request: LocalRequest): StatementResult | Promise<StatementResult> {
    return new Task(STATEMENT, request, this.#context, AUTOCOMMIT).start();
  }

  /** A transaction of several statements, atomic. The caller must close or commit it. */
  open(): StatementTransaction {
    return new StatementTransaction(this.#context);
  }

  /** Stops a running request at its next budget check. False when there is none. */
  cancel(requestId: string, reason: string): boolean {
    return this.requests.cancel(requestId, reason);
  }

  /** The prepared statement; also validates that a text is a statement. */
  prepare(text: string, onParsed?: () => void): PreparedStatement {
    return this.#context.texts.statement(text, onParsed);
  }
}
