/**
 * Commit queue: the single writer of a store, with group commit.
 *
 * The queue evaluates requests in order, each over the results of those before it. While one group
 * is being flushed, the next forms on top of it; when the flush ends, the next is flushed as one
 * storage commit with one sync. A request is answered only after everything that it saw is durable:
 * its own writes, and those of others that it read. Relaxed requests are the exception: a group that
 * holds nothing else is committed without a sync, and a crash may lose it (K6, K94). If a flush
 * fails, the requests of that group fail, and the requests that were evaluated over it are evaluated
 * again without it (K22 to K24). Under load each group is half of the requests: one is evaluated
 * while the other is flushed.
 *
 *   requests → [ next group ] → [ group being flushed ] → durable
 *
 * A request that is not done in its first slice holds the queue: it continues one slice at a time,
 * on the state that it started on, while later requests wait. Earlier groups are flushed and
 * answered meanwhile; the request ends in a group of its own. So reads and other stores never wait
 * for it (K34).
 */

import { assert, PeerError } from "@bigpeer/protocol";
import { GROUP_BYTES_MAX, QUEUE_LENGTH_MAX, SLICE_MS } from "../limits.ts";
import type { Durability, KeyValue, Reader } from "../platform.ts";
import type { Steps } from "../steps.ts";
import { BaseReader } from "./base-reader.ts";
import { CommitMemory, type CommitShare } from "./commit-memory.ts";
import { HEAD_KEY } from "./keys.ts";
import { Overlay } from "./overlay.ts";
import {
  type Committed,
  type Evaluate,
  type EvaluateInSteps,
  type Outcome,
  type Request,
  type RequestOptions,
  settle,
  WAITING,
} from "./queued-request.ts";
import { type Head, readHead } from "./records.ts";
import { type FinishedTransaction, Transaction, type TransactionContext } from "./transaction.ts";
import { type CommittedTransaction, type TransactionLog, writesLog } from "./transaction-log.ts";

/** Statistics of one flush. */
export interface Flush {
  /** Requests that it answered, those that changed nothing included. */
  readonly requests: number;
  readonly transactions: number;
  /** Approximate bytes of its transactions in the log. */
  readonly bytes: number;
  /** Duration of the storage commit. */
  readonly elapsedMs: number;
  readonly isFailed: boolean;
}

/** Callbacks and resources that the store gives to its queue. */
export interface QueueHost {
  /** The context of a transaction that is evaluated over this state. */
  context(reader: Reader): TransactionContext;
  /** Called after each evaluation of a transaction, before it is closed. */
  onEvaluated?(transaction: Transaction): void;
  /** Where groups become durable; left out, the storage alone. */
  readonly log?: TransactionLog | undefined;
  /** Budget that the transactions of all stores share; left out, this store has one of its own. */
  readonly memory?: CommitMemory | undefined;
  /** Milliseconds on a monotonic clock. */
  elapsed(): number;
  /** Lets all other waiting work run. */
  pause(): Promise<void>;
  /** Called with the head of the last durable transaction, before any request is answered. */
  onDurable(head: Head): void;
  /** Called after each flush that wrote something, when its requests are answered. */
  onFlush(flush: Flush): void;
}

const NOT_DONE: IteratorYieldResult<void> = { done: false, value: undefined };

/** Weight of a byte in the log record of a single document: the document holds it too. */
const LOGGED_WEIGHT = 3;

/** Result of the evaluation of a request. */
interface Evaluated {
  readonly txnId: number;
  readonly result: unknown;
  /** Undefined when it changed nothing. */
  readonly finished: FinishedTransaction | undefined;
}

/** The request that holds the queue. */
interface Held {
  readonly request: Request;
  readonly steps: Steps<Evaluated>;
  readonly share: CommitShare;
  /** Set while it waits for memory. */
  waiting: Promise<void> | undefined;
  /** Set when it is done and waits until the next group is empty. */
  evaluated: Evaluated | undefined;
}

interface Group {
  readonly overlay: Overlay;
  readonly requests: Request[];
  /** The counted memory of its transactions. */
  readonly shares: CommitShare[];
  readonly transactions: CommittedTransaction[];
  /** Strict as soon as one of its transactions is. */
  durability: Durability;
  bytes: number;
  /** When the last request came. */
  lastMs: number;
}

