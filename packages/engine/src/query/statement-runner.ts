/**
 * StatementRunner: runs statements, and the operations of the data API, on one store, from text to
 * result.
 *
 * Reads use a snapshot and run in time slices with other work. Writes are evaluated inside a
 * transaction and answered when it is durable. Every statement has a deadline and a memory limit,
 * and is recorded in `system:request_history`.
 */

import { assert, PeerError, type ValueObject } from "@bigpeer/protocol";
import { RESULT_BYTES_MAX, STATEMENT_MS_MAX } from "../limits.ts";
import type { Platform } from "../platform.ts";
import type { IndexDefinition } from "../store/index-entry.ts";
import type { Store } from "../store/store.ts";
import type { Transaction } from "../store/transaction.ts";
import type { StoredDocument } from "../store/view.ts";
import { ChosenWrites, type Submit } from "./chosen-writes.ts";
import { type Answer, permissionDigest, recalled, remember } from "./command/answer.ts";
import {
  documentsOf,
  labelOf,
  type PreparedBatch,
  prepareBatch,
  usesOfCommands,
} from "./command/batch.ts";
import type { WriteResult } from "./command/command.ts";
import { checkCollectionName, refuseUnknown } from "./command/known-collection.ts";
import { idAt } from "./command/place.ts";
import {
  type ChosenPeers,
  checkRemoteStatement,
  type PreparedRemote,
  prepareRemote,
} from "./command/remote.ts";
import {
  answerOf,
  complete,
  completeLater,
  countOfResult,
  type Done,
  doneWith,
  failed,
  type Ready,
  type Task,
  type Trace,
} from "./command/task.ts";
import { located } from "./fault.ts";
import { Budget, inTime } from "./frame/budget.ts";
import type { Run } from "./frame/frame.ts";
import type { MemoryPool } from "./frame/memory-pool.ts";
import type { Steps } from "./frame/steps.ts";
import type { Authority } from "./permission/authority.ts";
import type { CollectionUse } from "./permission/collection-use.ts";
import { NarrowedView } from "./permission/narrowed-view.ts";
import { PermissionChecker } from "./permission/permission-checker.ts";
import { checkArguments, requireParameters } from "./plan/parameters.ts";
import { PreparedTexts, preparedBytes } from "./prepared-texts.ts";
import type {
  BatchResult,
  CountRequest,
  CountResult,
  FindByIdRequest,
  FindByIdResult,
  FindRequest,
  FindResult,
  RemoteRequest,
  StatementRequest,
  StatementResult,
  WriteRequest,
} from "./request.ts";
import { type Choosing, explainedChoosing } from "./run/choose.ts";
import type { Choices } from "./run/early-choice.ts";
import { type Execution, Warnings } from "./run/execution.ts";
import { Lookout } from "./run/lookout.ts";
import { budgeted, type SliceTaking, TimeSlicer } from "./run/time-slicer.ts";
import type { FilterQuery, PreparedFind, PreparedTarget } from "./statement/find.ts";
import type { PreparedStatement } from "./statement/prepare.ts";
import type { QueryType, StatementOutput, Work } from "./statement/work.ts";
import { type Begin, type PlayStatement, StatementTransaction } from "./statement-transaction.ts";
import { type ActiveRequest, Requests } from "./system/requests.ts";
import { Settings } from "./system/settings.ts";
import { loadSettings } from "./system/stored-settings.ts";
import type { SystemData, SystemRow } from "./system/system-collections.ts";

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
  /** Memory shared by all statements of the process; undefined if it is not limited. */
  readonly memory?: MemoryPool;
  /** The time slicer of all statements of the process; default is one of its own. */
  readonly slicer?: TimeSlicer;
  readonly systemData?: SystemData;
  /** Default settings by name, unless a statement changes them. */
  readonly settings?: ValueObject;
  /** Called for each request that took longer than DQL_SLOW_REQUEST_WARN_SECONDS. */
  readonly onSlow?: (request: StoredDocument) => void;
}

type FilterRequest = CountRequest & FilterQuery;

/** The processing of the documents that a filter selects. */
type Filtering<T> = (prepared: PreparedFind, execution: Execution) => Steps<T>;

type Read<T> = Work<T>["run"];

export class StatementRunner {
  readonly #store: Store;
  readonly #platform: Platform;
  readonly #appId: string;
  readonly #limits: StatementLimits;
  readonly #systemData: SystemData;
  readonly #texts: PreparedTexts;
  readonly #memory: MemoryPool | undefined;
  readonly #elapsed: () => number;
  readonly #slicer: SliceTaking;
  readonly #chosen: ChosenWrites;
  readonly settings: Settings;
  readonly requests: Requests;

