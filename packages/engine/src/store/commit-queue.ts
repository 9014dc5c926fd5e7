/**
 * Commit queue: the one writer of a store, with group commit.
 *
 * Requests are evaluated as they come, each over the results of those before it. While one group is
 * being flushed, the next forms on top of it; when the flush ends, the next is flushed as one storage
 * commit with one sync. A request is answered only after everything that it saw is durable: its own
 * writes, and those of others that it read. If a flush fails, the requests of that group fail, and
 * those that were evaluated over it are evaluated again without it (K22 to K24). With many requests
 * under way the two groups are halves of them: one is evaluated while the other is flushed.
 *
 *   requests → [ next group ] → [ group being flushed ] → durable
 */

import { assert, PeerError, type Value } from "@bigpeer/protocol";
import { GROUP_BYTES_MAX, QUEUE_LENGTH_MAX } from "../limits.ts";
import type { Key, KeyEntry, KeyRange, KeyValue, Reader, Snapshot } from "../platform.ts";
import { HEAD_KEY } from "./keys.ts";
import { Overlay } from "./overlay.ts";
import { type Head, readHead } from "./records.ts";
import { Transaction, type TransactionContext } from "./transaction.ts";

export interface Committed<T> {
  /** The transaction; for one that changed nothing, the last that it saw. */
  readonly txnId: number;
  readonly result: T;
}

/** Evaluates a request. Synchronous, and may run more than once. */
export type Evaluate<T> = (transaction: Transaction) => T;

/** What one flush did, for those who count. */
export interface Flush {
  /** Requests that it answered, those that changed nothing included. */
  readonly requests: number;
  readonly transactions: number;
  /** Approximate bytes of its transactions in the log. */
  readonly bytes: number;
  /** How long the storage took. */
  readonly elapsedMs: number;
  readonly isFailed: boolean;
}

/** What the queue needs of its store. */
export interface QueueHost {
  /** For a transaction that is evaluated over this state. */
  context(reader: Reader): TransactionContext;
  /** Told of each transaction that was evaluated and is not closed yet, as often as it is. */
  onEvaluated?(transaction: Transaction): void;
  /** Milliseconds on a clock that never goes back. */
  elapsed(): number;
  /** Lets everything else that waits have its turn. */
  pause(): Promise<void>;
  /** Told of the head with the last durable transaction, before any request hears of it. */
  onDurable(head: Head): void;
  /** Told of each flush that wrote something, after its requests were answered. */
  onFlush(flush: Flush): void;
}

interface Request {
  readonly evaluate: Evaluate<unknown>;
  readonly requestId: string | undefined;
  readonly resolve: (committed: Committed<unknown>) => void;
  readonly reject: (error: unknown) => void;
  outcome: Outcome;
}

