/**
 * Document images: the shown fields of a document after a past transaction.
 *
 * The log has what each change removed. So an image is rebuilt from the current document, back
 * through the changes since. A document that changes often has a long way back: images on the way
 * are kept, so that the next walk starts near its end.
 */

import { documentId, isDocumentOperation, type ValueObject } from "@bigpeer/protocol";
import type { Steps } from "../steps.ts";
import { imageBefore, loggedIds, operationsOf, readTransaction } from "../store/change-log.ts";
import { metaKey, transactionRange } from "../store/keys.ts";
import {
  approximateSize,
  type Change,
  readMetaRecord,
  type TransactionRecord,
} from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";

/** Names a document in the store. */
export interface DocumentPlace {
  readonly collection: string;
  readonly idKey: string;
}

/** The fields after a transaction; undefined if nothing showed. */
interface Anchor {
  readonly txnId: number;
  readonly fields: ValueObject | undefined;
}

/** Steps of a walk after which an image is kept. */
const ANCHOR_STEPS = 64;

/** Approximate bytes of all kept images, and how many evictions are remembered. */
const ANCHOR_BYTES_MAX = 8 * 1024 * 1024;
const EVICTED_MAX = 100_000;

/** Decoded records that are kept, and the size above which none is. */
const RECORDS_MAX = 64;
const RECORD_SIZE_MAX = 256 * 1024;

export class DocumentImages {
  readonly #anchors = new Map<string, Anchor[]>();
  #anchorBytes = 0;
  readonly #records = new Map<number, TransactionRecord>();
  readonly #places = new WeakMap<TransactionRecord, Map<string, Change>>();
  /** Evictions, by document, in the transactions of `#searched`. */
  readonly #evicted = new Map<string, number[]>();
  #searched: { from: number; to: number } | undefined;

  /** The record of a transaction, for readers at nearby positions. */
  *record(snapshot: StoreSnapshot, txnId: number): Steps<TransactionRecord | undefined> {
    const known = this.#records.get(txnId);
    if (known !== undefined) return known;
    const record = yield* readTransaction(snapshot, txnId);
    if (record === undefined || record.size > RECORD_SIZE_MAX) return record;
    this.#records.set(txnId, record);
    for (const oldest of this.#records.keys()) {
      if (this.#records.size <= RECORDS_MAX) break;
      this.#records.delete(oldest);
    }
    return record;
  }

  /**
   * The fields of a document after a transaction of the log, which may have changed it or not.
   * `hasExisted`: whether the caller knows that the document existed then, or just before.
   */
  *after(
    snapshot: StoreSnapshot,
    place: DocumentPlace,
    txnId: number,
    hasExisted: boolean,
  ): Steps<ValueObject | undefined> {
    const name = nameOf(place);
    const anchor = this.#anchorAfter(name, txnId);
    const version = anchor?.txnId ?? versionOf(snapshot, place);
    if (version === 0)
      return hasExisted ? yield* this.#beforeEviction(snapshot, place, txnId) : undefined;
    const fields = anchor === undefined ? shownFields(snapshot, place) : anchor.fields;
    if (version <= txnId) return fields;
    return yield* this.#walk(snapshot, place, { version, fields, txnId, hasExisted });
  }

  /** The change of a document by a transaction; undefined if it did not change it. */
  *changeOf(
    snapshot: StoreSnapshot,
    txnId: number,
    place: DocumentPlace,
  ): Steps<{ readonly change: Change; readonly index: number } | undefined> {
    const record = yield* this.record(snapshot, txnId);
    if (record === undefined) return undefined;
    const change = this.#placesOf(record).get(nameOf(place));
    return change && { change, index: record.changes.indexOf(change) };
  }

  /** Documents that were evicted after a transaction; some may be back. */
  *evictedAfter(snapshot: StoreSnapshot, txnId: number): Steps<readonly DocumentPlace[]> {
    yield* this.#search(snapshot, txnId);
    const places: DocumentPlace[] = [];
    for (const [name, txnIds] of this.#evicted) {
      if ((txnIds.at(-1) ?? 0) <= txnId) continue;
      const [length, rest] = splitOnce(name, " ");
      const end = Number(length);
      places.push({ collection: rest.slice(0, end), idKey: rest.slice(end) });
      yield;
    }
    return places;
  }

  *#walk(
    snapshot: StoreSnapshot,
    place: DocumentPlace,
    start: {
      readonly version: number;
      readonly fields: ValueObject | undefined;
      readonly txnId: number;
      readonly hasExisted: boolean;
    },
  ): Steps<ValueObject | undefined> {
    const { txnId, hasExisted } = start;
    let { version, fields } = start;
    for (let step = 1; version > txnId; step++) {
      const record = yield* this.record(snapshot, version);
      const change = record && this.#placesOf(record).get(nameOf(place));
      if (change === undefined) return undefined;
      fields = imageBefore(change[2], fields);
      [, version] = change;
      if (step % ANCHOR_STEPS === 0 && version > txnId) this.#keep(nameOf(place), version, fields);
      yield;
    }
    if (version > 0 || !hasExisted) return fields;
    // It was evicted since and came back: the walk ended at its return.
    return yield* this.#beforeEviction(snapshot, place, txnId);
  }

