/**
 * Local store: statements, observers and transactions on the documents of a peer. It works offline.
 */

import type { RefusedUpload } from "@bigpeer/engine/peer";
import {
  LocalRunner,
  type StatementRequest,
  type StatementResult,
  type StatementRunnerOptions,
  type StatementTransaction,
  type Warning,
} from "@bigpeer/engine/query";
import { PeerError, type Value } from "@bigpeer/protocol";
import {
  checkQuery,
  checkScope,
  checkStatement,
  describe,
  explainUndefined,
  observerArguments,
} from "./argument-check.ts";
import { within } from "./deadline.ts";
import type { AsyncContext, PeerHost } from "./host/peer-host.ts";
import type { ObservedResult, ObserverCallback, Receiver, StoreObserver } from "./observer.ts";
import { Observers } from "./observers.ts";
import type { PendingIds } from "./pending-ids.ts";
import { ownCopy, type PlainObject, type PlainValue, plainCopy } from "./plain-value.ts";

/**
 * Values for the `:name` parameters of a statement. An integer beyond 2^53 is a `bigint`, binary
 * data a `Uint8Array`. Fields that are `undefined` are left out, as in JSON. A `Date`, `NaN` and
 * objects of a class are refused with `query.arguments`.
 *
 * @example
 * const args: Arguments = { title: "Tea", limit: 10 };
 * await peer.store.execute("SELECT * FROM tasks WHERE title = :title LIMIT :limit", args);
 */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * The result of a statement. `T` is the type of a row, which the compiler takes from you unchecked.
 *
 * @example
 * interface Task {
 *   title: string;
 * }
 * await peer.store.execute("INSERT INTO tasks DOCUMENTS (:task)", { task: { title: "Tea" } });
 * const result: QueryResult<Task> = await peer.store.execute<Task>("SELECT title FROM tasks");
 * console.log(result.items); // [ { title: 'Tea' } ]
 */
export interface QueryResult<T = PlainObject> {
  /** The rows: copies that you can change. The order of their fields is not defined. */
  readonly items: T[];
  /** Ids of the documents that the statement changed. */
  readonly mutatedDocumentIds: PlainValue[];
  /**
   * Of a write: the number of its local commit, as in `system:data_sync_info`. Undefined for a
   * statement that only reads.
   */
  readonly commitId: number | undefined;
  /** Documents for which a part of the statement could not be evaluated, and other warnings. */
  readonly warnings: readonly Warning[];
}

/**
 * The result of a statement in a transaction: a {@link QueryResult} without `commitId`, because
 * nothing is committed yet.
 *
 * @example
 * const size = await peer.store.transaction(async (tx) => {
 *   const result: TransactionResult = await tx.execute("SELECT * FROM tasks");
 *   return result.items.length;
 * });
 * console.log(size); // 0
 */
export type TransactionResult<T = PlainObject> = Omit<QueryResult<T>, "commitId">;

/**
 * Runs the statements of one transaction. Use it only until the function of the transaction ends.
 *
 * @example
 * async function addTask(tx: StoreTransaction, title: string): Promise<void> {
 *   await tx.execute("INSERT INTO tasks DOCUMENTS (:task)", { task: { title } });
 * }
 * await peer.store.transaction((tx) => addTask(tx, "Tea"));
 */
export interface StoreTransaction {
  /**
   * Runs a statement. It sees the earlier writes of the transaction.
   *
   * @param statement - A statement of the query language (docs/query-language.md).
   * @param args - A value for each `:name` in the statement.
   * @throws `store.closed`: the transaction has ended.
   * @throws `query.syntax`, `query.semantic`, `query.arguments`, `query.evaluation`: as for
   * {@link PeerDocuments.execute}.
   */
  execute<T = PlainObject>(statement: string, args?: Arguments): Promise<TransactionResult<T>>;
}

/** A result whose rows are those of the peer itself: they must not be changed. */
export type SharedResult = Omit<QueryResult, "items"> & { readonly items: readonly Value[] };

/** How often a transaction is tried if others change what it reads. */
const TRIES_MAX = 20;

/** How long one try may take: it holds a snapshot, and the next transaction waits for it. */
const TRANSACTION_MS_MAX = 60_000;

