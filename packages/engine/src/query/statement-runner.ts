/**
 * StatementRunner: runs statements (LocalRunner) and the operations of the data API on one store.
 */

import { type ChosenPeers, checkRemoteStatement } from "./command/remote.ts";
import { located } from "./fault.ts";
import { LocalRunner } from "./local-runner.ts";
import type { Authority } from "./permission/authority.ts";
import type {
  BatchResult,
  CountRequest,
  CountResult,
  ExportRequest,
  ExportResult,
  FindByIdRequest,
  FindByIdResult,
  FindRequest,
  FindResult,
  RemoteRequest,
  StatementRequest,
  StatementResult,
  WriteRequest,
} from "./request.ts";
import type { PreparedStatement } from "./statement/prepare.ts";
import type { Requests } from "./system/requests.ts";
import type { Settings } from "./system/settings.ts";
import type { SystemRow } from "./system/system-collections.ts";
import { BATCH } from "./task/batch-task.ts";
import { exportDocuments } from "./task/export.ts";
import { COUNT, FIND } from "./task/filter-task.ts";
import { findById, mayReadAttachment } from "./task/lookup.ts";
import { PEER_SELECTION } from "./task/peer-selection.ts";
import { REPLAYING_AUTOCOMMIT } from "./task/replaying-autocommit.ts";
import { RunnerContext, type StatementRunnerOptions } from "./task/runner-context.ts";
import { STATEMENT } from "./task/statement-task.ts";
import type { StatementTransaction } from "./task/statement-transaction.ts";
import { Task } from "./task/task.ts";
import type { TaskKind, TaskRequest } from "./task/task-kind.ts";

export class StatementRunner {
  readonly #context: RunnerContext;
  readonly #local: LocalRunner;

  constructor(options: StatementRunnerOptions) {
    this.#context = new RunnerContext(options);
    this.#local = new LocalRunner(options, this.#context);
  }

  get settings(): Settings {
    return this.#local.settings;
  }

  get requests(): Requests {
    return this.#local.requests;
  }

  /** See LocalRunner. */
  async execute(request: StatementRequest): Promise<StatementResult> {
    return this.start(request);
  }

  /** See LocalRunner. */
  start(request: StatementRequest): StatementResult | Promise<StatementResult> {
    return this.#start(STATEMENT, request);
  }

  /** See LocalRunner. */
  open(): StatementTransaction {
    return this.#local.open();
  }

  /** The documents that a filter of the data API selects. */
  async find(request: FindRequest): Promise<FindResult> {
    return await this.#start(FIND, request);
  }

  /** The number of documents that a filter of the data API selects. */
  async count(request: CountRequest): Promise<CountResult> {
    return await this.#start(COUNT, request);
  }

  /** One document by its id. It is so fast that it has no deadline and is not recorded. */
  findById(request: FindByIdRequest): FindByIdResult {
    return findById(request, this.#context);
  }

  /** All documents of a collection as of one transaction, one after the other. */
  export(request: ExportRequest): Promise<ExportResult> {
    return exportDocuments(request, this.#context);
  }

  /**
   * Whether the caller uploaded the content, or may read a document that refers to it. A promise
   * only when there are many documents to check.
   */
  mayReadAttachment(id: string, authority: Authority | undefined): boolean | Promise<boolean> {
    return mayReadAttachment(id, authority, this.#context);
  }

  /** Writes commands of the data API, all or none. */
  async write(request: WriteRequest): Promise<BatchResult> {
    return await this.#start(BATCH, request);
  }

  /** Throws unless the statement is a valid remote statement with its arguments. */
  checkRemote({ statement, args, authority }: RemoteRequest): void {
    located(statement, () => {
      authority?.requirePeers();
      checkRemoteStatement(statement, args);
    });
  }

  /**
   * Parses a remote statement as checkRemote does, and selects from `rows`, one for each peer, the
   * peers that it is for. Runs in time slices: there may be thousands of peers.
   */
  async selectPeers(request: RemoteRequest, rows: Iterable<SystemRow>): Promise<ChosenPeers> {
    return await this.#start(PEER_SELECTION, { ...request, rows });
  }

  /** See LocalRunner. */
  cancel(requestId: string, reason: string): boolean {
    return this.#local.cancel(requestId, reason);
  }

  /** See LocalRunner. */
  prepare(text: string, onParsed?: () => void): PreparedStatement {
    return this.#local.prepare(text, onParsed);
  }

  #start<R extends TaskRequest, T, Result>(
    kind: TaskKind<R, T, Result>,
    request: R,
  ): Result | Promise<Result> {
    return new Task(kind, request, this.#context, REPLAYING_AUTOCOMMIT).start();
  }
}