interface Flushing {
  readonly group: Group;
  readonly startMs: number;
  /** Resolves with the error, or with undefined when the group is durable. */
  readonly ended: Promise<unknown>;
}

/** When to flush a group that still grows. */
interface Target {
  /** Number of requests to wait for. */
  readonly count: number;
  /** If they are there before this time, the group waits for more. */
  readonly notBeforeMs: number;
}

/** Fractions of the duration of the last flush. */
const EARLY = 1 / 4;
const QUIET = 1 / 8;

/** A group of at least this fraction of the previous one does not wait for more. */
const ENOUGH = 1 / 4;

/** Bound of the wait: a slow storage must not delay requests further. */
const GATHER_MS_MAX = 10;

/** A group whose flush is over. */
interface Flushed {
  readonly group: Group;
  /** Undefined when it is durable. */
  readonly error: unknown;
  readonly startMs: number;
  readonly elapsedMs: number;
}

export class CommitQueue {
  readonly #log: TransactionLog;
  readonly #host: QueueHost;
  readonly #base: BaseReader;
  readonly #memory: CommitMemory;
  readonly #groupBytesMax: number;
  #next: Group;
  #flushing: Flushing | undefined;
  #held: Held | undefined;
  /** The transaction that is being evaluated. */
  #transaction: Transaction | undefined;
  /** Groups that became durable while a request held the queue; it still reads over them. */
  #durable: Group[] = [];
  /** Set while the next group grows. */
  #target: Target | undefined;
  #loop: Promise<void> | undefined;
  /** Requests that are not evaluated yet, in order. */
  #overflow: Request[] = [];
  #isCatchingUp = false;
  /** Duration of the first slices since the last pause. */
  #firstMs = 0;
  /** Called when some of them were evaluated. */
  #onProgress: (() => void) | undefined;
  /** By collection number, the last transaction since the opening that forgot documents. */
  readonly #forgotten = new Map<number, number>();
  /** The last transaction of which it does not know what was forgotten. */
  #unknownUpTo = 0;
  /** The highest id issued since the opening, failed groups included. */
  #issued = 0;
  #isClosed = false;

  constructor(storage: KeyValue, host: QueueHost) {
    this.#log = host.log ?? writesLog(storage);
    this.#host = host;
    this.#groupBytesMax = this.#log.groupBytesMax ?? GROUP_BYTES_MAX;
    this.#memory = host.memory ?? new CommitMemory();
    this.#base = new BaseReader(storage);
    this.#next = newGroup(this.#base);
  }

  /** Number of unanswered requests. */
  get length(): number {
    const flushing = this.#flushing?.group.requests.length ?? 0;
    const held = this.#held === undefined ? 0 : 1;
    return flushing + this.#next.requests.length + held + this.#overflow.length;
  }

  submit<T>(evaluate: Evaluate<T>, options: RequestOptions = {}): Promise<Committed<T>> {
    return this.#submit(evaluate, false, options);
  }

  submitInSteps<T>(
    evaluate: EvaluateInSteps<T>,
    options: RequestOptions = {},
  ): Promise<Committed<T>> {
    return this.#submit(evaluate, true, options);
  }

  /** Resolves when no request is under way. */
  async whenIdle(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop;
  }

  /** Goes on after others have written to the storage. No request waits. */
  refresh(txnId: number): void {
    assert(this.length === 0, "a queue without requests");
    this.#base.forget();
    this.#forgotten.clear();
    this.#unknownUpTo = txnId;
  }

