/**
 * The IndexedDB database of a store: opening it, its object stores and format, deleting it.
 *
 * `page` has the ranges of keys by their names, `log` the commits after the last checkpoint by their
 * numbers, and `meta` one record with the format, the identity of the database and the number of the
 * last commit that is in its pages. It does not know what is in a page or a log record.
 */

import { PeerError } from "@bigpeer/protocol";
import type {
  IndexedDatabase,
  IndexedDb,
  IndexedFault,
  IndexedRequest,
  IndexedTransaction,
} from "./indexed-db.ts";

export const STORES = { meta: "meta", page: "page", log: "log" } as const;

/** The format of the records. It is separate from the version that IndexedDB has for its stores. */
export const FORMAT_VERSION = 1;

const SCHEMA_VERSION = 1;

export const META_KEY = "store";

export interface MetaRecord {
  readonly product: "bigpeer";
  readonly format: number;
  /** Random, and new for each database: another one of the same name is not continued. */
  readonly id: string;
  /** All commits up to this number are in the pages; the log begins after it. */
  readonly sequence: number;
}

/** `id` is the identity of the database if it is a new one; undefined refuses to create it. */
export interface OpenOptions {
  readonly name: string;
  readonly id: string | undefined;
}

/** Thrown if the database that is opened again is not there any more. */
export class DatabaseGone extends Error {}

/** Rejects with the browser's error if IndexedDB cannot be opened, or with `store.format_newer`. */
export async function openDatabase(db: IndexedDb, options: OpenOptions): Promise<IndexedDatabase> {
  const request = db.indexedDB.open(options.name, SCHEMA_VERSION);
  let isGone = false;
  request.addEventListener("upgradeneeded", () => {
    if (options.id === undefined) {
      isGone = true;
      request.transaction?.abort();
    } else createStores(request.result, options.id);
  });
  try {
    return await resultOf(request);
  } catch (error) {
    if (isGone) throw new DatabaseGone("the database does not exist any more", { cause: error });
    if (nameOf(error) !== "VersionError") throw error;
    throw newerFormat(options.name, error);
  }
}

/**
 * Deletes the database with everything in it. Waits until all connections to it are closed: open ones
 * get the event `versionchange`, and those of this storage then close.
 */
export async function deleteAll(db: IndexedDb, name: string): Promise<void> {
  await resultOf(db.indexedDB.deleteDatabase(name));
}

/** Throws `store.foreign`, `store.format_newer` or `store.corrupt`. */
export function checkMeta(stored: unknown, name: string): MetaRecord {
  const meta = (typeof stored === "object" && stored !== null ? stored : {}) as Partial<MetaRecord>;
  const { product, format, id, sequence } = meta;
  if (product !== "bigpeer") {
    throw new PeerError("store.foreign", `the database ${name} does not belong to Big Peer`);
  }
  if (typeof format === "number" && format > FORMAT_VERSION) {
    throw newerFormat(name);
  }
  if (format !== FORMAT_VERSION || typeof id !== "string" || !Number.isSafeInteger(sequence)) {
    const message = `expected the database ${name} in format ${FORMAT_VERSION}, found ${format}`;
    throw new PeerError("store.corrupt", message);
  }
  return meta as MetaRecord;
}

/** Resolves with the result of a request. */
export function resultOf<T>(request: IndexedRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(errorOf(request.error)));
  });
}

/** Resolves when the transaction is complete. */
export function completionOf(transaction: IndexedTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve());
    transaction.addEventListener("abort", () => reject(errorOf(transaction.error)));
  });
}

export function nameOf(error: unknown): string {
  return typeof error === "object" && error !== null && "name" in error ? String(error.name) : "";
}

/**
 * Whether a browser's error may be gone at the next attempt. InvalidStateError: the connection is
 * closing. AbortError: it was closed during a transaction, which may be written all the same; the
 * event that says so comes later.
 */
export function isTransient(error: unknown): boolean {
  return ["InvalidStateError", "UnknownError", "AbortError"].includes(nameOf(error));
}

function newerFormat(name: string, cause?: unknown): PeerError {
  const message =
    `the database ${name} has a newer format than ${FORMAT_VERSION}; ` +
    "use the version that wrote it, or a newer one: reload the page";
  return new PeerError("store.format_newer", message, { cause });
}

function createStores(database: IndexedDatabase, id: string): void {
  for (const name of [STORES.page, STORES.log]) database.createObjectStore(name);
  const meta: MetaRecord = { product: "bigpeer", format: FORMAT_VERSION, id, sequence: 0 };
  database.createObjectStore(STORES.meta).put(meta, META_KEY);
}

/** A browser's error, which is always an Error; a transaction can also be aborted without one. */
function errorOf(fault: IndexedFault | null): Error {
  if (fault instanceof Error) return fault;
  const error = new Error(fault?.message ?? "the browser aborted the transaction");
  error.name = fault?.name ?? "AbortError";
  return error;
}
