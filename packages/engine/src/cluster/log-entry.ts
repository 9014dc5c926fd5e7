/**
 * Log entry: one message of the log that the nodes of a cluster share, and its encoding in CBOR.
 *
 * Every entry names the digest of the one before it, so all of them are a chain: a node that meets
 * an entry of another chain notices it. It also has the epoch, and a random name of its writer: a
 * node that becomes the evaluating node begins a new epoch under a new name. Without the name, two
 * nodes that do so at once would append the same bytes, and the log would take them for one entry.
 *
 * A flush of the commit queue is one entry. One that is too large for that goes in numbered parts,
 * which apply when all of them are there: a flush is in the log as a whole or not at all.
 */

import {
  assert,
  ByteReader,
  decodeCbor,
  decodeCborIncremental,
  decodeLimits,
  encodeCbor,
  encodeCborIncremental,
  isArray,
  isObject,
  PeerError,
  readCbor,
  type Site,
  type Value,
} from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import type { Steps } from "../steps.ts";
import type { TransactionRecord } from "../store/records.ts";

/**
 * Format 2: a transaction may name its writer.
 *
 * This version reads all formats up to the newest, and writes those from the oldest to the newest.
 * A newer one is written only when every node reads it: see LogWriterHost.
 */
export const NEWEST_ENTRY_FORMAT = 2;
export const OLDEST_ENTRY_FORMAT = 1;

/** From this format on, entries name the writers of transactions. */
export const WRITER_ENTRY_FORMAT = 2;

/** Size of the transactions in an entry; with its head it has less than 4 MiB. */
export const CONTENT_SIZE_MAX: number = 4 * 1024 * 1024 - 1024;

/** Up to this size a transaction is encoded and decoded without a pause: about a millisecond. */
const AT_ONCE_SIZE_MAX: number = 32 * 1024;

export const DIGEST_SIZE = 32;

/** The digest that the first entry names as the one before it. */
export const FIRST_DIGEST: Uint8Array = new Uint8Array(DIGEST_SIZE);

/** A transaction as a node needs it to do the same: the rest of its record follows from it (K20). */
export type SharedRecord = Omit<TransactionRecord, "changes" | "size">;

export interface SharedTransaction {
  readonly txnId: number;
  readonly record: SharedRecord;
}

export interface LogEntry {
  readonly format: number;
  readonly epoch: number;
  readonly writer: string;
  /** Digest of the entry before. */
  readonly previous: Uint8Array;
  readonly content: EntryContent;
}

export type EntryContent =
  /** The first of a log: what all stores that follow it are. */
  | {
      readonly kind: "history";
      readonly historyId: string;
      readonly site: Site;
      /** Transactions up to this one are in the stores already. */
      readonly txnId: number;
    }
  /** Encoded transactions in their order; none at the beginning of an epoch, or to confirm it. */
  | {
      readonly kind: "transactions";
      readonly transactions: readonly Uint8Array[];
      /** The digest of what they write; only some entries have it. */
      readonly state?: Uint8Array;
    }
  /** One of `count` parts of the encoded transactions of a flush, counted from 1. */
  | {
      readonly kind: "part";
      readonly number: number;
      readonly count: number;
      readonly bytes: Uint8Array;
    };

export interface EncodedEntry {
  readonly bytes: Uint8Array;
  readonly digest: Uint8Array;
}

export function encodeEntry(
  { format, epoch, writer, previous, content }: LogEntry,
  platform: Pick<Platform, "sha256">,
): EncodedEntry {
  assert(previous.length === DIGEST_SIZE, "the digest of an entry");
  const bytes = encodeCbor({ format, epoch, writer, previous, ...content });
  return { bytes, digest: platform.sha256(bytes) };
}

/**
 * `newest` is the newest format that is read. Throws `store.format_newer`, or `store.corrupt` if it
 * is no entry.
 */
export function decodeEntry(bytes: Uint8Array, newest: number = NEWEST_ENTRY_FORMAT): LogEntry {
  let value: Value;
  try {
    value = decodeCbor(bytes);
  } catch (cause) {
    throw noEntry("it is no CBOR", cause);
  }
  if (!isObject(value)) throw noEntry("it is no object");
  const { format, epoch, writer, previous } = value;
  if (typeof format === "number" && format > newest) {
    const message = `the log of the cluster has entries of format ${format}, this node reads up to ${newest}: upgrade this node`;
    throw new PeerError("store.format_newer", message);
  }
  const isHead = isCount(format) && format >= 1 && isCount(epoch) && typeof writer === "string";
  if (!isHead || !isDigest(previous)) throw noEntry("its head is not valid");
  const content = contentOf(value);
  if (content === undefined) throw noEntry("its content is not valid");
  return { format, epoch, writer, previous, content };
}

