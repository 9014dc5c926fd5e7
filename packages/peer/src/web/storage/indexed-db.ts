/**
 * The part of the IndexedDB API that the storage of a browser uses, as interfaces.
 *
 * The compiler needs no types of a browser for it, and tests implement exactly these interfaces. A
 * browser's own objects fit them. Nothing here runs.
 */

/** The globals of a browser or a worker that the storage takes as an argument. */
export interface IndexedDb {
  readonly indexedDB: IndexedFactory;
  readonly IDBKeyRange: IndexedKeyRanges;
}

export interface IndexedFactory {
  open(name: string, version: number): OpenRequest;
  deleteDatabase(name: string): OpenRequest;
}

/** Ranges are opaque: the storage only creates them and passes them on. */
export interface IndexedKeyRanges {
  bound(
    lower: IndexedKey,
    upper: IndexedKey,
    isLowerOpen: boolean,
    isUpperOpen: boolean,
  ): IndexedRange;
  lowerBound(lower: IndexedKey): IndexedRange;
  upperBound(upper: IndexedKey): IndexedRange;
}

export type IndexedKey = string | number;

export interface IndexedRange {
  readonly lower: unknown;
  readonly upper: unknown;
}

/** The members that all errors of IndexedDB have. */
export interface IndexedFault {
  readonly name: string;
  readonly message: string;
}

export interface IndexedEvents {
  addEventListener(type: string, listener: (event: IndexedEvent) => void): void;
}

export interface IndexedEvent {
  readonly type: string;
}

/** `newVersion` is null when the database is to be deleted. */
export interface VersionChangeEvent extends IndexedEvent {
  readonly newVersion: number | null;
}

/** Events: `success`, `error`. */
export interface IndexedRequest<T> extends IndexedEvents {
  readonly result: T;
  readonly error: IndexedFault | null;
}

/** Events, in addition: `upgradeneeded`, `blocked`. */
export interface OpenRequest extends IndexedRequest<IndexedDatabase> {
  readonly transaction: IndexedTransaction | null;
}

/** Events: `close`, `versionchange`. */
export interface IndexedDatabase extends IndexedEvents {
  readonly objectStoreNames: { contains(name: string): boolean };
  createObjectStore(name: string): IndexedStore;
  transaction(
    stores: string[],
    mode: "readonly" | "readwrite",
    options?: { durability: "strict" | "relaxed" },
  ): IndexedTransaction;
  close(): void;
}

/** Events: `complete`, `abort`. */
export interface IndexedTransaction extends IndexedEvents {
  objectStore(name: string): IndexedStore;
  readonly error: IndexedFault | null;
  abort(): void;
  commit(): void;
}

export interface IndexedStore {
  get(key: IndexedKey): IndexedRequest<unknown>;
  getAll(range?: IndexedRange | null, count?: number): IndexedRequest<unknown[]>;
  getAllKeys(range?: IndexedRange | null, count?: number): IndexedRequest<unknown[]>;
  add(value: unknown, key: IndexedKey): IndexedRequest<unknown>;
  put(value: unknown, key: IndexedKey): IndexedRequest<unknown>;
  delete(key: IndexedKey | IndexedRange): IndexedRequest<unknown>;
}