/** How long statements may follow each other before the event loop gets a turn. */
const TURN_MS = 10;

const NESTED_HINT =
  "a retry would fail, too: use execute of the open transaction, or begin the other one after it";

export interface LocalStoreOptions extends StatementRunnerOptions {
  readonly host: Pick<
    PeerHost,
    "after" | "loadCode" | "newContext" | "outside" | "lateTransactionHint"
  >;
  /** Follows the documents with pending writes; left out, none are. */
  readonly pending?: () => PendingIds;
  readonly refused: () => readonly RefusedUpload[];
  readonly clearRefused: (commitId?: number) => Promise<number>;
  readonly onError: (error: unknown) => void;
  readonly transactionMsMax?: number;
}

/**
 * `peer.store`: the documents of a peer. Reads and writes are local and work offline.
 *
 * @example
 * await peer.store.execute("INSERT INTO tasks DOCUMENTS (:tea)", { tea: { _id: "t1", cups: 2 } });
 * const { items } = await peer.store.execute("SELECT * FROM tasks");
 * console.log(items); // [ { _id: 't1', cups: 2 } ]
 */
export type PeerDocuments = Omit<
  LocalStore,
  "close" | "runner" | "executeShared" | "observeShared"
>;

export class LocalStore {
  readonly runner: LocalRunner;
  readonly #observers: Observers;
  readonly #refused: LocalStoreOptions["refused"];
  readonly #clearRefused: LocalStoreOptions["clearRefused"];
  readonly #transactionMsMax: number;
  /** The transaction that the running code belongs to: a nested one would wait forever. */
  readonly #inside: AsyncContext<{ isOpen: boolean }>;
  readonly #host: LocalStoreOptions["host"];
  readonly #pause: () => Promise<void>;
  /** The last transaction that was requested. */
  #last: Promise<unknown> = Promise.resolve();
  /** Transactions that were requested and have not ended. */
  #openCount = 0;
  /** When the event loop last got a turn, as far as is known. */
  #turnMs = 0;
  #isClosed = false;

  constructor(options: LocalStoreOptions) {
    const { host, platform } = options;
    this.#host = host;
    this.#inside = host.newContext();
    this.#pause = () => platform.pause();
    this.runner = new LocalRunner(options);
    this.#observers = new Observers(options);
    this.#refused = options.refused;
    this.#clearRefused = options.clearRefused;
    this.#transactionMsMax = options.transactionMsMax ?? TRANSACTION_MS_MAX;
  }

  /**
   * Runs a statement. The promise resolves when its writes are durable on this device; it does not
   * wait for the network.
   *
   * @param statement - A statement of the query language (docs/query-language.md).
   * @param args - A value for each `:name` in the statement.
   * @returns The rows, the ids of changed documents, the local commit and warnings.
   * @throws `query.syntax`, `query.semantic`: the statement is not valid. `place` has the line.
   * @throws `query.arguments`: the arguments are not an object of values.
   * @throws `query.evaluation`: the statement cannot run on these documents, for example because
   * an `_id` exists. Nothing of it was applied.
   * @throws `query.timeout`, `query.too_large`, `query.busy`: the statement exceeds a limit.
   * @throws `operation.refused`: the write has about 16 MB or more. Split it.
   * @throws `store.full`, `store.write_failed`, `store.busy`: the device could not store the write.
   * @throws `store.closed`: the peer is closed.
   * @example
   * const { mutatedDocumentIds } = await peer.store.execute(
   *   "INSERT INTO tasks DOCUMENTS (:tea)",
   *   { tea: { _id: "t1", title: "Tea" } },
   * );
   * console.log(mutatedDocumentIds); // [ 't1' ]
   */
  async execute<T = PlainObject>(statement: string, args?: Arguments): Promise<QueryResult<T>> {
    const result = await this.executeShared(statement, args);
    return { ...result, items: result.items.map(plainCopy) as T[] };
  }