type Outcome =
  | { readonly kind: "waiting" }
  | { readonly kind: "done"; readonly txnId: number; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

const WAITING: Outcome = { kind: "waiting" };

interface Group {
  readonly overlay: Overlay;
  readonly requests: Request[];
  transactions: number;
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

/** When the flush of a group begins that is still growing. */
interface Target {
  /** With so many requests. */
  readonly count: number;
  /** When they come earlier than this, a few more will not take long. */
  readonly notBeforeMs: number;
}

/** Parts of the time that the last flush took. */
const EARLY = 1 / 4;
const QUIET = 1 / 8;

/** A group of at least this part of the one before it does not wait for more. */
const ENOUGH = 1 / 4;

/** A storage that takes its time is no reason to keep others waiting as well. */
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
  readonly #storage: KeyValue;
  readonly #host: QueueHost;
  readonly #base: BaseReader;
  #next: Group;
  #flushing: Flushing | undefined;
  /** While the next group grows. */
  #target: Target | undefined;
  #loop: Promise<void> | undefined;
  /** Requests that found the next group full, in their order. */
  #overflow: Request[] = [];
  /** The highest id given out in this life, also by groups that failed. */
  #issued = 0;
  #isClosed = false;

  constructor(storage: KeyValue, host: QueueHost) {
    this.#storage = storage;
    this.#host = host;
    this.#base = new BaseReader(storage);
    this.#next = newGroup(this.#base);
  }

  /** Requests that are not answered yet. */
  get length(): number {
    const flushing = this.#flushing?.group.requests.length ?? 0;
    return flushing + this.#next.requests.length + this.#overflow.length;
  }

  submit<T>(evaluate: Evaluate<T>, requestId?: string): Promise<Committed<T>> {
    if (this.#isClosed) return Promise.reject(new PeerError("store.closed", "the store is closed"));
    if (this.#next.requests.length + this.#overflow.length >= QUEUE_LENGTH_MAX) {
      const message = `${QUEUE_LENGTH_MAX} requests are waiting to be written`;
      return Promise.reject(new PeerError("store.busy", message));
    }
    return new Promise((resolve, reject) => {
      const request: Request = {
        evaluate,
        requestId,
        resolve: resolve as (committed: Committed<unknown>) => void,
        reject,
        outcome: WAITING,
      };
      this.#admit(request);
      if (this.#isTargetReached()) this.#begin();
      // Requests of the same turn gather before the first flush starts.
      this.#loop ??= Promise.resolve().then(() => this.#run());
    });
  }

  /** Waits for all that was accepted; refuses the rest. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loop;
  }

  #admit(request: Request): void {
    if (this.#next.bytes > GROUP_BYTES_MAX || this.#overflow.length > 0) {
      this.#overflow.push(request);
    } else {
      this.#evaluate(request);
    }
  }

  #isTargetReached(): boolean {
    if (this.#target === undefined || this.#next.requests.length < this.#target.count) return false;
    return this.#next.lastMs >= this.#target.notBeforeMs;
  }

  /** Never throws: whatever goes wrong is the outcome of this one request. */
  #evaluate(request: Request): void {
    const group = this.#next;
    group.requests.push(request);
    group.lastMs = this.#host.elapsed();
    try {
      this.#base.begin();
      request.outcome = this.#outcomeOf(request, group);
    } catch (error) {
      request.outcome = { kind: "failed", error };
    } finally {
      this.#base.end();
    }
  }

  #outcomeOf(request: Request, group: Group): Outcome {
    const seen = readHead(group.overlay.get(HEAD_KEY)).txnId;
    const txnId = Math.max(seen, this.#issued) + 1;
    const context = this.#host.context(group.overlay);
    const transaction = new Transaction(group.overlay, txnId, context, request.requestId);
    const result = request.evaluate(transaction);
    assert(!(result instanceof Promise), "a request that is evaluated synchronously");
    this.#host.onEvaluated?.(transaction);
    const finished = transaction.finish();
    if (finished === undefined) return { kind: "done", txnId: seen, result };
    group.overlay.absorb(finished.overlay);
    group.transactions++;
    group.bytes += finished.record.size;
    this.#issued = txnId;
    return { kind: "done", txnId, result };
  }

  async #run(): Promise<void> {
    while (this.#flushing !== undefined || this.#next.requests.length > 0) {
      const flushing = this.#flushing ?? this.#begin();
      const error = await flushing.ended;
      const { group, startMs } = flushing;
      const flushed = { group, error, startMs, elapsedMs: this.#host.elapsed() - startMs };
      this.#flushing = undefined;
      if (error === undefined) this.#flushed(group);
      else this.#failed();
      this.#drainOverflow();
      // The storage need not wait until the answers are sent.
      if (this.#isNextDue(flushed)) this.#begin();
      this.#tell(flushed);
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
    this.#flushing = { group, startMs, ended: this.#flush(group) };
    return this.#flushing;
  }

  /**
   * Whether some of the requests are being evaluated while others are flushed, and both take about as
   * long: then neither should wait. When all came early in the flush it is the storage that takes the
   * time, and a group that waits for those who are answered now is the better one.
   */
  #isNextDue({ group, error, startMs, elapsedMs }: Flushed): boolean {
    const { requests, lastMs } = this.#next;
    if (error !== undefined || requests.length < group.requests.length * ENOUGH) return false;
    return lastMs - startMs > elapsedMs * EARLY;
  }

  /**
   * Lets the next group grow up to half of the requests that are under way, with those who have just
   * been answered, as long as they keep coming: a commit costs about the same for few as for many.
   * Where requests take their time its flush begins when the half is there, and not when nobody is left
   * to be evaluated meanwhile.
   */
  async #gather({ group, elapsedMs }: Flushed): Promise<void> {
    const fromMs = this.#host.elapsed();
    const count = (this.#next.requests.length + group.requests.length) / 2;
    this.#target = { count, notBeforeMs: fromMs + elapsedMs * EARLY };
    // What came while answers were sent joins in any case.
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

  async #flush(group: Group): Promise<unknown> {
    if (group.overlay.isEmpty) return undefined;
    try {
      await this.#storage.commit(group.overlay.writes);
      return undefined;
    } catch (error) {
      return error ?? new PeerError("store.write_failed", "the storage refused the write");
    }
  }

  #flushed(group: Group): void {
    this.#base.committed(group.overlay);
    this.#next.overlay.rebase(this.#base);
    if (!group.overlay.isEmpty) {
      this.#host.onDurable(readHead(group.overlay.get(HEAD_KEY)));
    }
  }

  /** Answers the requests of a group, be it with the error of its flush. */
  #tell({ group, error, elapsedMs }: Flushed): void {
    const { overlay, requests, transactions, bytes } = group;
    const isFailed = error !== undefined;
    for (const request of requests) {
      if (isFailed) request.reject(error);
      else settle(request);
    }
    if (overlay.isEmpty) return;
    this.#host.onFlush({ requests: requests.length, transactions, bytes, elapsedMs, isFailed });
  }

  #failed(): void {
    this.#base.forget();
    const again = this.#next.requests;
    this.#next = newGroup(this.#base);
    for (const request of again) this.#evaluate(request);
  }

  #drainOverflow(): void {
    while (this.#overflow.length > 0 && this.#next.bytes <= GROUP_BYTES_MAX) {
      const request = this.#overflow.shift();
      if (request !== undefined) this.#evaluate(request);
    }
  }
}

