/**
 * Content database: the IndexedDB database of the contents of attachments, apart from that of the
 * documents. It is opened again when the browser drops the connection.
 *
 *   content   the complete contents by their ids
 *   partial   what is being created or downloaded
 *   piece     their bytes, in pieces of a fixed size
 */

import { PeerError } from "@bigpeer/protocol";
import { writeFault } from "../storage/indexed-connection.ts";
import { completionOf, nameOf, resultOf } from "../storage/indexed-database.ts";
import type {
  IndexedDatabase,
  IndexedDb,
  IndexedRequest,
  IndexedStore,
  IndexedTransaction,
} from "../storage/indexed-db.ts";

export const CONTENT = "content";
export const PARTIAL = "partial";
export const PIECE = "piece";

const STORES = [CONTENT, PARTIAL, PIECE];
const SCHEMA_VERSION = 1;
const ATTEMPTS_MAX = 3;

export type StoreOf = (name: string) => IndexedStore;

export class ContentDatabase {
  readonly #db: IndexedDb;
  readonly #name: string;
  #database: Promise<IndexedDatabase> | undefined;
  #isClosed = false;

  constructor(db: IndexedDb, name: string) {
    this.#db = db;
    this.#name = name;
  }

  get keyRanges(): IndexedDb["IDBKeyRange"] {
    return this.#db.IDBKeyRange;
  }

  read<T>(name: string, ask: (store: IndexedStore) => IndexedRequest<T>): Promise<T> {
    return this.#retried(async (database) => {
      const transaction = database.transaction([name], "readonly");
      return resultOf(ask(transaction.objectStore(name)));
    });
  }

  /** All of it or nothing. It may be done twice. */
  write(durability: "strict" | "relaxed", work: (storeOf: StoreOf) => void): Promise<void> {
    return this.#retried(async (database) => {
      const transaction = database.transaction(STORES, "readwrite", { durability });
      const completion = completionOf(transaction);
      try {
        work((name) => transaction.objectStore(name));
      } catch (error) {
        completion.catch(() => {});
        abort(transaction);
        throw error;
      }
      await completion;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const database = await this.#database?.catch(() => undefined);
    database?.close();
  }

  async #retried<T>(work: (database: IndexedDatabase) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      if (this.#isClosed) throw new PeerError("store.closed", "the peer is closed");
      const opened = this.#database ?? this.#open();
      try {
        return await work(await opened);
      } catch (error) {
        if (error instanceof PeerError) throw error;
        if (attempt === ATTEMPTS_MAX || !isDropped(error)) throw writeFault(error);
        if (this.#database === opened) this.#database = undefined;
      }
    }
  }

  #open(): Promise<IndexedDatabase> {
    const request = this.#db.indexedDB.open(this.#name, SCHEMA_VERSION);
    request.addEventListener("upgradeneeded", () => {
      for (const name of STORES) request.result.createObjectStore(name);
    });
    const opened = resultOf(request).then((database) => {
      const forget = (): void => {
        if (this.#database === opened) this.#database = undefined;
      };
      database.addEventListener("close", forget);
      // Without this, one that deletes the database waits for ever.
      database.addEventListener("versionchange", () => {
        database.close();
        forget();
      });
      return database;
    });
    this.#database = opened;
    opened.catch(() => {
      if (this.#database === opened) this.#database = undefined;
    });
    return opened;
  }
}

/** Whether the browser may have closed the connection. */
function isDropped(error: unknown): boolean {
  return ["InvalidStateError", "AbortError", "UnknownError"].includes(nameOf(error));
}

function abort(transaction: IndexedTransaction): void {
  try {
    transaction.abort();
  } catch {
    // The browser has aborted it already.
  }
}