  /** As execute, without a copy of the rows. */
  async executeShared(statement: string, args?: Arguments): Promise<SharedResult> {
    this.#checkOpen();
    const result = await this.#run(statement, args);
    await this.#takeTurn();
    const { items, warnings } = result;
    const mutatedDocumentIds = result.mutatedDocumentIds.map(plainCopy);
    const commitId = result.queryType === "mutation" ? result.transactionId : undefined;
    return { items, mutatedDocumentIds, warnings, commitId };
  }

  /**
   * Calls a function soon with the current rows of a SELECT, then each time they change. It does
   * not matter which peer made the change.
   *
   * @param query - A SELECT without the clock, random values and system collections.
   * @param callback - Receives the rows, never twice at once.
   * @returns The observer, which stays active until `cancel()`.
   * @throws `query.syntax`, `query.semantic`: the query is not valid or cannot be observed.
   * @throws `query.arguments`: the arguments are not values, or there is no callback.
   * @throws `query.too_large`, `query.busy`: the rows of all observers need too much memory.
   * @throws `store.closed`: the peer is closed.
   * @example
   * const observer = peer.store.registerObserver(
   *   "SELECT * FROM tasks WHERE isDone = :isDone",
   *   { isDone: false },
   *   ({ items }) => console.log("open:", items.length),
   * );
   * observer.cancel();
   */
  registerObserver<T = PlainObject>(query: string, callback: ObserverCallback<T>): StoreObserver;
  /**
   * The same, with values for the parameters of the query.
   *
   * @param query - A SELECT without the clock, random values and system collections.
   * @param args - A value for each `:name` in the query.
   * @param callback - Receives the rows, never twice at once.
   * @param onFailed - Receives the error if the query fails later and the observer ends. Without
   * it, the peer emits `error`.
   */
  registerObserver<T = PlainObject>(
    query: string,
    args: Arguments | undefined,
    callback: ObserverCallback<T>,
    onFailed?: (error: Error) => unknown,
  ): StoreObserver;
  registerObserver(
    query: string,
    second: Arguments | ObserverCallback<never> | undefined,
    third?: ObserverCallback<never>,
    onFailed?: (error: Error) => unknown,
  ): StoreObserver {
    const { args, callback } = observerArguments<Arguments, ObserverCallback<never>>(second, third);
    return this.#observe(query, args, { callback, onFailed });
  }

  /** As registerObserver, without a copy of the rows: the callback must not change them. */
  observeShared(
    query: string,
    args: Arguments | undefined,
    callback: (result: ObservedResult) => Promise<void>,
    onFailed: (error: Error) => void,
  ): StoreObserver {
    return this.#observe(query, args, { callback, onFailed, isShared: true });
  }

  /** The observers that are active. */
  get observers(): StoreObserver[] {
    return this.#observers.list;
  }

  /**
   * Runs statements that take effect together when `scope` resolves, or not at all when it rejects.
   * It is serializable: if a document that it read changes meanwhile, the peer calls `scope` again.
   * The transactions of a peer run one after the other. The peer uploads each as a whole.
   *
   * @param scope - Runs the statements of the transaction. It should have no other effects.
   * @returns The value that `scope` resolves with.
   * @throws `query.arguments`: `scope` is not a function.
   * @throws `store.busy`: 20 attempts failed, or it was begun inside another transaction.
   * @throws `query.timeout`: it took more than a minute.
   * @throws `operation.refused`: it has about 16 MB or more.
   * @throws `store.full`, `store.write_failed`: the device could not store it.
   * @throws `store.closed`: the peer is closed.
   * @example
   * await peer.store.execute("INSERT INTO stock DOCUMENTS ({'_id': 'tea', 'cups': 3})");
   * await peer.store.transaction(async (tx) => {
   *   const { items } = await tx.execute<{ cups: number }>("SELECT cups FROM stock");
   *   const cups = (items[0]?.cups ?? 0) - 1;
   *   await tx.execute("UPDATE stock SET cups = :cups WHERE _id = 'tea'", { cups });
   * });
   */
  async transaction<T>(scope: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    this.#checkOpen();
    checkScope(scope);
    if (this.#inside.getStore()?.isOpen === true) {
      const message = "expected statements inside of a transaction, found another transaction";
      throw new PeerError("store.busy", message, { hint: NESTED_HINT });
    }
    const run = (): Promise<T> => this.#repeat(scope);
    this.#openCount++;
    const done = this.#last.then(run, run).finally(() => this.#openCount--);
    this.#last = done;
    return done;
  }