  /** Refuses new requests and waits for all accepted ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loop;
  }

  #submit<T>(
    evaluate: Evaluate<unknown>,
    isInSteps: boolean,
    options: RequestOptions,
  ): Promise<Committed<T>> {
    if (this.#isClosed) return Promise.reject(new PeerError("store.closed", "the store is closed"));
    if (this.#next.requests.length + this.#overflow.length >= QUEUE_LENGTH_MAX) {
      const message = `${QUEUE_LENGTH_MAX} requests are waiting to be written`;
      return Promise.reject(new PeerError("store.busy", message));
    }
    if (this.#log.isStalled === true) return Promise.reject(stalled());
    return new Promise((resolve, reject) => {
      const request: Request = {
        evaluate,
        isInSteps,
        options,
        resolve: resolve as (committed: Committed<unknown>) => void,
        reject,
        outcome: WAITING,
      };
      this.#admit(request);
      if (this.#isTargetReached()) this.#begin();
      // Requests of the same tick of the event loop gather before the first flush starts.
      this.#loop ??= Promise.resolve().then(() => this.#run());
    });
  }

  #admit(request: Request): void {
    const isFree = this.#held === undefined && this.#overflow.length === 0;
    const hasTime = this.#firstMs < SLICE_MS;
    if (isFree && hasTime && this.#next.bytes <= this.#groupBytesMax) {
      this.#evaluate(request);
      return;
    }
    this.#overflow.push(request);
    this.#catchUp();
  }

  #isTargetReached(): boolean {
    if (this.#target === undefined || this.#next.requests.length < this.#target.count) return false;
    return this.#next.lastMs >= this.#target.notBeforeMs;
  }

  /** Never throws: an error becomes the outcome of this one request. */
  #evaluate(request: Request, endMs?: number): void {
    this.#next.lastMs = this.#host.elapsed();
    const share = this.#memory.share();
    try {
      this.#base.begin();
      const steps = this.#work(request, this.#next.overlay);
      const held = { request, steps, share, waiting: undefined, evaluated: undefined };
      const { done, value } = this.#slice(held, endMs);
      if (done === true) this.#accept(request, value, share);
      else this.#held = held;
    } catch (error) {
      share.give();
      this.#join(request, { kind: "failed", error });
    } finally {
      if (this.#held === undefined) this.#end();
    }
    if (this.#held !== undefined) this.#hold();
  }

  /** Ends the evaluation and closes its snapshot. */
  #end(): void {
    this.#transaction = undefined;
    this.#base.end();
  }

  *#work({ evaluate, isInSteps, options }: Request, overlay: Overlay): Steps<Evaluated> {
    const seen = readHead(overlay.get(HEAD_KEY)).txnId;
    const txnId = Math.max(seen, this.#issued) + 1;
    const context = this.#host.context(overlay);
    const { requestId, by } = options;
    const queued = { requestId, by, forgotten: this.#forgotten, unknownUpTo: this.#unknownUpTo };
    const transaction = new Transaction(overlay, txnId, context, queued);
    this.#transaction = transaction;
    const begun = evaluate(transaction);
    const result = isInSteps ? yield* begun as Steps<unknown> : begun;
    assert(!(result instanceof Promise), "a request that is evaluated synchronously");
    this.#host.onEvaluated?.(transaction);
    const finished = yield* transaction.finish();
    return { txnId: finished === undefined ? seen : txnId, result, finished };
  }

  /** Runs steps until the request is done, its slice is over, or it must wait for memory. */
  #slice(held: Held, untilMs?: number): IteratorResult<void, Evaluated> {
    let result = this.#step(held);
    // Most requests are done with one step, and reading the clock costs as much as some of them.
    if (result.done === true) return result;
    let nowMs = this.#host.elapsed();
    const startMs = this.#next.lastMs;
    const endMs = untilMs ?? startMs + SLICE_MS;
    while (result.done !== true && nowMs < endMs && held.waiting === undefined) {
      result = this.#step(held);
      nowMs = this.#host.elapsed();
    }
    if (untilMs === undefined) this.#countFirst(nowMs - startMs);
    return result;
  }