  constructor(options: StatementRunnerOptions) {
    const { store, platform, appId, limits, memory, systemData, onSlow } = options;
    this.#store = store;
    this.#platform = platform;
    this.#appId = appId;
    this.#limits = { timeMs: STATEMENT_MS_MAX, bytes: RESULT_BYTES_MAX, ...limits };
    this.#memory = memory;
    this.#elapsed = () => platform.elapsed();
    const slicer = options.slicer ?? new TimeSlicer(() => platform.pause(), this.#elapsed);
    this.#slicer = slicer.of(appId);
    this.#texts = new PreparedTexts(this.#slicer, this.#elapsed);
    this.#chosen = new ChosenWrites(store, this.#slicer, this.#elapsed);
    const settings = new Settings(options.settings);
    this.settings = settings;
    loadSettings(settings, store);
    this.requests = new Requests({ platform, settings, ...(onSlow && { onSlow }) });
    this.#systemData = {
      info: () => systemData?.info?.() ?? [],
      rows: (name) =>
        name === "shared_statements" ? this.#texts.rows() : (systemData?.rows?.(name) ?? []),
      ...(systemData?.explainSync && { explainSync: systemData.explainSync.bind(systemData) }),
    };
  }

  /** Rejects with a PeerError; its code gives the cause, its place the position in the text. */
  async execute(request: StatementRequest): Promise<StatementResult> {
    return this.start(request);
  }

  /**
   * The same as execute, without a promise when there is nothing to wait for: most reads end in
   * their first slice. Errors may then be thrown.
   */
  start(request: StatementRequest): StatementResult | Promise<StatementResult> {
    return this.#start(request, undefined);
  }