  /**
   * The writes that the server refused, the oldest first. The peer keeps the newest 10,000 of them,
   * across restarts. They are also the rows of `system:refused_writes`.
   */
  refused(): readonly RefusedUpload[] {
    return this.#refused();
  }

  /**
   * Removes a refused write from the list, after the app has handled it. Without an argument it
   * removes all of them.
   *
   * @param commitId - The `commitId` of the refused write.
   * @returns The number of removed writes, when that is durable.
   * @throws `query.arguments`: `commitId` is not an integer.
   * @throws `store.closed`: the peer is closed.
   */
  async clearRefused(commitId?: number): Promise<number> {
    this.#checkOpen();
    if (commitId !== undefined && !Number.isSafeInteger(commitId)) {
      const message = `expected the commitId of a refused write, found ${describe(commitId)}`;
      throw new PeerError("query.arguments", message);
    }
    return this.#clearRefused(commitId);
  }

  /** Ends all observers. */
  close(): void {
    this.#isClosed = true;
    this.#observers.close();
  }

  #observe(query: string, args: unknown, receiver: Receiver): StoreObserver {
    try {
      return this.#observers.register(checkQuery(query), ownCopy(args), receiver);
    } catch (error) {
      throw explainUndefined(error, args);
    }
  }

  async #run(statement: unknown, args: Arguments | undefined): Promise<StatementResult> {
    try {
      const request = requestOf(statement, args);
      const loading = this.#host.loadCode(request.statement);
      if (loading !== undefined) await loading;
      return await this.runner.execute(request);
    } catch (error) {
      throw explainUndefined(error, args);
    }
  }

  async #repeat<T>(scope: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    const deadline = {
      ms: this.#transactionMsMax,
      late: () => this.#late(),
      after: this.#host.after,
    };
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const open = this.runner.open();
      const context = { isOpen: true };
      try {
        const transaction = this.#transactionOf(open);
        const work = (): Promise<T> => this.#inside.run(context, async () => scope(transaction));
        const result = await within(deadline, work);
        context.isOpen = false;
        if ((await open.commit()) === undefined) continue;
        await this.#takeTurn();
        return result;
      } finally {
        context.isOpen = false;
        open.close();
      }
    }
    const message = `others changed ${TRIES_MAX} times what the transaction had read`;
    throw new PeerError("store.busy", message);
  }

  #transactionOf(open: StatementTransaction): StoreTransaction {
    // Set by the first statement that waits for code: later ones keep their order.
    let loading: Promise<void> | undefined;
    return {
      execute: async <Row>(statement: string, args?: Arguments) => {
        try {
          const request = requestOf(statement, args);
          loading = this.#host.loadCode(request.statement) ?? loading;
          if (loading !== undefined) await loading;
          return resultOf<Row>(open.execute(request));
        } catch (error) {
          throw explainUndefined(error, args);
        }
      },
    };
  }

  /** Yields to the event loop: a program that only awaits its statements would starve the sync. */
  async #takeTurn(): Promise<void> {
    if (performance.now() - this.#turnMs < TURN_MS) return;
    await this.#pause();
    this.#turnMs = performance.now();
  }

  #late(): PeerError {
    const seconds = this.#transactionMsMax / 1000;
    const message = `expected a transaction of less than ${seconds} s; nothing of it was applied`;
    const hint = this.#openCount > 1 ? this.#host.lateTransactionHint : undefined;
    return new PeerError("query.timeout", message, { hint });
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new PeerError("store.closed", "the store is closed");
  }
}

function requestOf(statement: unknown, args: Arguments | undefined): StatementRequest {
  return { statement: checkStatement(statement), args: ownCopy(args) };
}

function resultOf<T>(result: StatementResult): TransactionResult<T> {
  return {
    items: result.items.map(plainCopy) as T[],
    mutatedDocumentIds: result.mutatedDocumentIds.map(plainCopy),
    warnings: result.warnings,
  };
}
