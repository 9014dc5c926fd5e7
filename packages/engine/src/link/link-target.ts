/**
 * Link target: merges documents of a link into the store, with cursors (S51 to S54, S85 to S88).
 *
 * Inbound batches wait in one queue, in order. Pieces of a fill are merged in transactions of about
 * a thousand documents, several at a time. A cursor is written only when everything before it is
 * durable. Live changes are merged as they were committed, several transactions together while the
 * storage is busy.
 */

import {
  type Behind,
  type Complete,
  type Documents,
  type IdRange,
  type MergeOperation,
  msOfTime,
  PeerError,
  type SyncCursor,
  type Value,
} from "@bigpeer/protocol";
import { DRIFT_MS_MAX } from "../limits.ts";
import type { Platform } from "../platform.ts";
import type { Store } from "../store/store.ts";
import { filterKeyOf } from "../sync/stream/filter.ts";
import { FollowedQuery } from "./followed-query.ts";
import {
  type Arrival,
  type BatchResult,
  type InboundBatch,
  mergeBatch,
  mergeOf,
  newestArrival,
  type Reached,
} from "./link-batch.ts";
import { LinkOrder } from "./link-order.ts";
import { type LinkQuery, queryKey } from "./link-query.ts";
import { LinkSweep } from "./link-sweep.ts";
import { ReceiveQueue, withoutQueries } from "./receive-queue.ts";

export interface LinkTargetOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  /** History of the source. */
  readonly source: string;
  readonly limits?: Partial<LinkTargetLimits>;
  readonly onEvent: (event: TargetEvent) => void;
}

export interface LinkTargetLimits {
  /** Approximate size of one transaction. */
  readonly batchDocuments: number;
  readonly batchBytes: number;
  /** Transactions under way. */
  readonly batches: number;
  /** Bytes that may wait: above it the link stops reading, below half of it the link resumes. */
  readonly waitingBytes: number;
  /** Documents of a fill after which its cursor is written even if nothing changed (S88). */
  readonly cursorDocuments: number;
  /** Bytes of one transaction of the source: a source never sends more. */
  readonly openBytes: number;
}

const MB = 1024 * 1024;

export const LINK_TARGET_LIMITS: LinkTargetLimits = {
  batchDocuments: 1000,
  batchBytes: MB,
  batches: 4,
  waitingBytes: 8 * MB,
  cursorDocuments: 20_000,
  openBytes: 64 * MB,
};

export type TargetEvent =
  /** These queries ended. They can continue at `untilMs`, milliseconds since 1970 (S86). */
  | { readonly kind: "held"; readonly ids: readonly number[]; readonly untilMs: number }
  /** Documents that are held here and whose current state is requested (S85). */
  | { readonly kind: "want"; readonly filter: Uint8Array; readonly ids: readonly Value[] }
  /** Documents were merged and are durable. */
  | { readonly kind: "merged"; readonly changed: readonly MergeOperation[] }
  /** The link may read again. */
  | { readonly kind: "room" }
  /** The store failed: nothing more is merged. */
  | { readonly kind: "failed"; readonly error: unknown };

export interface TargetStats {
  /** Documents that arrived, those that changed nothing, and those that were set aside. */
  readonly documents: number;
  readonly unchanged: number;
  readonly stale: number;
  /** Transactions made in this store. */
  readonly transactions: number;
}

/** Shortest wait for a document that is ahead of the clock. */
const HELD_MS_MIN = 5000;
/** Wait if the own clock is in doubt. */
const CLOCK_MS = 60_000;

export class LinkTarget {
  readonly #store: Store;
  readonly #platform: Platform;
  readonly #appId: string;
  readonly #source: string;
  readonly #limits: LinkTargetLimits;
  readonly #onEvent: (event: TargetEvent) => void;
  readonly #queries = new Map<number, FollowedQuery>();
  readonly #byFilter = new Map<string, FollowedQuery[]>();
  readonly #stats = { documents: 0, unchanged: 0, stale: 0, transactions: 0 };
  /** Documents of a transaction whose end has not arrived yet. */
  #open: Arrival[] = [];
  #openBytes = 0;
  readonly #line = new ReceiveQueue();
  readonly #turn: LinkOrder;
  #underWay = 0;
  #isFull = false;
  #isFailed = false;
  /** Called when nothing waits and nothing is under way. */
  #idle: (() => void)[] = [];

  constructor({ store, platform, appId, source, limits, onEvent }: LinkTargetOptions) {
    this.#store = store;
    this.#platform = platform;
    this.#appId = appId;
    this.#source = source;
    this.#limits = { ...LINK_TARGET_LIMITS, ...limits };
    this.#onEvent = onEvent;
    this.#turn = new LinkOrder(store, source);
  }

