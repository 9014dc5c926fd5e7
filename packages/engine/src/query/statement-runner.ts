/**
 * StatementRunner: runs statements on one store, from text to result.
 *
 * Reads work on a snapshot and let others have their turn while they are at it. Writes are evaluated
 * inside a transaction and answered when it is durable. Every statement has a deadline and a bound on
 * memory, and leaves a trace in `system:request_history`.
 */

import { PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { RESULT_BYTES_MAX, SLICE_MS, STATEMENT_MS_MAX } from "../limits.ts";
import type { Platform } from "../platform.ts";
import type { Store } from "../store/store.ts";
import type { Transaction } from "../store/transaction.ts";
import type { StoredDocument, View } from "../store/view.ts";
import { locate, located } from "./fault.ts";
import { Budget } from "./frame/budget.ts";
import type { Run } from "./frame/frame.ts";
import { checkArguments, requireParameters } from "./plan/parameters.ts";
import { type Execution, type Warning, Warnings } from "./run/execution.ts";
import { Turns } from "./run/turns.ts";
import { type FilterQuery, type PreparedFind, prepareFind } from "./statement/find.ts";
import { type PreparedStatement, prepareStatement } from "./statement/prepare.ts";
import { StatementCache } from "./statement/statement-cache.ts";
import type { QueryType, StatementOutput, Work } from "./statement/work.ts";
import type { ParameterNode } from "./syntax/tree.ts";
import { Requests } from "./system/requests.ts";
import { Settings } from "./system/settings.ts";
import type { SystemFacts } from "./system/system-collections.ts";
import { underMeter } from "./value/effort.ts";

export interface StatementRequest {
  readonly statement: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
  /** Overrides the setting DQL_STRICT_MODE. */
  readonly isStrict?: boolean;
  /** A shorter deadline than the runner's own. */
  readonly timeoutMs?: number;
  /** Kept in the change log with what the statement wrote, and in the history of requests. */
  readonly requestId?: string;
}

export interface StatementResult {
  readonly queryType: QueryType;
  readonly items: readonly Value[];
  readonly mutatedDocumentIds: readonly Value[];
  /** The first few; `totalWarningsCount` counts all. */
  readonly warnings: readonly Warning[];
  readonly totalWarningsCount: number;
  /** The state that was read, or the transaction that was made. */
  readonly transactionId: number;
}

export interface StatementLimits {
  readonly timeMs: number;
  /** Memory for rows, groups and sorting of one statement. */
  readonly bytes: number;
}

export interface StatementRunnerOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  readonly limits?: Partial<StatementLimits>;
  readonly facts?: SystemFacts;
  /** What the settings are unless a statement changes them, by name. */
  readonly settings?: ValueObject;
  /** Told of each request that took longer than DQL_SLOW_REQUEST_WARN_SECONDS. */
  readonly onSlow?: (request: StoredDocument) => void;
}

export interface FindRequest extends FilterQuery {
  readonly args?: unknown;
  readonly offset?: number;
  readonly limit?: number;
  readonly timeoutMs?: number;
}

export interface FindResult {
  readonly documents: readonly StoredDocument[];
  readonly transactionId: number;
}

/** Anything that runs under a budget and leaves a trace: a statement, a filter. */
interface Task<T> {
  /** What its faults have their places in. */
  readonly text: string;
  /** What the trace shows. */
  readonly label: string;
  readonly requestType: string;
  readonly args: unknown;
  readonly timeoutMs: number | undefined;
  readonly isStrict: boolean | undefined;
  readonly requestId?: string | undefined;
  /** `onParsed` is called when the text was read and is planned now. */
  readonly prepare: (onParsed: () => void) => Ready<T>;
}

interface Ready<T> {
  readonly kind: string;
  readonly plan: (() => ValueObject) | undefined;
  readonly parameters: readonly ParameterNode[];
  readonly work: Work<T>;
}

interface Done<T> {
  readonly result: T;
  readonly warnings: Warnings;
  readonly txnId: number;
}

type Begin = (view: View, transaction?: Transaction) => Execution;

export class StatementRunner {
  readonly #store: Store;
  readonly #platform: Platform;
  readonly #appId: string;
  readonly #limits: StatementLimits;
  readonly #facts: SystemFacts;
  readonly #cache = new StatementCache<PreparedStatement>();
  readonly #finds = new StatementCache<PreparedFind>();
  readonly #elapsed: () => number;
  readonly #turns: Turns;
  readonly settings: Settings;
  readonly requests: Requests;

