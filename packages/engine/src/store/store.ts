/**
 * Store: the durable document store of one app, composed of identity, commit queue, snapshots,
 * change log, maintenance and index builder.
 *
 * Writes go through `transact` and nowhere else: those of other sites by taken-upload.ts. Reads go
 * through a snapshot, which shows committed writes only.
 */

import { PeerError, type Site } from "@bigpeer/protocol";
import { type ClockLimits, daysOf, longRestMs } from "../crdt/clock.ts";
import { DRIFT_MS_MAX, REST_MS_MAX, RESTED_CARE_MS } from "../limits.ts";
import type { KeyValue, Platform, Reader, Snapshot } from "../platform.ts";
import { type ChangesSince, type Cursor, changesSince } from "./change-log.ts";
import type { CommitMemory } from "./commit-memory.ts";
import { CommitQueue, type Flush } from "./commit-queue.ts";
import { CURRENT_FORMAT, type Format, openIdentity } from "./identity.ts";
import { IndexBuilder } from "./index-builder.ts";
import { HEAD_KEY } from "./keys.ts";
import { DEFAULT_RETENTION, dueWork, heartbeat, type Retention } from "./maintenance.ts";
import type { OwnWrites } from "./own-writes.ts";
import { Progress, type Wait } from "./progress.ts";
import type { Committed, Evaluate, EvaluateInSteps, RequestOptions } from "./queued-request.ts";
import { type Head, type Identity, readHead } from "./records.ts";
import { Transaction, type TransactionContext } from "./transaction.ts";
import type { TransactionLog } from "./transaction-log.ts";
import { View } from "./view.ts";
import { WaitingCallers } from "./waiting-callers.ts";

export interface StoreOptions {
  readonly clock?: ClockLimits;
  readonly retention?: Retention;
  /** Set after an operator confirmed a wall clock that leapt. */
  readonly isClockAccepted?: boolean;
  /** Longest rest that is accepted at the opening, where it exceeds that of a running store. */
  readonly startRestMsMax?: number;
  /** For tests of migration; the current format otherwise. */
  readonly format?: Format;
  /** For tests: indexes are not built in the background, only by operations. */
  readonly isBuildHeld?: boolean;
  /**
   * Called at the end of each evaluation of a request. It sees the writes of the request and may
   * add to them; if it throws, the request fails. A small peer records its uploads here.
   */
  readonly onTransaction?: (transaction: Transaction, own: OwnWrites, identity: Identity) => void;
  /** Where transactions become durable; left out, the storage alone. */
  readonly log?: TransactionLog;
  /** Whether another node evaluates the transactions, until `lead` is called. */
  readonly isFollower?: boolean;
  /** Whether other nodes that apply the log can keep the writer of a transaction; left out, yes. */
  readonly isWriterLogged?: () => boolean;
  /** Budget that all transactions of the process share; left out, this store has one of its own. */
  readonly memory?: CommitMemory;
  /** The site under which transactions write; that of the identity otherwise. */
  readonly siteOf?: (reader: Reader, identity: Identity) => Site;
}

const DEFAULT_CLOCK: ClockLimits = { driftMsMax: DRIFT_MS_MAX, restMsMax: REST_MS_MAX };

/** Current load of a store. */
export interface StoreStats {
  /** Unanswered requests: evaluated and not durable, or not evaluated. */
  readonly queueLength: number;
  /** Callers that wait until a transaction is durable. */
  readonly waiterCount: number;
}

/** A transaction over a durable state that is never committed. */
export interface Draft {
  readonly transaction: Transaction;
  /** The last transaction of that state. */
  readonly txnId: number;
  close(): void;
}

/** Caches that all snapshots of a store share. */
interface Known {
  readonly numbers: Map<string, number>;
  readonly progress: Progress;
  readonly heads: LastHead;
}

/** Caches the head of the latest state: between two commits all snapshots are of one. */
class LastHead {
  #state: object | undefined;
  #head: Head | undefined;

