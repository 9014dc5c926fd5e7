/**
 * A simulated IndexedDB with a disk that outlives it, for tests of the storage of a browser: the part
 * of the API that the storage uses, with faults and crashes at moments that the test chooses.
 *
 * It is our own because a crash is what matters: relaxed transactions are lost from the end, strict
 * ones and all before them are not. Everything happens in one order, which depends only on the calls:
 * a seed repeats a run. It does not simulate indexes, cursors or versions beyond the first.
 */

import type {
  IndexedDatabase,
  IndexedDb,
  IndexedFault,
  IndexedKey,
  IndexedRange,
  IndexedRequest,
  IndexedStore,
  IndexedTransaction,
  OpenRequest,
} from "../../src/web/storage/indexed-db.ts";

/** How a transaction ends instead of being committed. */
export type TransactionFault =
  | "abort"
  | "quota"
  | "unknown"
  /** The connection closes, and the transaction with it. */
  | "closed"
  /** The same, but the transaction had been committed. */
  | "closed after commit";

export interface TransactionEnd {
  readonly stores: readonly string[];
  readonly durability: "strict" | "relaxed";
}

type Records = Map<IndexedKey, unknown>;
type Undo = () => void;

interface StoredDatabase {
  version: number;
  readonly stores: Map<string, Records>;
  connections: SimulatedDatabase[];
  transactions: SimulatedTransaction[];
}

/** A browser that runs until the next crash. */
interface Life {
  isAlive: boolean;
}

/** The disk below IndexedDB. It stays when the browser crashes. */
export class SimulatedDisk {
  readonly databases = new Map<string, StoredDatabase>();
  /** Asked before a readwrite transaction is committed. */
  faultAt: (end: TransactionEnd) => TransactionFault | undefined = () => undefined;
  /** Asked before a database is opened: the name of an error. */
  openFault: () => string | undefined = () => undefined;
  /** Asked at each request of a readonly transaction: the name of an error. */
  readFault: () => string | undefined = () => undefined;
  transactionCount = 0;
  /** How each relaxed transaction since the last strict one is undone. */
  #unsynced: Undo[] = [];
  #life: Life = { isAlive: true };
  readonly #later: (task: () => void) => void;

  /** `later` runs a task after the current one and its promises; a simulation has its own. */
  constructor(later: (task: () => void) => void = setImmediate) {
    this.#later = later;
  }

  /** Ends with the next crash. */
  get life(): Life {
    return this.#life;
  }

  /** The IndexedDB of a browser that starts now. After a crash, its requests are not answered. */
  start(): IndexedDb {
    const life = this.#life;
    const answer = (request: (request: Opening) => void): OpenRequest => {
      const opening = new SimulatedRequest<IndexedDatabase>();
      this.schedule(() => request(opening), life);
      return opening;
    };
    return {
      indexedDB: {
        open: (name, version) => answer((request) => this.#open(name, version, request)),
        deleteDatabase: (name) => answer((request) => this.#delete(name, request)),
      },
      IDBKeyRange: {
        bound: (lower, upper, isLowerOpen, isUpperOpen) =>
          new SimulatedRange({ lower, upper, isLowerOpen, isUpperOpen }),
        lowerBound: (lower) => new SimulatedRange({ lower }),
        upperBound: (upper) => new SimulatedRange({ upper }),
      },
    };
  }

  /** Relaxed transactions that a crash can lose. */
  get unsyncedCount(): number {
    return this.#unsynced.length;
  }

  /** Ends the browser: nothing that it had begun goes on. The last `lost` relaxed ones are lost. */
  crash(lost: number): void {
    this.#life.isAlive = false;
    this.#life = { isAlive: true };
    for (const { transactions } of this.databases.values()) {
      for (const transaction of transactions) transaction.undo();
    }
    const last = this.#unsynced.splice(Math.max(0, this.#unsynced.length - lost));
    for (const undo of last.toReversed()) undo();
    for (const database of this.databases.values()) {
      database.connections = [];
      database.transactions = [];
    }
    this.#unsynced = [];
  }

  /** Closes all connections, as a browser does when it needs the memory. */
  dropConnections(): void {
    for (const { connections } of this.databases.values()) {
      for (const connection of connections) connection.drop();
    }
  }

  records(name: string, store: string): Records {
    return this.databases.get(name)?.stores.get(store) ?? new Map<IndexedKey, unknown>();
  }

  /** Runs a task later, unless the browser crashes before. */
  schedule(task: () => void, life: Life = this.#life): void {
    this.#later(() => {
      if (life.isAlive) task();
    });
  }