  /** In the order in which they were followed. */
  get queries(): Iterable<FollowedQuery> {
    return this.#queries.values();
  }

  query(id: number): FollowedQuery | undefined {
    return this.#queries.get(id);
  }

  get stats(): TargetStats {
    return { ...this.#stats };
  }

  /** Whether the link should stop reading for now. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** When the oldest waiting inbound batch arrived; undefined if everything is merged. */
  get waitingSinceMs(): number | undefined {
    return this.#line.oldestMs ?? (this.#underWay > 0 ? this.#platform.elapsed() : undefined);
  }

  /** Begins to follow a query. Returns the cursor to continue from. */
  follow(id: number, query: LinkQuery): SyncCursor | undefined {
    const key = queryKey(query, this.#platform);
    const followed = new FollowedQuery(id, query, this.#source, key);
    // A cursor is written with its documents: documents under way have none.
    if (!this.#turn.isFirst || this.#line.isBringing(followed.name)) followed.mayHold();
    this.#queries.set(id, followed);
    return this.#store.read((snapshot) => followed.startFrom(snapshot));
  }

  /** The source has answered: messages with this filter belong to the query from now on. */
  subscribed(id: number, filter: Uint8Array, isResumed: boolean): void {
    const query = this.#queries.get(id);
    if (query === undefined) return;
    this.#unname(query);
    const key = filterKeyOf(filter);
    query.filter = filter;
    query.state = "filling";
    if (!isResumed) query.startOver();
    this.#byFilter.set(key, [...(this.#byFilter.get(key) ?? []), query]);
  }

  /** Ends a query. Its documents and its cursor stay. */
  unfollow(id: number): void {
    const query = this.#queries.get(id);
    if (query === undefined) return;
    this.#end(query);
    // Its sweep may have been the one that was full.
    this.#makeRoom();
  }

  /** Throws a PeerError if a link does not send such documents. */
  documents(message: Documents, bytes: number): void {
    const queries = this.#byFilter.get(filterKeyOf(message.filter));
    const [first] = queries ?? [];
    if (queries !== undefined && first !== undefined) {
      const arrival = arrivalOf(queries, first, message, bytes);
      if (message.range !== undefined) this.#fill(queries, message.range, arrival, message.asOf);
      if (first.state === "live") this.#opened(arrival);
      else this.#push({ arrivals: [arrival], reached: NOTHING_REACHED });
    }
    if (message.committed !== undefined) this.committed(message.committed);
  }

  /** Handles a piece of a fill: the previous cursor is void, and unlisted documents are swept. */
  #fill(
    queries: readonly FollowedQuery[],
    range: IdRange,
    { ids }: Arrival,
    asOf: number | undefined,
  ): void {
    for (const query of queries) query.tookPiece(range);
    const swept = queries.filter(({ isSwept }) => isSwept);
    const { through: after } = range;
    const note = (each: readonly FollowedQuery[], behind: number): void => {
      if (after === undefined || asOf === undefined) return;
      for (const { fill } of each) fill.note({ after, txn: asOf }, behind);
    };
    // The next inbound batch is the piece itself.
    note(
      queries.filter((query) => !swept.includes(query)),
      this.#line.lastOrder + 1,
    );
    const [first] = swept;
    if (first === undefined) return;
    // Queries that share a stream share the sweep as well.
    const sweep = swept.find((query) => query.sweep)?.sweep ?? this.#newSweep(first);
    for (const query of swept) query.sweep = sweep;
    sweep.add(range, ids, () => note(swept, this.#line.lastOrder));
    if (sweep.isFull) this.#isFull = true;
  }

  #newSweep({ query, filter = new Uint8Array() }: FollowedQuery): LinkSweep {
    return new LinkSweep(query, {
      store: this.#store,
      platform: this.#platform,
      appId: this.#appId,
      want: (ids) => this.#onEvent({ kind: "want", filter, ids }),
      moved: () => this.#swept(),
      settled: () => this.#settled(),
      fail: (error) => this.#fail(error),
    });
  }

  /** Resolves when all that arrived is merged, over this link and those before it. */
  async #settled(): Promise<void> {
    await Promise.all([this.#line.settled(), this.#turn.first()]);
  }

  /** Queries that were incomplete may be complete now. */
  #swept(): void {
    const queries = [...this.#queries.values()].filter(({ isUnwritten }) => isUnwritten);
    const reached = queries.map((query): Reached => ({ query, txn: query.txn, isWhole: true }));
    if (reached.length > 0) this.#push({ arrivals: [], reached });
    this.#makeRoom();
  }

  #makeRoom(): void {
    if (!this.#isFull || this.#line.bytes > this.#limits.waitingBytes / 2) return;
    for (const { sweep } of this.#queries.values()) if (sweep?.isFull === true) return;
    this.#isFull = false;
    this.#onEvent({ kind: "room" });
  }

  /** A transaction of the source is complete. */
  committed(txn: number): void {
    const arrivals = this.#open;
    this.#open = [];
    this.#openBytes = 0;
    const reached = this.#reachedBy(txn);
    if (arrivals.length > 0) this.#push({ arrivals, reached });
    else this.#reached(reached);
  }

  /** All live queries are complete up to a transaction. */
  reached(txn: number): void {
    this.#reached(this.#reachedBy(txn));
  }

  complete({ filter, txn }: Complete): void {
    const queries = this.#byFilter.get(filterKeyOf(filter)) ?? [];
    for (const query of queries) query.complete();
    const reached = queries.map((query): Reached => ({ query, txn, isWhole: true }));
    if (reached.length > 0) this.#push({ arrivals: [], reached });
  }

  behind({ filters }: Behind): void {
    for (const filter of filters) {
      const queries = this.#byFilter.get(filterKeyOf(filter)) ?? [];
      for (const query of queries) query.state = "behind";
    }
  }

  /** Writes cursors that are due. Must be called regularly. */
  tick(): void {
    const nowMs = this.#platform.now();
    const reached: Reached[] = [];
    for (const query of this.#queries.values()) {
      if (query.state !== "live" || !query.isDue(query.txn, nowMs)) continue;
      reached.push({ query, txn: query.txn });
    }
    if (reached.length > 0) this.#push({ arrivals: [], reached });
  }

  /**
   * Takes nothing more and merges what has arrived. Writes the cursors of fills, and all cursors if
   * the end is orderly. Never rejects.
   */
  async close(isOrderly: boolean): Promise<void> {
    this.#open = [];
    await this.#whenIdle();
    // Queries that are held have ended before (S86).
    const queries = [...this.#queries.values()];
    if (!this.#isFailed) await this.#writeCursors(queries, isOrderly);
    for (const query of queries) this.#end(query);
    this.#turn.end();
  }

  #now(): number {
    return this.#platform.elapsed();
  }

  #opened(arrival: Arrival): void {
    this.#openBytes += arrival.bytes;
    if (this.#openBytes > this.#limits.openBytes) {
      throw new PeerError("sync.malformed", "expected the end of a transaction");
    }
    this.#open.push(arrival);
  }

  #reachedBy(txn: number): Reached[] {
    const reached: Reached[] = [];
    for (const query of this.#queries.values()) {
      if (query.state === "live") reached.push({ query, txn });
    }
    return reached;
  }

  /** Nothing changed: notes the positions, and writes the cursors that are due. */
  #reached(reached: readonly Reached[]): void {
    const nowMs = this.#platform.now();
    const isRest = this.#line.isEmpty && this.#underWay === 0;
    const isDue = reached.some(({ query, txn }) => query.isDue(txn, nowMs));
    if (!isRest || isDue) {
      this.#push({ arrivals: [], reached });
    } else {
      for (const { query, txn } of reached) query.reach(txn);
    }
  }

  #push({ arrivals, reached }: Pick<InboundBatch, "arrivals" | "reached">): void {
    if (this.#isFailed) return;
    // Requested documents that have not arrived come after this.
    const judged = reached.map((each) =>
      each.query.isDoubtful ? { ...each, isDoubtful: true as const } : each,
    );
    this.#line.push(arrivals, judged, this.#now());
    if (this.#line.bytes > this.#limits.waitingBytes) this.#isFull = true;
    this.#pump();
    // Results of the sweep come after this.
    for (const { queries, ids } of arrivals) {
      for (const { sweep } of queries) sweep?.answered(ids);
    }
  }

  #pump(): void {
    while (!this.#isFailed && this.#underWay < this.#limits.batches) {
      const batch = this.#line.take(this.#limits, this.#underWay > 0);
      if (batch.length === 0) break;
      this.#underWay++;
      void this.#merge(batch);
    }
    if (this.#underWay > 0 || (!this.#line.isEmpty && !this.#isFailed)) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Never rejects. */
  async #merge(batch: readonly InboundBatch[]): Promise<void> {
    try {
      const { cursorDocuments } = this.#limits;
      const { result } = await this.#store.transactInSteps((transaction) => {
        const options = {
          source: this.#source,
          open: this.#line.openBehind(batch),
          cursorDocuments,
        };
        return mergeBatch(transaction, batch, options);
      });
      this.#merged(batch, result);
    } catch (error) {
      this.#refused(batch, error);
    }
    this.#underWay--;
    this.#makeRoom();
    this.#pump();
  }

  #merged(batch: readonly InboundBatch[], result: BatchResult): void {
    const { documents, unchanged, stale, cursors, changed } = result;
    const stats = this.#stats;
    stats.documents += documents;
    stats.unchanged += unchanged;
    stats.stale += stale;
    if (changed.length > 0 || cursors.length > 0) stats.transactions++;
    this.#line.merged(batch);
    for (const { arrivals, reached } of batch) {
      for (const { queries, isPiece, merges } of arrivals) {
        for (const query of queries) {
          query.isDirty ||= changed.length > 0;
          if (isPiece) query.fill.documents += merges.length;
        }
      }
      for (const { query, txn } of reached) query.reach(txn);
    }
    const open = this.#line.openBehind([]);
    for (const { fill } of this.#queries.values()) fill.advance(open);
    for (const [query, cursor] of cursors) query.wrote(cursor);
    if (changed.length > 0) this.#onEvent({ kind: "merged", changed });
  }

  #refused(batch: readonly InboundBatch[], error: unknown): void {
    if (!(error instanceof PeerError) || error.code !== "clock.ahead") return this.#fail(error);
    if (batch.length > 1) this.#line.putBackApart(batch);
    else for (const inbound of batch) this.#hold(inbound);
  }

  /** Ends queries whose documents are ahead of the clock (S86). Cursors alone are dropped. */
  #hold(inbound: InboundBatch): void {
    const { arrivals, reached } = inbound;
    const nowMs = this.#platform.now();
    const times = arrivals.map((each) => msOfTime(newestArrival(each)));
    const isAhead = (_: Arrival, i: number): boolean => (times[i] ?? 0) > nowMs;
    const ahead = arrivals.filter(isAhead);
    // No document is ahead: the own clock is in doubt.
    const held = ahead.length > 0 ? ahead : arrivals;
    const newestMs = Math.max(...times);
    const untilMs =
      ahead.length > 0 ? Math.max(nowMs + HELD_MS_MIN, newestMs - DRIFT_MS_MAX) : nowMs + CLOCK_MS;
    const queries = new Set(held.flatMap((each) => each.queries));
    const isKept = ({ query }: Reached): boolean => !queries.has(query);
    for (const query of queries) {
      query.fill.stop();
      this.#end(query);
    }
    this.#line.release(queries);
    const rest = arrivals.filter((each) => !held.includes(each));
    if (rest.length === 0) this.#line.merged([inbound]);
    else this.#line.putBack({ ...inbound, arrivals: rest, reached: reached.filter(isKept) });
    if (queries.size === 0) return;
    this.#onEvent({ kind: "held", ids: [...queries].map(({ id }) => id), untilMs });
  }

  #fail(error: unknown): void {
    if (this.#isFailed) return;
    this.#isFailed = true;
    this.#line.end();
    this.#onEvent({ kind: "failed", error });
  }

  #end(query: FollowedQuery): void {
    this.#queries.delete(query.id);
    const others = [...this.#queries.values()];
    if (!others.some(({ sweep }) => sweep === query.sweep)) query.sweep?.close();
    this.#open = withoutQueries(this.#open, new Set([query]));
    this.#unname(query);
  }

  /** Messages with its filter no longer belong to the query. */
  #unname(query: FollowedQuery): void {
    if (query.filter === undefined) return;
    const key = filterKeyOf(query.filter);
    const others = (this.#byFilter.get(key) ?? []).filter((other) => other !== query);
    if (others.length > 0) this.#byFilter.set(key, others);
    else this.#byFilter.delete(key);
  }

  #whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#pump();
    });
  }

  async #writeCursors(queries: readonly FollowedQuery[], isOrderly: boolean): Promise<void> {
    try {
      await this.#store.transact((transaction) => {
        const { nowMs, view } = transaction;
        const operations = queries.flatMap((query) => {
          const cursor = isOrderly ? query.lastCursor(nowMs) : query.fillCursor();
          return (cursor && query.operation(cursor, view)) ?? [];
        });
        transaction.apply(operations);
      });
    } catch {
      // The written cursors are older than they could be, which is harmless.
    }
  }
}

const NOTHING_REACHED: readonly Reached[] = [];

function arrivalOf(
  queries: readonly FollowedQuery[],
  { query, staleUpTo }: FollowedQuery,
  { entries, range }: Documents,
  bytes: number,
): Arrival {
  const { collection } = query;
  const merges = entries.flatMap((entry) => mergeOf(collection, entry, staleUpTo) ?? []);
  const ids = entries.map((entry) => entry[1]);
  return { queries, collection, merges, ids, isPiece: range !== undefined, bytes };
}