type Fields = { readonly [name: string]: Value };

function contentOf(fields: Fields): EntryContent | undefined {
  switch (fields["kind"]) {
    case "history": {
      const { historyId, site, txnId } = fields;
      if (typeof historyId !== "string" || typeof site !== "string") return undefined;
      return isCount(txnId) ? { kind: "history", historyId, site, txnId } : undefined;
    }
    case "transactions": {
      const { transactions = null, state } = fields;
      if (!isArray(transactions) || !transactions.every(isBytes)) return undefined;
      if (state === undefined) return { kind: "transactions", transactions };
      return isDigest(state) ? { kind: "transactions", transactions, state } : undefined;
    }
    case "part": {
      const { number, count, bytes } = fields;
      if (!isCount(number) || !isCount(count) || !isBytes(bytes)) return undefined;
      const isPart = number >= 1 && number <= count;
      return isPart ? { kind: "part", number, count, bytes } : undefined;
    }
    default:
      return undefined;
  }
}

/** The contents of the entries for a flush: one with all its transactions, or its parts. */
export function* contentsOf(
  transactions: readonly SharedTransaction[],
  sizeMax: number = CONTENT_SIZE_MAX,
): Steps<EntryContent[]> {
  const encoded: Uint8Array[] = [];
  let size = 0;
  for (const transaction of transactions) {
    const bytes = yield* encodeTransaction(transaction);
    encoded.push(bytes);
    // The head of a byte string has at most five bytes.
    size += bytes.length + 5;
    yield;
  }
  if (size <= sizeMax) return [{ kind: "transactions", transactions: encoded }];
  return partsOf(yield* encodeCborIncremental(encoded), sizeMax);
}

/** The encoded transactions in the joined parts of a flush. Throws `store.corrupt`. */
export function* transactionsInParts(bytes: Uint8Array): Steps<readonly Uint8Array[]> {
  let value: Value;
  try {
    value = yield* decodeCborIncremental(bytes, decodeLimits(bytes.length, 1));
  } catch (cause) {
    throw noEntry("its parts are no CBOR", cause);
  }
  if (isArray(value) && value.every(isBytes)) return value;
  throw noEntry("its parts are no transactions");
}

function partsOf(bytes: Uint8Array, sizeMax: number): EntryContent[] {
  const count = Math.ceil(bytes.length / sizeMax);
  return Array.from({ length: count }, (_, i) => {
    const part = bytes.subarray(i * sizeMax, (i + 1) * sizeMax);
    return { kind: "part", number: i + 1, count, bytes: part };
  });
}

function* encodeTransaction({ txnId, record }: SharedTransaction): Steps<Uint8Array> {
  const value = [txnId, sharedPart(record)] as Value;
  const { size = Number.POSITIVE_INFINITY } = record as Partial<TransactionRecord>;
  return size <= AT_ONCE_SIZE_MAX ? encodeCbor(value) : yield* encodeCborIncremental(value);
}

/** Without what every node computes itself. */
function sharedPart(record: SharedRecord & Partial<TransactionRecord>): SharedRecord {
  const { changes: _changes, size: _size, ...shared } = record;
  return shared;
}

/** Throws `store.corrupt` if the bytes are no transaction. */
export function* decodeTransaction(bytes: Uint8Array): Steps<SharedTransaction> {
  let value: Value;
  try {
    value = yield* decodeRecord(bytes);
  } catch (cause) {
    throw noEntry("a transaction in it is no CBOR", cause);
  }
  if (isArray(value)) {
    const [txnId, record] = value;
    if (isCount(txnId) && record !== undefined && isObject(record)) {
      return { txnId, record: record as unknown as SharedRecord };
    }
  }
  throw noEntry("a transaction in it is not valid");
}

function* decodeRecord(bytes: Uint8Array): Steps<Value> {
  if (bytes.length > AT_ONCE_SIZE_MAX) {
    return yield* decodeCborIncremental(bytes, decodeLimits(bytes.length, LEVELS_AROUND));
  }
  const reader = new ByteReader(bytes, "cbor.malformed");
  const value = readCbor(reader, LEVELS_AROUND);
  reader.end();
  return value;
}

/** Levels of a record around the values of documents: record, steps, step, operations, … */
const LEVELS_AROUND = 12;

function isBytes(value: Value | undefined): value is Uint8Array {
  return value instanceof Uint8Array;
}

function isDigest(value: Value | undefined): value is Uint8Array {
  return isBytes(value) && value.length === DIGEST_SIZE;
}

export function isSameDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function isCount(value: Value | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function noEntry(reason: string, cause?: unknown): PeerError {
  const message = `expected an entry of the log of a cluster: ${reason}`;
  return new PeerError("store.corrupt", message, { cause });
}