function newGroup(parent: Reader): Group {
  return { overlay: new Overlay(parent), requests: [], transactions: 0, bytes: 0, lastMs: 0 };
}

function settle(request: Request): void {
  const { outcome } = request;
  if (outcome.kind === "done") request.resolve({ txnId: outcome.txnId, result: outcome.result });
  else if (outcome.kind === "failed") request.reject(outcome.error);
}

/**
 * The durable state under the groups: a fresh snapshot for each evaluation, so that none is held
 * open, and a memory of the few records that every write reads.
 */
class BaseReader implements Reader {
  readonly #storage: KeyValue;
  readonly #hot = new Map<Key, Value | undefined>();
  #snapshot: Snapshot | undefined;

  constructor(storage: KeyValue) {
    this.#storage = storage;
  }

  begin(): void {
    this.#snapshot = this.#storage.snapshot();
  }

  end(): void {
    this.#snapshot?.close();
    this.#snapshot = undefined;
  }

  /** A group is durable: what is remembered follows it. */
  committed({ writes }: Overlay): void {
    if (this.#hot.size < writes.size) {
      for (const key of this.#hot.keys()) if (writes.has(key)) this.#hot.set(key, writes.get(key));
    } else {
      for (const [key, value] of writes) if (this.#hot.has(key)) this.#hot.set(key, value);
    }
  }

  /** A flush failed: whatever it left, the storage knows better. */
  forget(): void {
    this.#hot.clear();
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    if (!isHot(key)) return this.#reader.get(key, fields);
    const known = this.#hot.get(key);
    if (known !== undefined || this.#hot.has(key)) return known;
    const value = this.#reader.get(key);
    // Names that are asked for have no bound; what is kept of known collections has.
    if (value !== undefined || !key.startsWith("k")) this.#hot.set(key, value);
    return value;
  }

  has(key: Key): boolean {
    return this.#reader.has(key);
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry> {
    return this.#reader.entries(range, fields);
  }

  keys(range: KeyRange): Iterable<Key> {
    return this.#reader.keys(range);
  }

  get #reader(): Snapshot {
    if (this.#snapshot === undefined) {
      throw new PeerError("store.closed", "the transaction has ended");
    }
    return this.#snapshot;
  }
}

/** Head, collection numbers, counts and lists of indexes: few, small, and read by every write. */
function isHot(key: Key): boolean {
  const kind = key.charAt(0);
  return kind === "h" || kind === "k" || kind === "n" || kind === "i";
}
