/**
 * IndexedConnection: one connection to a database that is opened again when the browser drops it.
 *
 * Browsers close connections of background pages and after errors of their own storage. A write that
 * meets this is repeated on a new connection, a bounded number of times; so the writes given to it
 * must have the same result when they are done twice. A database that was deleted is never created
 * again: the connection ends and reports it.
 */

import { PeerError } from "@bigpeer/protocol";
import {
  checkMeta,
  completionOf,
  DatabaseGone,
  isTransient,
  META_KEY,
  nameOf,
  openDatabase,
  resultOf,
  STORES,
} from "./indexed-database.ts";
import type {
  IndexedDatabase,
  IndexedDb,
  IndexedTransaction,
  VersionChangeEvent,
} from "./indexed-db.ts";

/** Why a connection ended for good. */
export type ConnectionEnd =
  /** Someone deleted the database: the user, the browser or a script of the page. */
  | "deleted"
  /** Another version of the code wants to change the format. */
  | "upgraded";

export interface ConnectionOptions {
  readonly db: IndexedDb;
  readonly name: string;
  /** The identity of the database, which must be the same when it is opened again. */
  readonly id: string;
  readonly wait: (ms: number) => Promise<void>;
  /** Called at most once. */
  readonly onEnd: (end: ConnectionEnd) => void;
}

export type Durability = "strict" | "relaxed";

/** `isRetry`: an earlier attempt failed, and may have been committed all the same. */
export type Write = (transaction: IndexedTransaction, isRetry: boolean) => void;

/** Waits before the database is opened again; the last attempt follows the last wait. */
const REOPEN_WAITS_MS = [0, 50, 200, 500];

export class IndexedConnection {
  readonly #options: ConnectionOptions;
  #database: IndexedDatabase | undefined;
  #end: ConnectionEnd | undefined;
  #reopening: Promise<IndexedDatabase> | undefined;
  #isClosed = false;

  constructor(database: IndexedDatabase, options: ConnectionOptions) {
    this.#options = options;
    this.#use(database);
  }

  get keyRanges(): IndexedDb["IDBKeyRange"] {
    return this.#options.db.IDBKeyRange;
  }

  /**
   * Runs `write` in a transaction and resolves when it is complete. Rejects with `store.full`,
   * `store.in_use`, `store.write_failed` or `store.closed`.
   */
  async write(stores: string[], durability: Durability, write: Write): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        const database = this.#database ?? (await this.#reopen());
        const transaction = database.transaction(stores, "readwrite", { durability });
        return await writeOnce(transaction, (each) => write(each, attempt > 0));
      } catch (error) {
        if (!this.#isRetried(error) || attempt >= REOPEN_WAITS_MS.length) throw this.#fault(error);
        this.#drop();
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #use(database: IndexedDatabase): void {
    this.#database = database;
    database.addEventListener("close", () => {
      if (this.#database === database) this.#database = undefined;
    });
    // Without this, a caller that deletes or upgrades the database waits for ever.
    database.addEventListener("versionchange", (event) => {
      const { newVersion } = event as VersionChangeEvent;
      this.#finish(newVersion === null ? "deleted" : "upgraded");
    });
  }

  #drop(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  #finish(end: ConnectionEnd): void {
    this.#drop();
    if (this.#end !== undefined || this.#isClosed) return;
    this.#end = end;
    this.#options.onEnd(end);
  }

  #reopen(): Promise<IndexedDatabase> {
    this.#reopening ??= this.#openAgain().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  async #openAgain(): Promise<IndexedDatabase> {
    let fault: unknown;
    for (const waitMs of REOPEN_WAITS_MS) {
      if (waitMs > 0) await this.#options.wait(waitMs);
      if (this.#end !== undefined || this.#isClosed) throw this.#endError();
      try {
        const database = await openDatabase(this.#options.db, { ...this.#options, id: undefined });
        await this.#checkIdentity(database);
        this.#use(database);
        return database;
      } catch (error) {
        fault = error;
        if (error instanceof DatabaseGone) this.#finish("deleted");
        if (error instanceof PeerError) throw error;
      }
    }
    throw writeFault(fault);
  }

  /** Another database of the same name, made after this one was deleted, is not ours. */
  async #checkIdentity(database: IndexedDatabase): Promise<void> {
    try {
      const transaction = database.transaction([STORES.meta], "readonly");
      const stored = await resultOf(transaction.objectStore(STORES.meta).get(META_KEY));
      const { id } = checkMeta(stored, this.#options.name);
      if (id !== this.#options.id) throw new DatabaseGone("another database has its name");
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #isRetried(error: unknown): boolean {
    if (this.#end !== undefined || this.#isClosed || error instanceof PeerError) return false;
    return isTransient(error);
  }

  #fault(error: unknown): PeerError {
    if (this.#end !== undefined || this.#isClosed) return this.#endError(error);
    return error instanceof PeerError ? error : writeFault(error);
  }

  #endError(cause?: unknown): PeerError {
    const message =
      this.#end === undefined
        ? "expected an open storage, found it closed"
        : `the database was ${this.#end} while it was open`;
    return new PeerError("store.closed", message, { cause });
  }
}

async function writeOnce(
  transaction: IndexedTransaction,
  write: (transaction: IndexedTransaction) => void,
): Promise<void> {
  const completion = completionOf(transaction);
  try {
    write(transaction);
    transaction.commit();
  } catch (error) {
    completion.catch(() => {});
    abort(transaction);
    throw error;
  }
  await completion;
}

function abort(transaction: IndexedTransaction): void {
  try {
    transaction.abort();
  } catch {
    // The browser has aborted it already.
  }
}

/** The error of a write that failed. */
export function writeFault(error: unknown): PeerError {
  switch (nameOf(error)) {
    case "QuotaExceededError": {
      const message =
        "the browser's storage is full: the write was not committed; free space and retry";
      return new PeerError("store.full", message, { cause: error });
    }
    case "ConstraintError": {
      const message = "another page or worker writes to the same database: close it and reload";
      return new PeerError("store.in_use", message, { cause: error });
    }
    default: {
      const message = `failed to write to IndexedDB: ${String(error)}`;
      return new PeerError("store.write_failed", message, { cause: error });
    }
  }
}