  of(snapshot: Snapshot): Head {
    const { state } = snapshot;
    const isKnown = state !== undefined && state === this.#state;
    if (this.#head !== undefined && isKnown) return this.#head;
    this.#head = readHead(snapshot.get(HEAD_KEY));
    this.#state = state;
    return this.#head;
  }
}

/** A durable state to read from. It must be closed. */
export class StoreSnapshot extends View {
  readonly #snapshot: Snapshot;
  readonly #identity: Identity;
  readonly #known: Known | undefined;

  constructor(snapshot: Snapshot, identity: Identity, known?: Known) {
    super(snapshot, known?.numbers ?? new Map(), true);
    this.#snapshot = snapshot;
    this.#identity = identity;
    this.#known = known;
  }

  override get head(): Head {
    return this.#known?.heads.of(this.#snapshot) ?? super.head;
  }

  /** The last transaction that this state includes. */
  get txnId(): number {
    const { txnId } = this.head;
    // It may be durable before the queue has noticed: the store is never behind an id that it
    // gives.
    this.#known?.progress.reach(txnId);
    return txnId;
  }

  /** Transactions after a cursor, or why it cannot be served. Read them before closing. */
  changesSince(cursor: Cursor): ChangesSince {
    return changesSince(this, this.#identity, cursor);
  }

  /** As Snapshot.renew. */
  renew(): void {
    this.#snapshot.renew?.();
  }

  close(): void {
    this.#snapshot.close();
  }
}

/** A long rest before the opening that was accepted: the store takes writes all the same. */
export interface AcceptedRest {
  readonly days: number;
  /** The last sign of life, and the moment of opening, in milliseconds since 1970. */
  readonly fromMs: number;
  readonly awakeMs: number;
  /** The moment of opening on the monotonic clock. */
  readonly elapsedMs: number;
}

export class Store {
  readonly #storage: KeyValue;
  readonly platform: Platform;
  readonly #options: StoreOptions;
  readonly #queue: CommitQueue;
  readonly #builder: IndexBuilder;
  readonly #known: Known;
  readonly #commitListeners = new Set<(txnId: number) => void>();
  readonly #flushListeners = new Set<(flush: Flush) => void>();
  /** Absent for a store whose storage is all that it has: it answers or fails. */
  readonly #callers: WaitingCallers | undefined;
  readonly identity: Identity;
  /** The accepted long rest before it was opened, if there was one. */
  readonly rest: AcceptedRest | undefined;
  #isFollowing: boolean;

