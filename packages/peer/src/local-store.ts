/**
 * Local store: statements, observers and transactions on the documents of a peer. It works offline.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers/promises";
import {
  type RefusedUpload,
  type StatementRequest,
  type StatementResult,
  StatementRunner,
  type StatementRunnerOptions,
  type Warning,
} from "@bigpeer/engine";
import { PeerError } from "@bigpeer/protocol";
import {
  checkQuery,
  checkStatement,
  describe,
  explainUndefined,
  kindOf,
} from "./argument-check.ts";
import { within } from "./deadline.ts";
import type { ObserverCallback, StoreObserver } from "./observer.ts";
import { Observers } from "./observers.ts";
import { ownCopy, type PlainObject, type PlainValue, plainCopy } from "./plain-value.ts";

/** Values for the `:name` parameters of a statement. */
export type Arguments = Readonly<Record<string, unknown>>;

export interface QueryResult<T = PlainObject> {
  readonly items: T[];
  readonly mutatedDocumentIds: PlainValue[];
  /** Of a write: the local commit that holds it, as in `system:data_sync_info`. */
  readonly commitId: number | undefined;
  /** About documents for which a statement could not be evaluated. */
  readonly warnings: readonly Warning[];
}

/** The result of a statement in a transaction, which is not committed yet. */
export type TransactionResult<T = PlainObject> = Omit<QueryResult<T>, "commitId">;

/** Runs the statements of one transaction. Of no use after it. */
export interface StoreTransaction {
  execute<T = PlainObject>(statement: string, args?: Arguments): Promise<TransactionResult<T>>;
}

/** How often a transaction is tried if others change what it reads. */
const TRIES_MAX = 20;

/** How long one try may take: it holds a snapshot, and the next transaction waits for it. */
const TRANSACTION_MS_MAX = 60_000;

/** How long statements may follow each other before the event loop gets a turn. */
const TURN_MS = 10;

const OBSERVER_HINT = "call registerObserver(query, args, callback)";

const NESTED_HINT =
  "a retry would fail, too: use execute of the open transaction, or begin the other one after it";

export interface LocalStoreOptions extends StatementRunnerOptions {
  readonly refused: () => readonly RefusedUpload[];
  readonly clearRefused: (commitId?: number) => Promise<number>;
  readonly onError: (error: unknown) => void;
  readonly transactionMsMax?: number;
}

/** The part of LocalStore that an app can use. */
export type PeerDocuments = Omit<LocalStore, "close" | "runner">;

export class LocalStore {
  readonly runner: StatementRunner;
  readonly #observers: Observers;
  readonly #refused: LocalStoreOptions["refused"];
  readonly #clearRefused: LocalStoreOptions["clearRefused"];
  readonly #transactionMsMax: number;
  /** The transaction that the running code belongs to: a nested one would wait forever. */
  readonly #inside = new AsyncLocalStorage<{ isOpen: boolean }>();
  /** The last transaction that was requested. */
  #last: Promise<unknown> = Promise.resolve();
  /** When the event loop last got a turn, as far as is known. */
  #turnMs = 0;
  #isClosed = false;

  constructor(options: LocalStoreOptions) {
    this.runner = new StatementRunner(options);
    this.#observers = new Observers(options);
    this.#refused = options.refused;
    this.#clearRefused = options.clearRefused;
    this.#transactionMsMax = options.transactionMsMax ?? TRANSACTION_MS_MAX;
  }

  /** Resolves when its writes are durable on this peer. Rejects with a PeerError. */
  async execute<T = PlainObject>(statement: string, args?: Arguments): Promise<QueryResult<T>> {
    this.#checkOpen();
    const result = await this.#run(statement, args);
    await this.#takeTurn();
    const isWrite = result.queryType === "mutation";
    return { ...resultOf<T>(result), commitId: isWrite ? result.transactionId : undefined };
  }

  /**
   * Calls `callback` soon with the current rows of a SELECT, then each time they change. Throws a
   * PeerError if the query cannot be observed.
   */
  registerObserver<T = PlainObject>(query: string, callback: ObserverCallback<T>): StoreObserver;
  registerObserver<T = PlainObject>(
    query: string,
    args: Arguments | undefined,
    callback: ObserverCallback<T>,
  ): StoreObserver;
  registerObserver(
    query: string,
    second: Arguments | ObserverCallback<never> | undefined,
    third?: ObserverCallback<never>,
  ): StoreObserver {
    if (typeof second === "function" && third !== undefined) {
      const message = `expected the callback as the last argument, found ${kindOf(third)} after it`;
      throw new PeerError("query.arguments", message, { hint: OBSERVER_HINT });
    }
    const [args, callback] = typeof second === "function" ? [undefined, second] : [second, third];
    if (typeof callback !== "function") {
      const message = `expected a callback, found ${kindOf(callback)}`;
      throw new PeerError("query.arguments", message, { hint: OBSERVER_HINT });
    }
    try {
      return this.#observers.register(checkQuery(query), ownCopy(args), callback);
    } catch (error) {
      throw explainUndefined(error, args);
    }
  }

  get observers(): StoreObserver[] {
    return this.#observers.list;
  }

  /**
   * Runs statements that take effect together, when `scope` resolves, or not at all, when it
   * rejects. It is serializable: if others change what it has read, `scope` is called again.
   * Transactions of one peer run one after the other, each for less than a minute.
   */
  async transaction<T>(scope: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    this.#checkOpen();
    if (typeof scope !== "function") {
      const expected = "expected a function with the statements of the transaction";
      throw new PeerError("query.arguments", `${expected}, found ${kindOf(scope)}`);
    }
    if (this.#inside.getStore()?.isOpen === true) {
      const message = "expected statements inside of a transaction, found another transaction";
      throw new PeerError("store.busy", message, { hint: NESTED_HINT });
    }
    const run = (): Promise<T> => this.#repeat(scope);
    const done = this.#last.then(run, run);
    this.#last = done;
    return done;
  }

  /** Writes that the server refused, the oldest first. */
  refused(): readonly RefusedUpload[] {
    return this.#refused();
  }

  /** Forgets one of them, or all. Resolves with their number when that is durable. */
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

  async #run(statement: unknown, args: Arguments | undefined): Promise<StatementResult> {
    try {
      return await this.runner.execute(requestOf(statement, args));
    } catch (error) {
      throw explainUndefined(error, args);
    }
  }

  async #repeat<T>(scope: (transaction: StoreTransaction) => Promise<T>): Promise<T> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const open = this.runner.open();
      const context = { isOpen: true };
      try {
        const execute = async <Row>(statement: string, args?: Arguments) => {
          try {
            return resultOf<Row>(open.execute(requestOf(statement, args)));
          } catch (error) {
            throw explainUndefined(error, args);
          }
        };
        const work = (): Promise<T> => this.#inside.run(context, async () => scope({ execute }));
        const result = await within(this.#transactionMsMax, work, () => this.#late());
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

  /** Yields to the event loop: a program that only awaits its statements would starve the sync. */
  async #takeTurn(): Promise<void> {
    if (performance.now() - this.#turnMs < TURN_MS) return;
    await setImmediate();
    this.#turnMs = performance.now();
  }

  #late(): PeerError {
    const seconds = this.#transactionMsMax / 1000;
    const message = `expected a transaction of less than ${seconds} s; nothing of it was applied`;
    return new PeerError("query.timeout", message);
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
