/**
 * Change window: the last changes of each document, for streams at different positions.
 *
 * The window is read from the newest transaction back. A stream at or above its floor finds all
 * changes that it lacks. So one read serves the live streams and all streams that return at the
 * same time.
 */

import { documentId, isDocumentOperation, type Value } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import { loggedIds, operationsOf, readTransaction } from "../../store/change-log.ts";
import { transactionRange } from "../../store/keys.ts";
import type { Before, TransactionRecord } from "../../store/records.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import { sortedInSteps } from "./sorted-steps.ts";

/** The change of a document by one transaction. */
export interface WindowChange {
  readonly txnId: number;
  /** Version of the document before the change. */
  readonly previous: number;
  readonly before: Before | null;
  readonly record: TransactionRecord;
}

export interface WindowDocument {
  readonly collection: string;
  readonly id: Value;
  readonly idKey: string;
  /** Newest first. */
  readonly changes: readonly WindowChange[];
  /** Whether one of the transactions evicted it: then it is unknown how the document ended. */
  readonly isEvicted: boolean;
}

export interface ChangeWindow {
  /** A stream at this transaction or later finds all changes that it lacks. */
  readonly start: number;
  /** Ordered by collection, then by id. */
  readonly documents: readonly WindowDocument[];
}

export interface WindowBounds {
  readonly gatheredChanges: number;
  readonly gatheredBytes: number;
}

/** Changes that are processed between two pauses. */
const CHANGES_PER_PAUSE = 64;

/** Gathers the changes after `since` of the wanted collections, as far back as the bounds allow. */
export function* gatherWindow(
  snapshot: StoreSnapshot,
  since: number,
  isWanted: (collection: string) => boolean,
  bounds: WindowBounds,
): Steps<ChangeWindow> {
  const { floor: logStart, txnId: last } = snapshot.head;
  let start = Math.max(since, logStart);
  const gathering = new Gathering(isWanted, bounds.gatheredChanges);
  const range = { ...transactionRange(start, last), reverse: true };
  let bytes = 0;
  for (const txnId of loggedIds(snapshot, range)) {
    const record = yield* readTransaction(snapshot, txnId);
    if (record === undefined) continue;
    const { count } = gathering;
    if (!(yield* gathering.take(txnId, record))) {
      // Streams at this transaction or later do not need the part of it that was taken.
      start = txnId;
      break;
    }
    if (gathering.count > count) bytes += record.size;
    if (bytes > bounds.gatheredBytes) {
      start = Math.max(start, txnId - 1);
      break;
    }
    yield;
  }
  return { start, documents: yield* gathering.inOrder() };
}

/** The changes of a range of ids of one collection. */
export interface LogSlice {
  readonly documents: readonly WindowDocument[];
  /** Key of the last id of the range; undefined if the range has no end. */
  readonly through: string | undefined;
}

/**
 * Gathers the changes of a range of ids after `after`, where there are too many to gather at once.
 * It reads the whole log, so that no change of these ids is missing.
 */
export function* gatherSlice(
  snapshot: StoreSnapshot,
  { collection, since, after }: { collection: string; since: number; after: string },
  bounds: WindowBounds,
): Steps<LogSlice> {
  const gathering = new Gathering((name) => name === collection, Number.POSITIVE_INFINITY);
  gathering.after = after;
  const range = { ...transactionRange(since, snapshot.head.txnId), reverse: true };
  let bytes = 0;
  for (const txnId of loggedIds(snapshot, range)) {
    const record = yield* readTransaction(snapshot, txnId);
    if (record === undefined) continue;
    const { count } = gathering;
    yield* gathering.take(txnId, record);
    if (gathering.count > count) bytes += record.size;
    if (gathering.count > bounds.gatheredChanges || bytes > bounds.gatheredBytes) {
      yield* gathering.halve();
      bytes /= 2;
    }
    yield;
  }
  return { documents: yield* gathering.inOrder(), through: gathering.through };
}

interface GatheredDocument extends WindowDocument {
  readonly changes: WindowChange[];
  isEvicted: boolean;
}

class Gathering {
  readonly #isWanted: (collection: string) => boolean;
  readonly #countMax: number;
  readonly #byCollection = new Map<string, Map<string, GatheredDocument>>();
  count = 0;
  /** The range of ids: after `after`, up to and including `through`. */
  after: string | undefined;
  through: string | undefined;

  constructor(isWanted: (collection: string) => boolean, countMax: number) {
    this.#isWanted = isWanted;
    this.#countMax = countMax;
  }

  /** Returns false if there are too many changes: the transaction was taken in part. */
  *take(txnId: number, record: TransactionRecord): Steps<boolean> {
    const operations = operationsOf(record.steps);
    for (const [i, [index, previous, before]] of record.changes.entries()) {
      if (i % CHANGES_PER_PAUSE === CHANGES_PER_PAUSE - 1) yield;
      const operation = operations[index];
      if (operation === undefined || !isDocumentOperation(operation)) continue;
      if (!this.#isWanted(operation.collection)) continue;
      const document = this.#document(operation.collection, operation.id);
      if (document === undefined) continue;
      document.changes.push({ txnId, previous, before, record });
      if (++this.count > this.#countMax) return false;
    }
    for (const [i, operation] of operations.entries()) {
      if (i % CHANGES_PER_PAUSE === CHANGES_PER_PAUSE - 1) yield;
      if (operation.kind !== "evict" || !this.#isWanted(operation.collection)) continue;
      const { key } = documentId(operation.id);
      const document = this.#byCollection.get(operation.collection)?.get(key);
      if (document !== undefined) document.isEvicted = true;
    }
    return true;
  }

  /** Drops the upper half of the ids, unless there is only one. */
  *halve(): Steps<void> {
    const documents = yield* this.inOrder();
    const kept = documents.slice(0, Math.ceil(documents.length / 2));
    this.through = kept.at(-1)?.idKey ?? this.through;
    this.count = 0;
    for (const { changes } of kept) this.count += changes.length;
    for (const [i, { collection, idKey }] of documents.slice(kept.length).entries()) {
      if (i % CHANGES_PER_PAUSE === CHANGES_PER_PAUSE - 1) yield;
      this.#byCollection.get(collection)?.delete(idKey);
    }
  }

  *inOrder(): Steps<readonly WindowDocument[]> {
    const names = [...this.#byCollection.keys()].sort(compareKeys);
    let all: readonly WindowDocument[] = [];
    for (const name of names) {
      const documents = [...(this.#byCollection.get(name)?.values() ?? [])];
      const sorted = yield* sortedInSteps(documents, (a, b) => compareKeys(a.idKey, b.idKey));
      all = all.length === 0 ? sorted : [...all, ...sorted];
    }
    return all;
  }

  /** Returns undefined if the id is outside the range. */
  #document(collection: string, named: Value): GatheredDocument | undefined {
    let byKey = this.#byCollection.get(collection);
    if (byKey === undefined) {
      byKey = new Map();
      this.#byCollection.set(collection, byKey);
    }
    const { id, key: idKey } = documentId(named);
    if (this.after !== undefined && idKey <= this.after) return undefined;
    if (this.through !== undefined && idKey > this.through) return undefined;
    let document = byKey.get(idKey);
    if (document === undefined) {
      document = { collection, id, idKey, changes: [], isEvicted: false };
      byKey.set(idKey, document);
    }
    return document;
  }
}

/** Compares by code unit, which for keys is the order of bytes. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