  committed(undo: Undo, durability: "strict" | "relaxed"): void {
    if (durability === "relaxed") this.#unsynced.push(undo);
    else this.#unsynced = [];
  }

  #open(name: string, version: number, request: Opening): void {
    const fault = this.openFault();
    if (fault !== undefined) return request.fail(faultOf(fault));
    const stored = this.databases.get(name);
    if (stored === undefined) return this.#create(name, version, request);
    if (stored.version > version) return request.fail(faultOf("VersionError"));
    request.succeed(new SimulatedDatabase(this, stored));
  }

  #create(name: string, version: number, request: Opening): void {
    const stored = { version, stores: new Map(), connections: [], transactions: [] };
    this.databases.set(name, stored);
    const database = new SimulatedDatabase(this, stored);
    const transaction = new SimulatedTransaction(this, stored, ["*"], "strict");
    Object.assign(request, { result: database, transaction });
    transaction.addEventListener("complete", () => request.succeed(database));
    transaction.addEventListener("abort", () => request.fail(faultOf("AbortError")));
    transaction.undos.push(() => this.databases.delete(name));
    request.dispatchEvent(new Event("upgradeneeded"));
  }

  #delete(name: string, request: Opening): void {
    const wait = (): void => {
      if ((this.databases.get(name)?.connections.length ?? 0) > 0) return this.schedule(wait);
      this.databases.delete(name);
      request.succeed(undefined as never);
    };
    for (const connection of this.databases.get(name)?.connections ?? []) {
      connection.dispatchEvent(Object.assign(new Event("versionchange"), { newVersion: null }));
    }
    wait();
  }
}

type Opening = SimulatedRequest<IndexedDatabase>;

class SimulatedRequest<T> extends EventTarget implements IndexedRequest<T> {
  result: T = undefined as T;
  error: IndexedFault | null = null;
  readonly transaction: IndexedTransaction | null = null;

  succeed(result: T): void {
    this.result = result;
    this.dispatchEvent(new Event("success"));
  }

  fail(error: IndexedFault): void {
    this.error = error;
    this.dispatchEvent(new Event("error"));
  }
}

class SimulatedDatabase extends EventTarget implements IndexedDatabase {
  readonly #db: SimulatedDisk;
  readonly #stored: StoredDatabase;
  readonly #life: Life;
  #isClosed = false;

  constructor(db: SimulatedDisk, stored: StoredDatabase) {
    super();
    this.#db = db;
    this.#stored = stored;
    this.#life = db.life;
    stored.connections.push(this);
  }

