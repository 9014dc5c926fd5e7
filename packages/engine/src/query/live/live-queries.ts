/**
 * LiveQueries: the live queries of one store, updated incrementally after commits.
 *
 * The contract:
 * - `register` gives the rows of a query as of a durable state. Transactions that became durable
 *   during the read come with the next `advance`: call it after a registration that returned a
 *   promise.
 * - `advance` brings all queries to the newest durable state and names those whose rows differ.
 *   Their rows are then those that the statement gives on that state, in the same order.
 *   Transactions that became durable since the last call count as one: only the difference of the
 *   two states is reported, without warnings.
 * - The cost depends on the changes: a query that no changed document affects is not evaluated.
 *   Without a query nothing is read.
 * - Queries with equal text, arguments and permissions are one, evaluated once.
 * - A query that fails (too slow, too large) is named once with its failure and ends. If the store
 *   fails, `advance` fails, and the next one reads everything again.
 * - The memory in use is limited by LIVE_QUERY_BYTES_MAX and LIVE_BYTES_MAX.
 *
 * Long work runs in time slices; work that ends within one slice returns no promise.
 */

import { PeerError } from "@bigpeer/protocol";
import {
  LIVE_BYTES_MAX,
  LIVE_QUERY_BYTES_MAX,
  RESULT_BYTES_MAX,
  STATEMENT_MS_MAX,
} from "../../limits.ts";
import type { Platform } from "../../platform.ts";
import type { Store, StoreSnapshot } from "../../store/store.ts";
import { Fault, locate, located } from "../fault.ts";
import type { MemoryPool } from "../frame/memory-pool.ts";
import type { Steps } from "../frame/steps.ts";
import type { Authority } from "../permission/authority.ts";
import { checkArguments, requireParameters } from "../plan/parameters.ts";
import { TimeSlicer } from "../run/time-slicer.ts";
import { StatementCache } from "../statement/statement-cache.ts";
import { dataKey, joinKeys } from "../value/compare.ts";
import { changedDocuments, changeOf, type DocumentChange } from "./document-change.ts";
import { HeldMemory } from "./held-memory.ts";
import { FollowedQuery, type LiveHost, type LiveQuery } from "./live-query.ts";
import { type LiveInput, LiveRuns } from "./live-run.ts";
import { type LiveStatement, prepareLive } from "./live-statement.ts";
import { type MatchEntry, MatchIndex } from "./match-index.ts";

export interface LiveLimits {
  /** Time that one run of a query may take, and memory that it may use. */
  readonly timeMs: number;
  readonly bytes: number;
  /** Memory that one query may hold, and all of them together. */
  readonly queryBytes: number;
  readonly heldBytes: number;
}

export interface LiveQueriesOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  readonly limits?: Partial<LiveLimits>;
  /** Memory shared by all running statements of the process; undefined if it is not limited. */
  readonly memory?: MemoryPool;
}

export interface LiveRequest {
  readonly statement: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
  /** Permissions of the caller; absent means everything. */
  readonly authority?: Authority | undefined;
  /** Strict mode, for the lifetime of the query. */
  readonly isStrict?: boolean;
}

/** One follower of a query, which may have several. */
export interface Registration {
  readonly query: LiveQuery;
  /** Ends the registration. Idempotent. */
  readonly close: () => void;
}

export interface Advance {
  /** The transaction whose state all queries show. */
  readonly txnId: number;
  /** The queries whose rows differ, and those that failed. Each once. */
  readonly changed: readonly LiveQuery[];
}

/** The query under one key, or a promise of it during its first read. */
type Group = FollowedQuery | Promise<FollowedQuery>;

/** A part of an advance: changes since one state, for the queries at that state. */
interface Pass {
  readonly since: number | undefined;
  readonly txnId: number;
}

/** Limit on different states of queries; queries at further states are read again. */
const PASSES_MAX = 8;

export class LiveQueries {
  readonly #store: Store;
  readonly #elapsed: () => number;
  readonly #slicer: TimeSlicer;
  readonly #host: LiveHost;
  readonly #statements = new StatementCache<LiveStatement>();
  readonly #groups = new Map<string, Group>();
  /** All queries that have rows. */
  readonly #queries = new Set<FollowedQuery>();
  /** Those of them that show another state than `#txnId`. */
  readonly #apart = new Set<FollowedQuery>();
  #txnId = 0;
  #going: Promise<unknown> | undefined;
  #next: Promise<Advance> | undefined;
  /** An advance failed: the states of the queries are unknown. */
  #isLost = false;