  #step(held: Held): IteratorResult<void, Evaluated> {
    const { steps, share } = held;
    const bytes = this.#transaction?.bytes ?? 0;
    held.waiting = undefined;
    try {
      if (!share.tryTake(bytes)) {
        held.waiting = this.#memory.whenFreed();
        return NOT_DONE;
      }
    } catch (error) {
      // The evaluator decides how it refuses a transaction that is too large.
      return steps.throw(error);
    }
    return steps.next();
  }

  /** First slices between two pauses share one slice; requests of a single step are free. */
  #countFirst(ms: number): void {
    const isCounting = this.#firstMs > 0;
    this.#firstMs += ms;
    if (isCounting || ms === 0) return;
    const forget = (): void => {
      this.#firstMs = 0;
    };
    this.#host.pause().then(forget, forget);
  }

  #accept(request: Request, { txnId, result, finished }: Evaluated, share: CommitShare): void {
    if (finished === undefined) share.give();
    else {
      share.take(LOGGED_WEIGHT * finished.record.size);
      if (share.bytes > 0) this.#next.shares.push(share);
      this.#next.overlay.absorb(finished.overlay);
      this.#next.transactions.push({ txnId, record: finished.record });
      this.#next.bytes += finished.record.size;
      if (request.options.durability !== "relaxed") this.#next.durability = "strict";
      this.#issued = txnId;
      for (const number of finished.forgotten ?? []) this.#forgotten.set(number, txnId);
    }
    this.#join(request, { kind: "done", txnId, result });
  }

  #join(request: Request, outcome: Outcome): void {
    request.outcome = outcome;
    this.#next.requests.push(request);
  }

  /** Called when a request starts to hold the queue: requests before it need not wait for it. */
  #hold(): void {
    if (this.#flushing === undefined && this.#next.requests.length > 0) this.#begin();
    this.#catchUp();
  }

  /** Whether a request can be evaluated now. */
  get #isBehind(): boolean {
    if (this.#held !== undefined) return this.#held.evaluated === undefined;
    return this.#overflow.length > 0 && this.#next.bytes <= this.#groupBytesMax;
  }

  #catchUp(): void {
    if (this.#isCatchingUp || !this.#isBehind) return;
    this.#isCatchingUp = true;
    void this.#goOn();
  }

  /** Never rejects. */
  async #goOn(): Promise<void> {
    while (this.#isBehind) {
      await (this.#held?.waiting ?? this.#host.pause());
      this.#evaluateSome();
      this.#onProgress?.();
    }
    this.#isCatchingUp = false;
  }

  /** Evaluates waiting requests for one slice of time. */
  #evaluateSome(): void {
    const endMs = this.#host.elapsed() + SLICE_MS;
    do {
      if (this.#held !== undefined) {
        this.#goOnWith(this.#held, endMs);
      } else {
        const request = this.#overflow.shift();
        if (request !== undefined) this.#evaluate(request, endMs);
      }
      if (this.#held?.waiting !== undefined) return;
    } while (this.#isBehind && this.#host.elapsed() < endMs);
  }

  #goOnWith(held: Held, endMs: number): void {
    try {
      const { done, value } = this.#slice(held, endMs);
      if (done !== true) return;
      held.evaluated = value;
    } catch (error) {
      held.share.give();
      this.#release();
      this.#join(held.request, { kind: "failed", error });
      return;
    }
    const isGroupFree = this.#next.requests.length === 0;
    if (isGroupFree || held.evaluated.finished === undefined) this.#settleHeld();
    else if (this.#flushing === undefined) this.#begin();
  }

  /** Its writes may be many: they become a group as they are, instead of being copied into one. */
  #settleHeld(): void {
    const held = this.#held;
    if (held?.evaluated === undefined) return;
    this.#release();
    this.#accept(held.request, held.evaluated, held.share);
  }

  /** Ends the hold on the queue and drops what was kept for the request that held it. */
  #release(): void {
    this.#held = undefined;
    this.#end();
    if (this.#durable.length === 0) return;
    for (const { overlay } of this.#durable.splice(0)) this.#base.committed(overlay);
    (this.#flushing?.group ?? this.#next).overlay.rebase(this.#base);
  }

  async #run(): Promise<void> {
    while (this.length > 0) {
      if (this.#flushing === undefined && this.#next.requests.length === 0) {
        await new Promise<void>((resolve) => {
          this.#onProgress = resolve;
        });
        continue;
      }
      const flushing = this.#flushing ?? this.#begin();
      const error = await flushing.ended;
      const { group, startMs } = flushing;
      const flushed = { group, error, startMs, elapsedMs: this.#host.elapsed() - startMs };
      this.#flushing = undefined;
      if (error === undefined) this.#flushed(group);
      else this.#failed();
      // The storage need not wait until the answers are sent.
      if (this.#isNextDue(flushed)) this.#begin();
      this.#settle(flushed);
      if (this.#flushing === undefined && this.#next.requests.length > 0) {
        await this.#gather(flushed);
      }
    }
    this.#loop = undefined;
  }

  #begin(): Flushing {
    const group = this.#next;
    this.#next = newGroup(group.overlay);
    this.#target = undefined;
    const startMs = this.#host.elapsed();
    const flushing = { group, startMs, ended: this.#flush(group) };
    this.#flushing = flushing;
    this.#settleHeld();
    this.#catchUp();
    return flushing;
  }

  /**
   * Whether to flush the next group at once: evaluation and flush overlap and take about as long,
   * so neither should wait. If all requests came early in the flush, the storage is the slow part;
   * then a group that also waits for the requests of the just answered clients is better. While the
   * queue is held no request can join.
   */
  #isNextDue({ group, error, startMs, elapsedMs }: Flushed): boolean {
    const { requests, lastMs } = this.#next;
    if (this.#held !== undefined) return requests.length > 0;
    if (error !== undefined || requests.length < group.requests.length * ENOUGH) return false;
    return lastMs - startMs > elapsedMs * EARLY;
  }

  /**
   * Lets the next group grow up to half of the requests under way, together with new requests of
   * the clients just answered, as long as they keep coming: a commit costs about the same for few
   * as for many. If evaluation is slow, the flush begins when the half is there, so that the rest
   * is evaluated during it.
   */
  async #gather({ group, elapsedMs }: Flushed): Promise<void> {
    const fromMs = this.#host.elapsed();
    const count = (this.#next.requests.length + group.requests.length) / 2;
    this.#target = { count, notBeforeMs: fromMs + elapsedMs * EARLY };
    // Requests that came while answers were sent join in any case.
    await this.#host.pause();
    const sentMs = this.#host.elapsed();
    const spanMs = Math.min(elapsedMs, GATHER_MS_MAX);
    while (this.#flushing === undefined && this.#next.requests.length < count) {
      const nowMs = this.#host.elapsed();
      const quietMs = nowMs - Math.max(sentMs, this.#next.lastMs);
      if (nowMs - sentMs >= spanMs || quietMs >= spanMs * QUIET) break;
      await this.#host.pause();
    }
    this.#target = undefined;
  }

  async #flush({ overlay, transactions, durability }: Group): Promise<unknown> {
    try {
      if (overlay.isEmpty) await this.#log.confirm?.();
      else await this.#log.append({ transactions, writes: overlay.writes, durability });
      return undefined;
    } catch (error) {
      return error ?? new PeerError("store.write_failed", "the storage refused the write");
    }
  }

  #flushed(group: Group): void {
    if (this.#held === undefined) {
      this.#base.committed(group.overlay);
      this.#next.overlay.rebase(this.#base);
    } else {
      this.#durable.push(group);
    }
    if (!group.overlay.isEmpty) {
      this.#host.onDurable(readHead(group.overlay.get(HEAD_KEY)));
    }
  }

  /** Settles the requests of a group, if need be with the error of its flush. */
  #settle({ group, error, elapsedMs }: Flushed): void {
    const { overlay, requests, bytes } = group;
    const transactions = group.transactions.length;
    for (const share of group.shares) share.give();
    const isFailed = error !== undefined;
    for (const request of requests) {
      if (isFailed) request.reject(error);
      else settle(request);
    }
    if (overlay.isEmpty) return;
    this.#host.onFlush({ requests: requests.length, transactions, bytes, elapsedMs, isFailed });
  }

  /** Evaluates all requests again, in order, that were evaluated over the failed group. */
  #failed(): void {
    const again = this.#next.requests;
    for (const share of this.#next.shares) share.give();
    if (this.#held !== undefined) {
      again.push(this.#held.request);
      abandon(this.#held.steps);
      this.#held.share.give();
      this.#durable = [];
      this.#release();
    }
    this.#base.forget();
    this.#next = newGroup(this.#base);
    this.#overflow = [...again, ...this.#overflow];
    this.#catchUp();
  }
}

/** Ends steps half-way, so that they close their open resources. */
function abandon(steps: Steps<unknown>): void {
  try {
    steps.return(undefined);
  } catch {
    // The request is evaluated again, and any fault is found then.
  }
}

function stalled(): PeerError {
  return new PeerError("store.busy", "the log of the cluster does not answer; retry");
}

function newGroup(parent: Reader): Group {
  const overlay = new Overlay(parent);
  const durability = "relaxed";
  return { overlay, requests: [], shares: [], transactions: [], durability, bytes: 0, lastMs: 0 };
}