  get objectStoreNames(): { contains(name: string): boolean } {
    return { contains: (name) => this.#stored.stores.has(name) };
  }

  createObjectStore(name: string): IndexedStore {
    this.#stored.stores.set(name, new Map());
    const upgrade = this.#stored.transactions.at(-1);
    if (upgrade === undefined) throw faultOf("InvalidStateError");
    return upgrade.objectStore(name);
  }

  transaction(
    stores: string[],
    mode: "readonly" | "readwrite",
    options?: { durability: "strict" | "relaxed" },
  ): IndexedTransaction {
    if (this.#isClosed) throw faultOf("InvalidStateError");
    const durability = mode === "readonly" ? undefined : (options?.durability ?? "relaxed");
    const transaction = new SimulatedTransaction(this.#db, this.#stored, stores, durability, this);
    if (!this.#life.isAlive) transaction.forget();
    return transaction;
  }

  close(): void {
    this.#isClosed = true;
    this.#stored.connections = this.#stored.connections.filter((each) => each !== this);
  }

  drop(): void {
    this.close();
    for (const transaction of this.#stored.transactions) {
      if (transaction.database === this) transaction.end(faultOf("AbortError"));
    }
    this.#db.schedule(() => this.dispatchEvent(new Event("close")));
  }
}

class SimulatedTransaction extends EventTarget implements IndexedTransaction {
  readonly #db: SimulatedDisk;
  readonly #stored: StoredDatabase;
  readonly #stores: readonly string[];
  /** Undefined for a transaction that only reads. */
  readonly #durability: "strict" | "relaxed" | undefined;
  readonly database: SimulatedDatabase | undefined;
  readonly #requests: (() => void)[] = [];
  readonly undos: Undo[] = [];
  #isEnded = false;
  error: IndexedFault | null = null;

  // oxlint-disable-next-line max-params
  constructor(
    db: SimulatedDisk,
    stored: StoredDatabase,
    stores: readonly string[],
    durability: "strict" | "relaxed" | undefined,
    database?: SimulatedDatabase,
  ) {
    super();
    this.#db = db;
    this.#stored = stored;
    this.#stores = stores;
    this.#durability = durability;
    this.database = database;
    stored.transactions.push(this);
    db.schedule(() => this.#step());
  }

  objectStore(name: string): IndexedStore {
    const records = this.#stored.stores.get(name);
    if (records === undefined) throw faultOf("NotFoundError");
    return new SimulatedStore(records, this);
  }

  commit(): void {}

  abort(): void {
    this.end(faultOf("AbortError"));
  }

  /** Queues what a request does; its result is passed on later, and an error ends all. */
  request<T>(work: (undos: Undo[]) => T): IndexedRequest<T> {
    const request = new SimulatedRequest<T>();
    this.#requests.push(() => {
      let result: T;
      try {
        const fault = this.#durability === undefined ? this.#db.readFault() : undefined;
        if (fault !== undefined) throw faultOf(fault);
        result = work(this.undos);
      } catch (error) {
        request.fail(error as IndexedFault);
        return this.end(error as IndexedFault);
      }
      request.succeed(result);
    });
    return request;
  }

  /** It is of a browser that crashed: nothing of it happens. */
  forget(): void {
    this.#isEnded = true;
    this.#leave();
  }

  /** Undoes the changes, without an event. */
  undo(): void {
    for (const undo of this.undos.splice(0).toReversed()) undo();
  }

  /** Aborts it; the event comes later. */
  end(error: IndexedFault): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.error = error;
    this.undo();
    this.#leave();
    this.#db.schedule(() => this.dispatchEvent(new Event("abort")));
  }

  #step(): void {
    if (this.#isEnded) return;
    if (!this.#isFirst()) return this.#db.schedule(() => this.#step());
    const next = this.#requests.shift();
    if (next === undefined) return this.#finish();
    next();
    this.#db.schedule(() => this.#step());
  }

  /** Whether no earlier transaction has a store that this one waits for. */
  #isFirst(): boolean {
    const { transactions } = this.#stored;
    const earlier = transactions.slice(0, transactions.indexOf(this));
    return earlier.every((each) => !this.#excludes(each));
  }

  #excludes(other: SimulatedTransaction): boolean {
    if (this.#durability === undefined && other.#durability === undefined) return false;
    const all = [...this.#stores, ...other.#stores];
    return all.includes("*") || this.#stores.some((store) => other.#stores.includes(store));
  }

  #finish(): void {
    const durability = this.#durability;
    const stores = this.#stores;
    const isWrite = durability !== undefined && stores[0] !== "*";
    const fault = isWrite ? this.#db.faultAt({ stores, durability }) : undefined;
    if (fault === undefined) return this.#complete();
    if (fault === "abort") return this.end(faultOf("AbortError"));
    if (fault === "quota") return this.end(faultOf("QuotaExceededError"));
    if (fault === "unknown") return this.end(faultOf("UnknownError"));
    if (fault === "closed after commit") this.#keep();
    this.database?.drop();
  }

  #complete(): void {
    this.#isEnded = true;
    this.#keep();
    this.#leave();
    this.dispatchEvent(new Event("complete"));
  }

  /** From now on the changes are on the disk. */
  #keep(): void {
    if (this.#durability === undefined) return;
    this.#db.transactionCount++;
    const undos = this.undos.splice(0).toReversed();
    this.#db.committed(() => {
      for (const undo of undos) undo();
    }, this.#durability);
  }

  #leave(): void {
    this.#stored.transactions = this.#stored.transactions.filter((each) => each !== this);
  }
}