  constructor({ store, platform, appId, limits = {}, memory }: LiveQueriesOptions) {
    const {
      timeMs = STATEMENT_MS_MAX,
      bytes = RESULT_BYTES_MAX,
      queryBytes = LIVE_QUERY_BYTES_MAX,
      heldBytes = LIVE_BYTES_MAX,
    } = limits;
    this.#store = store;
    this.#elapsed = () => platform.elapsed();
    this.#slicer = new TimeSlicer(() => platform.pause(), this.#elapsed);
    this.#host = {
      runs: new LiveRuns({ platform, appId, timeMs, bytes, memory }),
      memory: new HeldMemory({ queryBytes, bytes: heldBytes }),
      index: new MatchIndex(platform, appId),
    };
  }

  /** Number of queries, equal ones counted once. */
  get count(): number {
    return this.#queries.size;
  }

  /** Bytes held for all queries. */
  get heldBytes(): number {
    return this.#host.memory.bytes;
  }

  /** Throws, or rejects with, a PeerError: that of the statement, or a memory limit. */
  register(request: LiveRequest): Registration | Promise<Registration> {
    const { statement: text, authority, isStrict = false } = request;
    const statement = this.#statements.get(text, (missing) =>
      located(missing, () => prepareLive(missing, this.#elapsed)),
    );
    return located(text, () => {
      authority?.require(statement.access);
      const args = checkArguments(request.args);
      requireParameters(statement.parameters, args);
      const input: LiveInput = { text, args, authority, isStrict };
      const key = keyOf(input);
      const group = this.#groups.get(key) ?? this.#begin(key, statement, input);
      return group instanceof Promise
        ? group.then((query) => this.#holding(query))
        : this.#holding(group);
    });
  }

  /**
   * Brings all queries to the newest durable state. Calls during an advance share one more, which
   * starts after it.
   */
  advance(): Advance | Promise<Advance> {
    if (this.#going !== undefined) return (this.#next ??= this.#after(this.#going));
    const hasChanges = this.#isLost || this.#apart.size > 0 || this.#store.txnId !== this.#txnId;
    if (this.#queries.size === 0 || !hasChanges) return { txnId: this.#store.txnId, changed: [] };
    const snapshot = this.#store.snapshot();
    const budget = this.#host.runs.endlessBudget();
    const changed = this.#slicer.take(this.#steps(snapshot), budget, snapshot);
    if (!(changed instanceof Promise)) return { txnId: this.#txnId, changed };
    const going = changed.then((late): Advance => ({ txnId: this.#txnId, changed: late }));
    this.#going = going;
    const end = (): void => {
      this.#going = undefined;
    };
    void going.then(end, end);
    return going;
  }

  async #after(going: Promise<unknown>): Promise<Advance> {
    // Its own caller gets the error.
    await going.catch(() => undefined);
    this.#next = undefined;
    return this.advance();
  }

  /** Reads a query for the first time. */
  #begin(key: string, statement: LiveStatement, input: LiveInput): Group {
    const query = new FollowedQuery(key, statement, input, this.#host);
    const snapshot = this.#store.snapshot();
    const { txnId } = snapshot;
    const failed = (error: unknown): unknown => {
      this.#groups.delete(key);
      query.end();
      return locate(error, input.text);
    };
    try {
      const budget = this.#host.runs.endlessBudget();
      const settled = this.#slicer.take(query.settle(snapshot), budget, snapshot);
      if (!(settled instanceof Promise)) return this.#start(query, txnId);
      const started = settled
        .then(() => this.#start(query, txnId))
        .catch((error: unknown) => {
          throw failed(error);
        });
      this.#groups.set(key, started);
      return started;
    } catch (error) {
      throw failed(error);
    }
  }

  /** From now on, changes after `txnId` apply to the query. */
  #start(query: FollowedQuery, txnId: number): FollowedQuery {
    if (this.#queries.size === 0 && this.#going === undefined) this.#txnId = txnId;
    query.follow();
    this.#groups.set(query.key, query);
    this.#queries.add(query);
    if (txnId !== this.#txnId || this.#going !== undefined) {
      query.since = txnId;
      this.#apart.add(query);
    }
    return query;
  }

  #holding(query: FollowedQuery): Registration {
    query.holders++;
    let isHolding = true;
    const close = (): void => {
      if (!isHolding) return;
      isHolding = false;
      query.holders--;
      if (query.holders === 0) this.#drop(query);
    };
    return { query, close };
  }

  #drop(query: FollowedQuery): void {
    query.end();
    this.#queries.delete(query);
    this.#apart.delete(query);
    if (this.#groups.get(query.key) === query) this.#groups.delete(query.key);
  }

  *#steps(snapshot: StoreSnapshot): Steps<LiveQuery[]> {
    const changed = new Set<LiveQuery>();
    const { txnId } = snapshot;
    const isLost = this.#isLost;
    this.#isLost = true;
    for (
      let apart = [...this.#apart], isFirst = true;
      isFirst || apart.length > 0;
      isFirst = false
    ) {
      const touched = new Set<FollowedQuery>();
      if (isFirst && isLost) this.#touchAll(touched);
      else yield* this.#takeAll(snapshot, apart, { touched, changed });
      for (const query of touched) {
        yield* this.#settle(query, snapshot, changed);
        yield;
      }
      this.#arrive(txnId, apart);
      // Queries whose first read began before this advance and ended during it.
      apart = [...this.#apart].filter(({ since = 0 }) => since < txnId);
    }
    this.#isLost = false;
    return [...changed];
  }

  #touchAll(touched: Set<FollowedQuery>): void {
    for (const query of this.#queries) {
      query.invalidate();
      touched.add(query);
    }
  }

  /** Passes every change to the queries that it may affect. */
  *#takeAll(
    snapshot: StoreSnapshot,
    apart: readonly FollowedQuery[],
    { touched, changed }: { touched: Set<FollowedQuery>; changed: Set<LiveQuery> },
  ): Steps<void> {
    const { historyId } = this.#store.identity;
    const { index } = this.#host;
    for (const pass of this.#passes(apart, touched)) {
      const { txnId } = pass;
      if (txnId >= snapshot.txnId) continue;
      const cursor = { historyId, txnId };
      const documents = yield* changedDocuments(snapshot, cursor, (name) => index.has(name));
      if (documents === undefined) {
        for (const query of this.#queries) if (isOf(query, pass)) again(query, touched);
        continue;
      }
      for (const document of documents) {
        const change = changeOf(document, snapshot);
        for (const entry of index.touched(change)) {
          if (!isOf(entry.owner, pass)) continue;
          if (this.#take(entry, change, changed)) touched.add(entry.owner);
          yield;
        }
        yield;
      }
    }
  }

  /** One pass for each state of queries. Queries at too many different states are read again. */
  #passes(apart: readonly FollowedQuery[], touched: Set<FollowedQuery>): Pass[] {
    const passes: Pass[] = [];
    if (this.#queries.size > apart.length) passes.push({ since: undefined, txnId: this.#txnId });
    const states = new Set<number>();
    for (const query of apart) {
      if (query.since === undefined || states.has(query.since)) continue;
      if (states.size < PASSES_MAX) {
        states.add(query.since);
        passes.push({ since: query.since, txnId: query.since });
      } else {
        again(query, touched);
      }
    }
    return passes;
  }

  #take(
    entry: MatchEntry<FollowedQuery>,
    change: DocumentChange,
    changed: Set<LiveQuery>,
  ): boolean {
    const query = entry.owner;
    try {
      return query.take(entry, change);
    } catch (error) {
      this.#fail(query, error, changed);
      return false;
    }
  }

  *#settle(query: FollowedQuery, snapshot: StoreSnapshot, changed: Set<LiveQuery>): Steps<void> {
    if (query.isOver) return;
    try {
      if (yield* query.settle(snapshot)) changed.add(query);
    } catch (error) {
      this.#fail(query, error, changed);
    }
  }

  /** An error that is not the query's ends the advance: the next one reads everything again. */
  #fail(query: FollowedQuery, error: unknown, changed: Set<LiveQuery>): void {
    if (!isOfQuery(error)) throw error;
    if (query.isOver) return;
    query.fail(error);
    this.#drop(query);
    changed.add(query);
  }

  /** All updated queries now show the same state. */
  #arrive(txnId: number, apart: readonly FollowedQuery[]): void {
    this.#txnId = txnId;
    for (const query of apart) {
      query.since = undefined;
      this.#apart.delete(query);
    }
    for (const query of this.#apart) {
      if (query.since !== txnId) continue;
      query.since = undefined;
      this.#apart.delete(query);
    }
  }
}

function isOfQuery(error: unknown): boolean {
  return error instanceof Fault || (error instanceof PeerError && error.code.startsWith("query."));
}

/** Whether a query is at the state that a pass starts from. */
function isOf(query: FollowedQuery, { since }: Pass): boolean {
  return !query.isOver && query.since === since;
}

function again(query: FollowedQuery, touched: Set<FollowedQuery>): void {
  query.invalidate();
  touched.add(query);
}

/** The same for queries with the same rows: permissions count, the caller does not. */
function keyOf({ text, args, authority, isStrict }: LiveInput): string {
  const isNarrowed = authority !== undefined && !authority.isReadingAll;
  const permissions = isNarrowed ? dataKey(authority.value) : "";
  return joinKeys([text, dataKey(args), permissions, isStrict ? "strict" : ""]);
}