  /** An eviction removes the metadata: the way back starts at the eviction. */
  *#beforeEviction(
    snapshot: StoreSnapshot,
    place: DocumentPlace,
    txnId: number,
  ): Steps<ValueObject | undefined> {
    yield* this.#search(snapshot, txnId);
    const evictions = this.#evicted.get(nameOf(place)) ?? [];
    const next = evictions.find((each) => each > txnId);
    if (next === undefined) return undefined;
    const found = yield* this.changeOf(snapshot, next, place);
    if (found === undefined) return undefined;
    const [, version, before] = found.change;
    const fields = imageBefore(before, undefined);
    if (version <= txnId) return fields;
    return yield* this.#walk(snapshot, place, { version, fields, txnId, hasExisted: false });
  }

  /** Remembers all evictions after a transaction, each part of the log once. */
  *#search(snapshot: StoreSnapshot, after: number): Steps<void> {
    const last = snapshot.head.txnId;
    const known = this.#searched;
    if (known !== undefined && known.from <= after && known.to >= last) return;
    const isJoined = known !== undefined && known.from <= after && known.to >= after;
    if (!isJoined || this.#evicted.size > EVICTED_MAX) this.#evicted.clear();
    const from = isJoined && this.#evicted.size > 0 ? known.to : after;
    for (const txnId of loggedIds(snapshot, transactionRange(from, last))) {
      const record = yield* readTransaction(snapshot, txnId);
      if (record === undefined) continue;
      const operations = operationsOf(record.steps);
      for (const [index] of record.changes) {
        const operation = operations[index];
        if (operation?.kind !== "evict") continue;
        const { collection, id } = operation;
        const name = nameOf({ collection, idKey: documentId(id).key });
        const list = this.#evicted.get(name) ?? [];
        list.push(txnId);
        this.#evicted.set(name, list);
      }
      yield;
    }
    this.#searched = { from: isJoined && from !== after ? known.from : after, to: last };
  }

  #placesOf(record: TransactionRecord): Map<string, Change> {
    const known = this.#places.get(record);
    if (known !== undefined) return known;
    const places = new Map<string, Change>();
    const operations = operationsOf(record.steps);
    for (const change of record.changes) {
      const operation = operations[change[0]];
      if (operation === undefined || !isDocumentOperation(operation)) continue;
      const { collection, id } = operation;
      places.set(nameOf({ collection, idKey: documentId(id).key }), change);
    }
    this.#places.set(record, places);
    return places;
  }

  /** The oldest kept image after a transaction. */
  #anchorAfter(name: string, txnId: number): Anchor | undefined {
    let best: Anchor | undefined;
    for (const anchor of this.#anchors.get(name) ?? []) {
      if (anchor.txnId > txnId && (best === undefined || anchor.txnId < best.txnId)) best = anchor;
    }
    return best;
  }

  #keep(name: string, txnId: number, fields: ValueObject | undefined): void {
    this.#anchorBytes += approximateSize(fields ?? null);
    if (this.#anchorBytes > ANCHOR_BYTES_MAX) {
      this.#anchors.clear();
      this.#anchorBytes = 0;
    }
    const list = this.#anchors.get(name) ?? [];
    list.push({ txnId, fields });
    this.#anchors.set(name, list);
  }
}

function nameOf({ collection, idKey }: DocumentPlace): string {
  return `${collection.length} ${collection}${idKey}`;
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The last transaction that changed a document; 0 if the store does not know it. */
function versionOf(snapshot: StoreSnapshot, { collection, idKey }: DocumentPlace): number {
  const number = snapshot.collectionNumber(collection);
  const record = number === undefined ? undefined : snapshot.reader.get(metaKey(number, idKey));
  return record === undefined ? 0 : readMetaRecord(record).version;
}

function shownFields(
  snapshot: StoreSnapshot,
  { collection, idKey }: DocumentPlace,
): ValueObject | undefined {
  return snapshot.getByKey(collection, idKey)?.fields;
}