class SimulatedStore implements IndexedStore {
  readonly #records: Records;
  readonly #transaction: SimulatedTransaction;

  constructor(records: Records, transaction: SimulatedTransaction) {
    this.#records = records;
    this.#transaction = transaction;
  }

  get(key: IndexedKey): IndexedRequest<unknown> {
    return this.#transaction.request(() => structuredClone(this.#records.get(key)));
  }

  getAll(range?: IndexedRange | null): IndexedRequest<unknown[]> {
    return this.#transaction.request(() =>
      this.#keysIn(range).map((key) => structuredClone(this.#records.get(key))),
    );
  }

  getAllKeys(range?: IndexedRange | null): IndexedRequest<unknown[]> {
    return this.#transaction.request(() => this.#keysIn(range));
  }

  add(value: unknown, key: IndexedKey): IndexedRequest<unknown> {
    const copy = structuredClone(value);
    return this.#transaction.request((undos) => {
      if (this.#records.has(key)) throw faultOf("ConstraintError");
      this.#set(key, copy, undos);
    });
  }

  put(value: unknown, key: IndexedKey): IndexedRequest<unknown> {
    const copy = structuredClone(value);
    return this.#transaction.request((undos) => this.#set(key, copy, undos));
  }

  delete(place: IndexedKey | IndexedRange): IndexedRequest<unknown> {
    return this.#transaction.request((undos) => {
      const keys = typeof place === "object" ? this.#keysIn(place) : [place];
      for (const key of keys) this.#set(key, undefined, undos);
    });
  }

  #keysIn(range?: IndexedRange | null): IndexedKey[] {
    const keys = [...this.#records.keys()].sort(compareKeys);
    return range instanceof SimulatedRange ? keys.filter((key) => range.covers(key)) : keys;
  }

  #set(key: IndexedKey, value: unknown, undos: Undo[]): void {
    const before = this.#records.get(key);
    undos.push(() => this.#replace(key, before));
    this.#replace(key, value);
  }

  #replace(key: IndexedKey, value: unknown): void {
    if (value === undefined) this.#records.delete(key);
    else this.#records.set(key, value);
  }
}

interface Bounds {
  readonly lower?: IndexedKey;
  readonly upper?: IndexedKey;
  readonly isLowerOpen?: boolean;
  readonly isUpperOpen?: boolean;
}

class SimulatedRange implements IndexedRange {
  readonly #bounds: Bounds;
  readonly lower: unknown;
  readonly upper: unknown;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    this.lower = bounds.lower;
    this.upper = bounds.upper;
  }

  covers(key: IndexedKey): boolean {
    const { lower, upper, isLowerOpen, isUpperOpen } = this.#bounds;
    const below = lower === undefined ? 1 : compareKeys(key, lower);
    const above = upper === undefined ? -1 : compareKeys(key, upper);
    if (below < 0 || above > 0) return false;
    return !(below === 0 && isLowerOpen === true) && !(above === 0 && isUpperOpen === true);
  }
}

function compareKeys(a: IndexedKey, b: IndexedKey): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function faultOf(name: string): IndexedFault {
  return new DOMException(`simulated ${name}`, name);
}