  constructor(options: StatementRunnerOptions) {
    const { store, platform, appId, limits, facts, onSlow } = options;
    this.#store = store;
    this.#platform = platform;
    this.#appId = appId;
    this.#limits = { timeMs: STATEMENT_MS_MAX, bytes: RESULT_BYTES_MAX, ...limits };
    this.#elapsed = () => platform.elapsed();
    this.#turns = new Turns(() => platform.pause());
    this.settings = new Settings(options.settings);
    const { settings } = this;
    this.requests = new Requests({ platform, settings, ...(onSlow && { onSlow }) });
    this.#facts = {
      info: () => facts?.info?.() ?? [],
      rows: (name) =>
        name === "shared_statements" ? this.#cache.rows() : (facts?.rows?.(name) ?? []),
    };
  }

  /** Rejects with a PeerError; its code says whose fault it is, its place where it lies. */
  async execute(request: StatementRequest): Promise<StatementResult> {
    const { statement, args, timeoutMs, isStrict, requestId } = request;
    let queryType: QueryType = "select";
    const prepare = (onParsed: () => void): PreparedStatement => {
      const prepared = this.prepare(statement, onParsed);
      queryType = prepared.queryType;
      return prepared;
    };
    // Spelt out: a spread costs more than all else that a repeated statement passes here.
    const task: Task<StatementOutput> = {
      text: statement,
      label: statement,
      requestType: "execute",
      args,
      timeoutMs,
      isStrict,
      requestId,
      prepare,
    };
    const { result, warnings, txnId } = await this.#perform(task, countOfResult);
    return {
      queryType,
      items: result.items,
      mutatedDocumentIds: result.ids,
      warnings: warnings.list,
      totalWarningsCount: warnings.total,
      transactionId: txnId,
    };
  }

  /** The documents that a filter of the data API chooses. */
  async find(request: FindRequest): Promise<FindResult> {
    const { collection, query, args, timeoutMs, offset = 0, limit = Infinity } = request;
    const prepare = (): Ready<readonly StoredDocument[]> => {
      const { parameters, plan, documents } = this.#prepareFind(request);
      const window = { offset, limit };
      const work = { kind: "read" as const, run: (each: Execution) => documents(each, window) };
      return { kind: "find", plan, parameters, work };
    };
    const task: Task<readonly StoredDocument[]> = {
      text: query,
      label: `${collection}: ${query}`,
      requestType: "find",
      args,
      timeoutMs,
      isStrict: false,
      prepare,
    };
    const { result, txnId } = await this.#perform(task, ({ length }) => length);
    return { documents: result, transactionId: txnId };
  }

  /** Stops a running request at its next look at its budget. False when there is none. */
  cancel(requestId: string, reason: string): boolean {
    return this.requests.cancel(requestId, reason);
  }

  /** The statement, ready to run; also the check that a text is a statement at all. */
  prepare(text: string, onParsed?: () => void): PreparedStatement {
    return this.#cache.get(text, (missing) => {
      return located(missing, () => prepareStatement(missing, this.#elapsed, onParsed));
    });
  }

  #prepareFind({ collection, query, sort = [] }: FindRequest): PreparedFind {
    const key = JSON.stringify([collection, query, sort]);
    return this.#finds.get(key, () => {
      return located(query, () => prepareFind({ collection, query, sort }));
    });
  }

  async #perform<T>(task: Task<T>, countOf: (result: T) => number): Promise<Done<T>> {
    const budget = this.#budget(task.timeoutMs);
    const { label, requestType, requestId } = task;
    const appId = this.#appId;
    const active = this.requests.begin({ id: requestId, text: label, requestType, appId, budget });
    try {
      const { kind, plan, parameters, work } = task.prepare(() => active.setState("planning"));
      active.setQueryType(kind);
      if (plan !== undefined) active.setPlan(plan);
      const args = checkArguments(task.args);
      requireParameters(parameters, args);
      active.setState("running");
      const run: Run = { args, platform: this.#platform, budget, request: active };
      const begin = this.#beginner(task, run);
      const done = await (work.kind === "read"
        ? this.#read(work.run, begin)
        : this.#write(work.run, begin, task.requestId));
      active.finish({ resultCount: countOf(done.result) });
      return done;
    } catch (error) {
      const placed = locate(error, task.text);
      active.finish({ error: placed });
      throw placed;
    }
  }

  #beginner<T>(task: Task<T>, run: Run): Begin {
    const isStrict = task.isStrict ?? this.settings.isStrict;
    return (view, transaction) => ({
      run,
      text: task.text,
      isStrict,
      view,
      transaction,
      warnings: new Warnings(),
      system: {
        view,
        settings: this.settings,
        requests: this.requests,
        appId: this.#appId,
        nowMs: run.request.startMs,
        facts: this.#facts,
      },
    });
  }

  async #read<T>(
    run: (execution: Execution) => Generator<void, T, void>,
    begin: Begin,
  ): Promise<Done<T>> {
    const snapshot = this.#store.snapshot();
    try {
      const execution = begin(snapshot);
      const result = await this.#inSlices(run(execution), execution.run.budget);
      return { result, warnings: execution.warnings, txnId: snapshot.txnId };
    } finally {
      snapshot.close();
    }
  }

  /** Lets others have their turn after each slice of time. */
  async #inSlices<T>(steps: Generator<void, T, void>, budget: Budget): Promise<T> {
    const next = (): IteratorResult<void, T> => steps.next();
    let sliceEnd = this.#elapsed() + SLICE_MS;
    for (;;) {
      const { done, value } = underMeter(budget, next);
      if (done === true) return value;
      if (this.#elapsed() < sliceEnd) continue;
      await this.#turns.wait();
      sliceEnd = this.#elapsed() + SLICE_MS;
    }
  }

  async #write<T>(
    run: (execution: Execution) => T,
    begin: Begin,
    requestId: string | undefined,
  ): Promise<Done<T>> {
    const { txnId, result } = await this.#store.transact((transaction) => {
      const execution = begin(transaction.view, transaction);
      // A write is evaluated once more when a commit before it failed.
      const { budget } = execution.run;
      budget.release();
      transaction.watch(() => budget.step());
      const given = underMeter(budget, () => run(execution));
      return { result: given, warnings: execution.warnings };
    }, requestId);
    return { ...result, txnId };
  }

  /** The shortest of the deadlines that apply. */
  #budget(timeoutMs: number | undefined): Budget {
    const { timeMs, bytes } = this.#limits;
    const set = this.settings.requestTimeoutMs;
    const timeMsMax = Math.min(timeMs, timeoutMs ?? Infinity, set ?? Infinity);
    if (!(timeMsMax > 0)) throw new PeerError("query.timeout", "the statement has no time to run");
    return new Budget({ elapsed: this.#elapsed, timeMsMax, bytesMax: bytes });
  }
}

/** Rows that were given, or documents that were changed. */
function countOfResult({ items, ids }: StatementOutput): number {
  return Math.max(items.length, ids.length);
}
