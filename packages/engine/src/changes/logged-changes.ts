/**
 * Logged changes: the changes of some transactions of the log, with the document before and after
 * each. They are read in chunks of bounded size; a large transaction is several chunks.
 */

import { documentId, isDocumentOperation, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Steps } from "../steps.ts";
import { imageBefore, loggedIds, operationsOf } from "../store/change-log.ts";
import { transactionRange } from "../store/keys.ts";
import { approximateSize, type Before, type Writer } from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";
import type { StoredDocument } from "../store/view.ts";
import type { Position } from "./cursor.ts";
import type { DocumentImages } from "./document-images.ts";

/** A transaction as its lines name it. */
export interface TransactionNames {
  readonly txnId: number;
  readonly at: number;
  readonly by: Writer | undefined;
}

/** The change of one document by one transaction. */
export interface LoggedChange {
  readonly transaction: TransactionNames;
  /** Its place among all changes of the transaction. */
  readonly index: number;
  readonly collection: string;
  readonly id: Value;
  readonly before: StoredDocument | undefined;
  readonly after: StoredDocument | undefined;
  /** The document is only no longer held here. */
  readonly isEvicted: boolean;
  /** What the change removed: names the changed fields. */
  readonly removed: Before | null;
}

export interface ChangeChunk {
  /** In order. */
  readonly changes: readonly LoggedChange[];
  /** Position after the chunk. */
  readonly through: Position;
  /** Transactions that end in this chunk. */
  readonly ended: ReadonlySet<number>;
}

export interface ChunkBounds {
  /** Changes of wanted collections, and transactions, after which a chunk ends. */
  readonly changes: number;
  readonly transactions: number;
  /** Approximate bytes of the records after which it ends. */
  readonly bytes: number;
  /** The same of the documents before and after the changes. A chunk has at least one change. */
  readonly imageBytes: number;
}

export const CHUNK_BOUNDS: ChunkBounds = {
  changes: 256,
  transactions: 4096,
  bytes: 1024 * 1024,
  imageBytes: 8 * 1024 * 1024,
};

/** Changes that are looked at between two pauses. */
const PER_PAUSE = 64;

/** A change before its images are known. */
interface FoundChange extends Omit<LoggedChange, "before" | "after"> {
  readonly idKey: string;
}

export interface ChunkSource {
  readonly snapshot: StoreSnapshot;
  readonly images: DocumentImages;
  readonly isWanted: (collection: string) => boolean;
}

/** The changes after a position, as many as the bounds allow. */
export function* readChunk(
  source: ChunkSource,
  from: Position,
  bounds: ChunkBounds = CHUNK_BOUNDS,
): Steps<ChangeChunk> {
  const { snapshot } = source;
  const last = snapshot.head.txnId;
  const found: FoundChange[] = [];
  const ended = new Set<number>();
  let through = from;
  let bytes = 0;
  let transactions = 0;
  const start = from.index === undefined ? from.txnId : from.txnId - 1;
  for (const txnId of loggedIds(snapshot, transactionRange(start, last))) {
    const record = yield* source.images.record(snapshot, txnId);
    if (record === undefined) continue;
    const { at, by, changes, size } = record;
    const operations = operationsOf(record.steps);
    const transaction = { txnId, at, by };
    const first = txnId === from.txnId ? (from.index ?? -1) + 1 : 0;
    for (let index = first; index < changes.length; index++) {
      if (index % PER_PAUSE === PER_PAUSE - 1) yield;
      const [operationIndex, , removed] = changes[index] ?? [-1, 0, null];
      const operation = operations[operationIndex];
      if (operation === undefined || !isDocumentOperation(operation)) continue;
      const { collection } = operation;
      if (!source.isWanted(collection)) continue;
      if (found.length >= bounds.changes) {
        return yield* chunkOf(source, found, { through, ended, bounds });
      }
      const { id, key: idKey } = documentId(operation.id);
      const isEvicted = operation.kind === "evict";
      found.push({ transaction, index, collection, id, idKey, isEvicted, removed });
      through = { txnId, index };
    }
    through = { txnId };
    ended.add(txnId);
    bytes += size;
    if (bytes > bounds.bytes || ++transactions >= bounds.transactions) {
      return yield* chunkOf(source, found, { through, ended, bounds });
    }
    yield;
  }
  // Ids are not used without gaps: the rest of the log is empty.
  if (through.index === undefined && through.txnId < last) through = { txnId: last };
  return yield* chunkOf(source, found, { through, ended, bounds });
}

/** The chunk with the images of its changes; a part of it if they are too large together. */
function* chunkOf(
  source: ChunkSource,
  found: readonly FoundChange[],
  { bounds, ...end }: Omit<ChangeChunk, "changes"> & { readonly bounds: ChunkBounds },
): Steps<ChangeChunk> {
  for (let count = found.length; ; count = Math.ceil(count / 2)) {
    const part = found.slice(0, count);
    const changes = yield* withImages(source, part, count > 1 ? bounds.imageBytes : Infinity);
    if (changes === undefined) continue;
    const last = part.at(-1);
    if (last === undefined || count === found.length) return { changes, ...end };
    const { index, transaction } = last;
    const { txnId } = transaction;
    const ended = new Set(Array.from(end.ended).filter((id) => id < txnId));
    return { changes, through: { txnId, index }, ended };
  }
}

/** Goes from the end back, so that each document is found once. Undefined beyond the bound. */
function* withImages(
  { snapshot, images }: ChunkSource,
  found: readonly FoundChange[],
  bytesMax: number,
): Steps<readonly LoggedChange[] | undefined> {
  const fieldsOf = new Map<string, ValueObject | undefined>();
  const changes: LoggedChange[] = [];
  let bytes = 0;
  for (let i = found.length - 1; i >= 0; i--) {
    const { idKey, ...change } = found[i] as FoundChange;
    const { collection, id, removed, transaction } = change;
    const name = `${collection.length} ${collection}${idKey}`;
    const { txnId } = transaction;
    const fields = fieldsOf.has(name)
      ? fieldsOf.get(name)
      : yield* images.after(snapshot, { collection, idKey }, txnId, !change.isEvicted);
    const older = imageBefore(removed, fields);
    fieldsOf.set(name, older);
    bytes += approximateSize(fields ?? null) + approximateSize(older ?? null);
    if (bytes > bytesMax) return undefined;
    const after = fields && { id, fields, types: undefined };
    const before = older && { id, fields: older, types: undefined };
    changes.push({ ...change, before, after });
    if (i % PER_PAUSE === 0) yield;
  }
  return changes.toReversed();
}

/** The changes of one transaction in a chunk. */
export interface TransactionChanges {
  readonly txnId: number;
  readonly changes: readonly LoggedChange[];
  /** Whether it ends in this chunk. */
  readonly isEnded: boolean;
}

/** The transactions of a chunk with changes; also the one in which it begins. */
export function* byTransaction(
  { changes, ended }: ChangeChunk,
  from: Position,
): Iterable<TransactionChanges> {
  const first = changes[0]?.transaction.txnId;
  if (from.index !== undefined && first !== from.txnId && ended.has(from.txnId)) {
    yield { txnId: from.txnId, changes: [], isEnded: true };
  }
  for (let i = 0; i < changes.length; ) {
    const { txnId } = (changes[i] as LoggedChange).transaction;
    let end = i + 1;
    while (changes[end]?.transaction.txnId === txnId) end++;
    yield { txnId, changes: changes.slice(i, end), isEnded: ended.has(txnId) };
    i = end;
  }
}
