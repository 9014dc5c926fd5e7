/**
 * Pending writes: records each local transaction as an upload that has no outcome yet.
 *
 * The record is part of the transaction itself, so the write becomes durable together with its
 * upload and its number (S24, S33, S35). On the first pending write of a document, its confirmed
 * state is kept aside, because the view differs from it from then on.
 */

import {
  documentId,
  hasTooManyContainers,
  type LocalOperation,
  type OnDocument,
  type Operation,
  PeerError,
  SYNC_MESSAGE_BYTES_MAX,
  type UploadOperation,
  type Value,
} from "@bigpeer/protocol";
import { heldKey, pendingKey, sequenceKey, touchKey } from "../store/keys.ts";
import type { OwnWrites } from "../store/own-writes.ts";
import {
  CHAIN_FACT,
  COUNT_FACT,
  chainFact,
  countFact,
  heldRecord,
  isHeldAlone,
  liveFact,
  OWN_COVER,
  type PendingRecord,
  readHeld,
  serverFact,
} from "../store/peer-records.ts";
import type { Transaction } from "../store/transaction.ts";
import { uploadContent } from "../store/upload.ts";
import type { UploadStep } from "../store/upload-step.ts";
import { linkAfter } from "./chain.ts";
import { Layers, localOperation, pendingHeld, storedParts } from "./layers.ts";
import type { Numbering } from "./sequenced-upload.ts";
import type { ServerTime } from "./server-time.ts";
import { allRecords, holed } from "./subscriptions.ts";

/**
 * Transactions without an outcome, at most: all of them are read again if the clock was wrong, and
 * all need space.
 */
export const PENDING_MAX = 100_000;

/** Bytes of an upload beside its steps, and those that corrected times may add. */
const MESSAGE_ROOM = 64 * 1024;

/** What recording a write needs: how to number it, and the server's clock. */
export interface Noting extends Numbering {
  readonly time: Pick<ServerTime, "offsetMs" | "isCertain">;
}

/**
 * Records the upload of a local transaction, and forgets the documents that it evicted. False if
 * there is nothing to upload.
 */
export function notePending(transaction: Transaction, own: OwnWrites, noting: Noting): boolean {
  if (own.steps.length > 0) transaction.apply(pendingOperations(transaction, own, noting));
  if (own.evicted.length > 0) evict(transaction, own.evicted);
  return own.steps.length > 0;
}

/**
 * S37: forgets the confirmed state, so that pending writes show over nothing. The subscriptions
 * that covered the documents must compare next.
 */
function evict(transaction: Transaction, documents: readonly OnDocument[]): void {
  const layers = new Layers(transaction);
  const covers = new Set<number>();
  for (const { collection, id } of documents) {
    const document = layers.document(collection, id);
    for (const cover of document.held?.covers ?? []) covers.add(cover);
    document.forget();
  }
  covers.delete(OWN_COVER);
  if (covers.size > 0) {
    for (const [key, record] of allRecords(layers.view.reader)) {
      if (covers.has(record.number)) layers.put(key, holed(record));
    }
  }
  layers.flush();
}

function pendingOperations(
  transaction: Transaction,
  own: OwnWrites,
  { life, platform, time }: Noting,
): Operation[] {
  const { reader } = transaction.view;
  const { txnId } = transaction;
  const { steps } = own;
  const counts = countFact(reader);
  if (counts.pending >= PENDING_MAX) {
    const message =
      `${PENDING_MAX} transactions wait for the server to take them; ` +
      "connect, so that they can be uploaded, before you write more";
    throw new PeerError("store.busy", message);
  }
  const fact = chainFact(reader, life);
  const { site, chain } = fact;
  const link = linkAfter(platform, fact, steps, sendableContent(steps));
  const { number, digest } = link;
  const { seen } = liveFact(reader);
  const sequence = { chain, number, digest };
  const { offsetMs: by } = time;
  const known = by === undefined ? {} : { by, ...(time.isCertain && { offset: by }) };
  const record: PendingRecord = {
    at: transaction.nowMs,
    ...known,
    seen,
    site,
    steps,
    seal: sequence,
  };
  return [
    localOperation(pendingKey(txnId), record as unknown as Value),
    localOperation(sequenceKey(chain, number), txnId),
    localOperation(CHAIN_FACT, { ...fact, ...link }),
    localOperation(COUNT_FACT, { ...counts, pending: counts.pending + 1 }),
    ...documentsOf(own).flatMap((place) => touchOperations(transaction, place)),
  ];
}

/** Throws for a transaction that no message can carry (S79): it would block all later uploads. */
function sendableContent(steps: readonly UploadStep[]): Uint8Array {
  const content = uploadContent(steps);
  const most = SYNC_MESSAGE_BYTES_MAX - MESSAGE_ROOM;
  if (content.length <= most && !hasTooManyContainers(content)) return content;
  if (content.length <= most) {
    const message =
      `expected fewer lists, objects and binary values in a transaction of ${content.length} bytes, ` +
      "because it is uploaded as one; write it in several, or them as fewer";
    throw new PeerError("operation.refused", message);
  }
  const message =
    `expected a transaction of at most ${most} bytes, because it is uploaded as one, ` +
    `found ${content.length}; write it in several`;
  throw new PeerError("operation.refused", message);
}

/** Records that a document was written to, and its confirmed state at the first pending write. */
function touchOperations(
  transaction: Transaction,
  { collection, id }: OnDocument,
): LocalOperation[] {
  const { view, txnId } = transaction;
  const idKey = documentId(id).key;
  const number = view.collectionNumber(collection);
  if (number === undefined) return [];
  const touch = localOperation(touchKey(number, idKey, txnId), true);
  const key = heldKey(number, idKey);
  const record = view.reader.get(key);
  if (record !== undefined && !isHeldAlone(record)) return [touch];
  const held = record === undefined ? undefined : readHeld(record);
  const confirmed = storedParts(transaction.before, number, idKey);
  const pending = pendingHeld(held, serverFact(view.reader).epoch, confirmed);
  return [touch, localOperation(key, heldRecord(pending))];
}

function documentsOf({ steps }: OwnWrites): OnDocument[] {
  if (steps.length === 1) return [...(steps[0]?.operations ?? [])];
  const documents = new Map<string, UploadOperation>();
  for (const operation of steps.flatMap(({ operations }) => operations)) {
    const name = `${documentId(operation.id).key}/${operation.collection}`;
    if (!documents.has(name)) documents.set(name, operation);
  }
  return [...documents.values()];
}