  private constructor(
    storage: KeyValue,
    platform: Platform,
    identity: Identity,
    options: StoreOptions,
  ) {
    this.#storage = storage;
    this.platform = platform;
    this.#options = options;
    this.identity = identity;
    this.#isFollowing = options.isFollower === true;
    this.#callers = options.log && new WaitingCallers();
    this.rest = this.#findRest();
    const head = headOf(storage);
    const progress = new Progress(head.txnId);
    this.#known = { numbers: new Map(), progress, heads: new LastHead() };
    this.#builder = new IndexBuilder({
      platform,
      transact: (evaluate) => this.transact(evaluate),
    });
    this.#queue = new CommitQueue(storage, {
      context: (reader) => this.#context(reader),
      onEvaluated: (transaction) => {
        const { own } = transaction;
        if (own !== undefined) options.onTransaction?.(transaction, own, identity);
      },
      log: options.log,
      memory: options.memory,
      pause: () => platform.pause(),
      elapsed: () => platform.elapsed(),
      onDurable: (durable) => {
        progress.reach(durable.txnId);
        this.#goOnBuilding(durable);
      },
      onFlush: (flush) => this.#flushed(flush),
    });
    this.#goOnBuilding(head);
  }

  /** Opens a store on a storage without another writer; creates one if the storage is empty. */
  static async open(
    storage: KeyValue,
    platform: Platform,
    options: StoreOptions = {},
  ): Promise<Store> {
    const identity = await openIdentity(storage, platform, options.format ?? CURRENT_FORMAT);
    return new Store(storage, platform, identity, options);
  }

  /**
   * Evaluates a request and commits its operations, all or none: durably, unless `options` relax
   * that. `evaluate` is synchronous and may run more than once; values that it passes to the
   * transaction belong to the store afterwards.
   */
  transact<T>(evaluate: Evaluate<T>, options?: RequestOptions): Promise<Committed<T>> {
    if (this.#isFollowing) return Promise.reject(elsewhere());
    return this.#queue.submit(evaluate, options);
  }

  /**
   * As transact, for a request of any size: it is evaluated in time slices. Later writes of this
   * store wait; everything else continues.
   */
  transactInSteps<T>(
    evaluate: EvaluateInSteps<T>,
    options?: RequestOptions,
  ): Promise<Committed<T>> {
    if (this.#isFollowing) return Promise.reject(elsewhere());
    return this.#queue.submitInSteps(evaluate, options);
  }

  /**
   * The answer to a caller of `work`, a request to this store: settles as it does, or rejects with
   * `cluster.unanswered` when the log does not answer for long. The request goes on.
   */
  answered<T>(work: Promise<T>): Promise<T> {
    return this.#callers?.answered(work) ?? work;
  }

  /** Called when the log has not answered for long: callers wait no longer. */
  releaseCallers(): void {
    this.#callers?.release();
  }

  /**
   * Whether another node evaluates the transactions. Then requests that may write are refused with
   * `cluster.elsewhere`, before they are evaluated.
   */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** Refuses requests from now on. Resolves when those that were accepted are answered. */
  async follow(): Promise<void> {
    this.#isFollowing = true;
    await this.#queue.whenIdle();
  }

  /** Evaluates requests from now on. Others have written before; `follow` has resolved. */
  lead(): void {
    const head = headOf(this.#storage);
    this.#queue.refresh(head.txnId);
    this.#isFollowing = false;
    this.#goOnBuilding(head);
  }

  /** Called when the storage has transactions of another node, up to this head. */
  replicated({ txnId }: Head): void {
    this.#known.progress.reach(txnId);
    announce(this.#commitListeners, txnId);
  }

  snapshot(): StoreSnapshot {
    return new StoreSnapshot(this.#storage.snapshot(), this.identity, this.#known);
  }

  /** A transaction on the current state that has no effect, for a dry run. It must be closed. */
  draft(): Draft {
    const snapshot = this.#storage.snapshot();
    const { txnId } = readHead(snapshot.get(HEAD_KEY));
    const transaction = new Transaction(snapshot, txnId + 1, this.#context(snapshot));
    return { transaction, txnId, close: () => snapshot.close() };
  }

  /** Runs `work` on a snapshot that is closed afterwards. */
  read<T>(work: (snapshot: StoreSnapshot) => T): T {
    const snapshot = this.snapshot();
    try {
      return work(snapshot);
    } finally {
      snapshot.close();
    }
  }

  /** The last durable transaction: never below an id that any answer has reported. */
  get txnId(): number {
    return this.#known.progress.txnId;
  }

  /** Waits until a transaction is durable. The caller cancels a wait that it no longer needs. */
  whenReached(txnId: number | bigint): Wait {
    // Rounding does not matter: it starts above every transaction id that can occur.
    return this.#known.progress.whenReached(Number(txnId));
  }

  stats(): StoreStats {
    return { queueLength: this.#queue.length, waiterCount: this.#known.progress.waiterCount };
  }

  /** Calls `listener` with each txnId that became durable. Returns a function that removes it. */
  onCommit(listener: (txnId: number) => void): () => void {
    this.#commitListeners.add(listener);
    return () => this.#commitListeners.delete(listener);
  }

  /** Calls `listener` after each flush that wrote something, or tried to. */
  onFlush(listener: (flush: Flush) => void): () => void {
    this.#flushListeners.add(listener);
    return () => this.#flushListeners.delete(listener);
  }

  /**
   * Waits until no index is being built and no dropped index has entries left. Rejects with
   * `store.closed` when the store is closed before.
   */
  async whenIndexesReady(): Promise<void> {
    if (isUnfinished(headOf(this.#storage))) await this.#builder.whenFinished();
  }

  /**
   * Forgets what retention allows, in bounded transactions, then waits for indexes that are being
   * built; rejects if their build fails. Returns the number of transactions that it made to forget.
   */
  async maintain(): Promise<number> {
    const retention = this.#options.retention ?? DEFAULT_RETENTION;
    await this.transact((transaction) =>
      transaction.apply(heartbeat(transaction.view, this.platform.now())),
    );
    const made = await this.#forget(retention);
    if (isUnfinished(headOf(this.#storage)) && this.#options.isBuildHeld !== true) {
      await this.#builder.goOn();
    }
    return made;
  }

  /** Finishes all accepted requests. The storage stays open: it belongs to the caller. */
  async close(): Promise<void> {
    const built = this.#builder.close();
    await this.#queue.close();
    await built;
    this.#known.progress.end();
  }

  /** The time for ages: for a day after a long rest, that of the last sign of life (K78). */
  #ageMs(nowMs: number): number {
    const { rest } = this;
    if (rest === undefined) return nowMs;
    const isCareful = this.platform.elapsed() - rest.elapsedMs < RESTED_CARE_MS;
    return isCareful ? Math.min(nowMs, rest.fromMs) : nowMs;
  }

  #findRest(): AcceptedRest | undefined {
    const { clock = DEFAULT_CLOCK, isClockAccepted = false, startRestMsMax = 0 } = this.#options;
    const { time } = headOf(this.#storage);
    const awakeMs = this.platform.now();
    const restMs = isClockAccepted ? undefined : longRestMs(time, awakeMs, clock);
    if (restMs === undefined || restMs > startRestMsMax) return undefined;
    const elapsedMs = this.platform.elapsed();
    return { days: daysOf(restMs), fromMs: awakeMs - restMs, awakeMs, elapsedMs };
  }

  async #forget(retention: Retention): Promise<number> {
    const ageMs = (nowMs: number): number => this.#ageMs(nowMs);
    for (let made = 0; ; made++) {
      const { result } = await this.transactInSteps(function* forget(transaction) {
        const due = yield* dueWork(transaction.view, retention, ageMs(transaction.nowMs));
        yield* transaction.applyInSteps(due.operations);
        return due;
      });
      if (result.operations.length === 0) return made;
      if (!result.hasMore) return made + 1;
    }
  }

  #context(reader: Reader): TransactionContext {
    const { clock = DEFAULT_CLOCK, isClockAccepted = false, onTransaction } = this.#options;
    const nowMs = this.platform.now();
    const isTraced = onTransaction !== undefined;
    const isAnonymous = this.#options.isWriterLogged?.() === false;
    const site = this.#options.siteOf?.(reader, this.identity) ?? this.identity.site;
    const awakeMs = this.rest?.awakeMs;
    return { site, nowMs, clock, isClockAccepted, awakeMs, isTraced, isAnonymous };
  }

  #goOnBuilding(head: Head): void {
    if (this.#isFollowing || this.#options.isBuildHeld === true) return;
    if (isUnfinished(head)) this.#builder.wake();
  }

  #flushed(flush: Flush): void {
    announce(this.#flushListeners, flush);
    if (!flush.isFailed) announce(this.#commitListeners, this.#known.progress.txnId);
  }
}

/** In microtasks: an exception in a listener affects neither the store nor other listeners. */
function announce<T>(listeners: ReadonlySet<(event: T) => void>, event: T): void {
  for (const listener of listeners) void Promise.resolve(event).then(listener);
}

function elsewhere(): PeerError {
  const message = "another node of the cluster evaluates the writes of this app";
  return new PeerError("cluster.elsewhere", message);
}

function isUnfinished({ unfinished = 0 }: Head): boolean {
  return unfinished > 0;
}

function headOf(storage: KeyValue): Head {
  const snapshot = storage.snapshot();
  try {
    return readHead(snapshot.get(HEAD_KEY));
  } finally {
    snapshot.close();
  }
}