  /** A transaction of several statements, atomic. The caller must close or commit it. */
  open(): StatementTransaction {
    return new StatementTransaction(this.#store, (request, play) => {
      const result = this.#start(request, play);
      assert(!(result instanceof Promise), "a statement that runs at once");
      return result;
    });
  }

  #start(
    request: StatementRequest,
    play: PlayStatement | undefined,
  ): StatementResult | Promise<StatementResult> {
    const { statement, args, timeoutMs, isStrict, requestId, authority, owner, repeat } = request;
    let queryType: QueryType = "select";
    const typed = (prepared: PreparedStatement): PreparedStatement => {
      queryType = prepared.queryType;
      return prepared;
    };
    const prepare: Task<StatementOutput>["prepare"] = (onParsed, budget) => {
      const isAtOnce = play !== undefined;
      const made = this.#texts.takeStatement(statement, onParsed, { budget, owner, isAtOnce });
      return made instanceof Promise ? made.then(typed) : typed(made);
    };
    // Written out: a spread costs more than everything else that a cached statement does here.
    const task: Task<StatementOutput> = {
      text: statement,
      label: statement,
      requestType: "execute",
      args,
      timeoutMs,
      isStrict,
      requestId,
      authority,
      owner,
      repeat,
      prepare,
    };
    const done = this.#perform(task, countOfResult, play);
    return done instanceof Promise
      ? done.then((late) => resultOf(late, queryType))
      : resultOf(done, queryType);
  }

  /** The documents that a filter of the data API selects. */
  async find(request: FindRequest): Promise<FindResult> {
    const { offset = 0, limit = Infinity, isPlanWanted } = request;
    const window = { offset, limit };
    let plan: ValueObject | undefined;
    const find: Filtering<readonly StoredDocument[]> = function* find(prepared, execution) {
      if (isPlanWanted === true) plan = prepared.plan(yield* explainedChoosing(execution));
      return yield* prepared.documents(execution, window);
    };
    const task = this.#filterTask("find", request, find);
    const { result, txnId } = await this.#perform(task, ({ length }) => length);
    const found = { documents: result, transactionId: txnId };
    return plan === undefined ? found : { ...found, plan };
  }

  /** The number of documents that a filter of the data API selects. */
  async count(request: CountRequest): Promise<CountResult> {
    const task = this.#filterTask("count", request, countAll);
    const { result, txnId } = await this.#perform(task, () => 1);
    return { count: result, transactionId: txnId };
  }

  /** One document by its id. It is so fast that it has no deadline and is not recorded. */
  findById({ collection, id, isUnknownRefused, authority }: FindByIdRequest): FindByIdResult {
    checkCollectionName(collection, "collection");
    if (authority !== undefined) {
      located("", () => authority.require([{ kind: "read", collection }]));
      if (!authority.isReadingAll) return this.#findReadable(collection, id, authority);
    }
    const wanted = idAt(id, "id");
    const snapshot = this.#store.snapshot();
    try {
      const number = snapshot.collectionNumber(collection);
      if (number === undefined && isUnknownRefused === true) refuseUnknown(snapshot, collection);
      const shown = number === undefined ? undefined : snapshot.shownByKey(number, wanted.key);
      const document = shown && { id: wanted.id, fields: shown.fields, types: shown.types };
      return { id: wanted.id, document, transactionId: snapshot.txnId };
    } finally {
      snapshot.close();
    }
  }

  /** The collection counts as known: the caller has a rule for it. */
  #findReadable(collection: string, id: unknown, authority: Authority): FindByIdResult {
    const wanted = idAt(id, "id");
    const { checker } = this.#checking(authority);
    const snapshot = this.#store.snapshot();
    try {
      const view = new NarrowedView(snapshot, checker);
      // An error would reveal that there is a document.
      const document = inTime(() => view.get(collection, wanted.id));
      return { id: wanted.id, document, transactionId: snapshot.txnId };
    } finally {
      snapshot.close();
    }
  }

  /**
   * Whether the caller uploaded the content, or may read a document that refers to it. A promise
   * only when there are many documents to check.
   */
  mayReadAttachment(id: string, authority: Authority | undefined): boolean | Promise<boolean> {
    if (authority === undefined || authority.isReadingAll) return true;
    const { checker, budget } = this.#checking(authority);
    const snapshot = this.#store.snapshot();
    const steps = checker.checkAttachment(id, snapshot);
    return this.#slicer.take(steps, budget, snapshot, authority.credential);
  }

  /** A permission checker for operations that are not recorded. */
  #checking(authority: Authority): { checker: PermissionChecker; budget: Budget } {
    const { timeMs, bytes } = this.#limits;
    const budget = new Budget({ elapsed: this.#elapsed, timeMsMax: timeMs, bytesMax: bytes });
    const request = { id: "", appId: this.#appId, startMs: this.#platform.now() };
    const run: Run = { args: {}, platform: this.#platform, budget, request };
    return { checker: new PermissionChecker(authority, run), budget };
  }

  /** Writes commands of the data API, all or none. */
  async write(request: WriteRequest): Promise<BatchResult> {
    const { commands, isUnknownRefused = false, timeoutMs, requestId, repeat } = request;
    const { authority, owner } = request;
    const target = (collection: string, query: string): PreparedTarget =>
      this.#texts.target(collection, query);
    const steps = prepareBatch(commands, { isUnknownRefused, prepareTarget: target });
    const readyWith = (work: PreparedBatch): Ready<readonly WriteResult[]> => {
      const access = authority === undefined ? [] : usesOfCommands(commands);
      return { kind: "write", plan: undefined, parameters: [], access, work };
    };
    const prepare: Task<readonly WriteResult[]>["prepare"] = (_, budget) => {
      const work = this.#slicer.take(steps, budget, NOTHING_HELD, owner);
      return work instanceof Promise ? work.then(readyWith) : readyWith(work);
    };
    const task: Task<readonly WriteResult[]> = {
      text: "",
      label: labelOf(commands),
      requestType: "write",
      args: undefined,
      timeoutMs,
      isStrict: false,
      requestId,
      authority,
      owner,
      repeat,
      prepare,
    };
    const { result, txnId, isReplay } = await this.#perform(task, documentsOf);
    return { results: result, transactionId: txnId, isReplay };
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
    const { statement, args, authority, owner, timeoutMs, requestId } = request;
    const readyWith = ({ parameters, choose }: PreparedRemote): Ready<ChosenPeers> => {
      const run = (execution: Execution): Steps<ChosenPeers> => choose(rows, execution);
      const work = { kind: "read", run } as const;
      return { kind: "sync_context", plan: undefined, parameters, access: [], work };
    };
    const prepare: Task<ChosenPeers>["prepare"] = (_, budget) => {
      authority?.requirePeers();
      const made = this.#slicer.take(prepareRemote(statement), budget, NOTHING_HELD, owner);
      return made instanceof Promise ? made.then(readyWith) : readyWith(made);
    };
    const task: Task<ChosenPeers> = {
      text: statement,
      label: statement,
      requestType: "remote_execute",
      args,
      timeoutMs,
      isStrict: false,
      requestId,
      authority,
      owner,
      repeat: undefined,
      prepare,
    };
    const { result } = await this.#perform(task, ({ selected }) => selected.length);
    return result;
  }

  /** Stops a running request at its next budget check. False when there is none. */
  cancel(requestId: string, reason: string): boolean {
    return this.requests.cancel(requestId, reason);
  }

  /** The prepared statement; also validates that a text is a statement. */
  prepare(text: string, onParsed?: () => void): PreparedStatement {
    return this.#texts.statement(text, onParsed);
  }

  #filterTask<T>(requestType: string, request: FilterRequest, filtering: Filtering<T>): Task<T> {
    const { collection, query, args, timeoutMs, requestId, isUnknownRefused } = request;
    const { authority, owner } = request;
    const readyWith = (prepared: PreparedFind): Ready<T> => {
      const run = (execution: Execution): Steps<T> => {
        if (isUnknownRefused === true) refuseUnknown(execution.view, collection);
        return filtering(prepared, execution);
      };
      const { plan, parameters } = prepared;
      const access: CollectionUse[] = [{ kind: "read", collection }];
      return { kind: requestType, plan, parameters, access, work: { kind: "read", run } };
    };
    const prepare: Task<T>["prepare"] = (_, budget) => {
      checkCollectionName(collection, "collection");
      const made = this.#texts.takeFind(request, { budget, owner });
      return made instanceof Promise ? made.then(readyWith) : readyWith(made);
    };
    return {
      text: query,
      label: `${collection}: ${query}`,
      requestType,
      args,
      timeoutMs,
      isStrict: false,
      requestId,
      authority,
      owner,
      repeat: undefined,
      prepare,
    };
  }

  /** A promise only when there is something to wait for. */
  #perform<T>(
    task: Task<T>,
    countOf: (result: T) => number,
    play?: PlayStatement<T>,
  ): Done<T> | Promise<Done<T>> {
    const budget = this.#budget(task.timeoutMs);
    const active = this.#begin(task, budget);
    const trace: Trace<T> = { text: task.text, active, budget, countOf };
    try {
      budget.take(preparedBytes(task.text));
      const ready = task.prepare(() => active.setState("planning"), budget);
      if (!(ready instanceof Promise)) return this.#performReady(task, ready, trace, play);
      return completeLater(
        ready.then((late) => this.#performReady(task, late, trace, play)),
        trace,
      );
    } catch (error) {
      throw failed(error, trace);
    }
  }

  #performReady<T>(
    task: Task<T>,
    ready: Ready<T>,
    trace: Trace<T>,
    play: PlayStatement<T> | undefined,
  ): Done<T> | Promise<Done<T>> {
    const { active, budget } = trace;
    const { kind, plan, parameters, work, text } = ready;
    if (text !== undefined) active.setText(text);
    active.setQueryType(kind);
    // Before any data is read: a collection without a rule may exist or not.
    task.authority?.require(ready.access);
    if (plan !== undefined) active.setPlan(() => plan(this.#choosing(task)));
    const args = checkArguments(task.args);
    requireParameters(parameters, args);
    active.setState("running");
    const run: Run = { args, platform: this.#platform, budget, request: active };
    const begin = (each: Run): Begin => this.#beginner(task, each);
    if (play !== undefined) {
      const again = (): Budget => this.#budget(task.timeoutMs);
      return complete(doneWith(play({ ...ready, run, begin, again }), 0, false), trace);
    }
    if (work.kind === "write") return this.#write(work, begin(run), task, trace);
    const done = this.#read(work.run, begin(run), task.owner);
    return done instanceof Promise ? completeLater(done, trace) : complete(done, trace);
  }

  /** The choice by the current indexes: the plan may be shown after the request has ended. */
  #choosing(task: Task<unknown>): Choosing {
    // A restricted caller may not know all indexes; finding the permitted ones takes too long.
    const isNarrowed = task.authority?.isReadingAll === false;
    const indexesOf = (collection: string): readonly IndexDefinition[] => {
      if (isNarrowed) return [];
      try {
        return this.#store.read((snapshot) => snapshot.indexesOf(collection));
      } catch (error) {
        if (error instanceof PeerError) return [];
        throw error;
      }
    };
    return { isStrict: task.isStrict ?? this.settings.isStrict, view: { indexesOf } };
  }

  #begin(
    { label, requestType, requestId, authority }: Task<unknown>,
    budget: Budget,
  ): ActiveRequest {
    return this.requests.begin({
      id: requestId,
      text: label,
      requestType,
      appId: this.#appId,
      credential: authority?.credential,
      budget,
    });
  }

  #beginner<T>(task: Task<T>, run: Run): Begin {
    const { authority } = task;
    const isStrict = task.isStrict ?? this.settings.isStrict;
    return (whole, transaction, choices) => {
      const isChecked = authority?.isFull === false;
      const checker = isChecked ? new PermissionChecker(authority, run) : undefined;
      const isNarrowed = checker !== undefined && !checker.authority.isReadingAll;
      const view = isNarrowed ? new NarrowedView(whole, checker) : whole;
      return {
        run,
        text: task.text,
        isStrict,
        view,
        checker,
        transaction,
        choices,
        warnings: new Warnings(),
        lookout: task.requestType === "execute" ? new Lookout() : undefined,
        system: {
          view,
          store: isNarrowed ? undefined : whole,
          isFull: checker === undefined,
          credential: authority?.credential,
          settings: this.settings,
          requests: this.requests,
          appId: this.#appId,
          nowMs: run.request.startMs,
          systemData: this.#systemData,
        },
      };
    };
  }

  #read<T>(run: Read<T>, begin: Begin, owner: string | undefined): Done<T> | Promise<Done<T>> {
    const snapshot = this.#store.snapshot();
    let isHeld = false;
    try {
      const { txnId } = snapshot;
      const execution = begin(snapshot);
      const steps = run(execution);
      // From here on the last step closes the snapshot.
      isHeld = true;
      const result = this.#slicer.take(steps, execution.run.budget, snapshot, owner);
      return result instanceof Promise
        ? result.then((late) => doneWith(answerOf(late, execution), txnId, false))
        : doneWith(answerOf(result, execution), txnId, false);
    } finally {
      if (!isHeld) snapshot.close();
    }
  }

  #write<T>(
    { run, choose, changesSettings }: Work<T>,
    begin: Begin,
    { text, requestId, repeat: key, authority, owner }: Task<unknown>,
    trace: Trace<T>,
  ): Promise<Done<T>> {
    let isReplay = false;
    const permissions = key && permissionDigest(authority, this.#platform);
    const repeat = key && { key, permissions };
    const evaluate = function* evaluate(
      transaction: Transaction,
      choices: Choices | undefined,
    ): Steps<Answer<T>> {
      choices?.begin();
      const execution = begin(transaction.view, transaction, choices);
      // A write is evaluated again when a commit before it failed.
      const { budget } = execution.run;
      budget.release();
      budget.take(preparedBytes(text));
      transaction.watch(() => budget.step());
      const known = repeat && recalled<T>(transaction, repeat);
      isReplay = known !== undefined;
      if (known !== undefined) return known;
      const given = answerOf(yield* budgeted(run(execution), budget), execution);
      return repeat === undefined ? given : remember(transaction, repeat, given);
    };
    const submit: Submit<Answer<T>> = (choices) =>
      this.#store.transactInSteps((transaction) => evaluate(transaction, choices), requestId);
    const committed =
      choose === undefined
        ? submit(undefined)
        : this.#chosen.submit({ choose, begin, owner }, submit);
    return committed.then(
      ({ txnId, result }) => {
        if (changesSettings === true) loadSettings(this.settings, this.#store);
        return complete(doneWith(result, result.txnId ?? txnId, isReplay), trace);
      },
      (error: unknown) => {
        throw failed(error, trace);
      },
    );
  }

  /** The shortest of the deadlines that apply. */
  #budget(timeoutMs: number | undefined): Budget {
    const { timeMs, bytes } = this.#limits;
    const set = this.settings.requestTimeoutMs;
    const timeMsMax = Math.min(timeMs, timeoutMs ?? Infinity, set ?? Infinity);
    if (!(timeMsMax > 0)) throw new PeerError("query.timeout", "the statement has no time to run");
    return new Budget({ elapsed: this.#elapsed, timeMsMax, bytesMax: bytes, pool: this.#memory });
  }
}

function resultOf(done: Done<StatementOutput>, queryType: QueryType): StatementResult {
  const result: StatementResult = {
    queryType,
    items: done.result.items,
    mutatedDocumentIds: done.result.ids,
    warnings: done.warnings,
    totalWarningsCount: done.totalWarnings,
    transactionId: done.txnId,
  };
  return done.isReplay ? { ...result, isReplay: true } : result;
}

const NOTHING_HELD = { close: (): void => {} };

const countAll: Filtering<number> = (prepared, execution) => prepared.count(execution);
