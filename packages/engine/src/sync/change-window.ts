/**
 * Change window: what happened to each document in the last transactions, so that it can be told to
 * streams that stand at different ones.
 *
 * It is read from the newest transaction back. Whoever stands at or above its floor finds all that he
 * lacks in it; so one reading serves the live streams and all that come back at the same time.
 */

import {
  beforeStamp,
  documentId,
  isDocumentOperation,
  type Operation,
  type Site,
  type Stamp,
  type Value,
  ZERO,
} from "@bigpeer/protocol";
import type { Steps } from "../query/frame/steps.ts";
import { loggedIds, operationsOf, readTransaction } from "../store/change-log.ts";
import { transactionRange } from "../store/keys.ts";
import type { Before, TransactionRecord } from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";
import { sortedInSteps } from "./sorted-steps.ts";

/** What one transaction did to a document. */
export interface WindowChange {
  readonly txnId: number;
  /** The version of the document before it. */
  readonly previous: number;
  readonly before: Before | null;
  readonly record: TransactionRecord;
}

export interface WindowDocument {
  readonly collection: string;
  readonly id: Value;
  readonly idKey: string;
  /** The newest first. */
  readonly changes: readonly WindowChange[];
  /** Whether it was forgotten here by one of them: then nothing is known of how it ended. */
  readonly isEvicted: boolean;
}

export interface ChangeWindow {
  /** Streams that stand at this transaction or later find here all that they lack. */
  readonly floor: number;
  /** In the order of collections, then of ids. */
  readonly documents: readonly WindowDocument[];
}

export interface WindowBounds {
  readonly gatheredChanges: number;
  readonly gatheredBytes: number;
}

/** Changes after which a pause is offered. */
const CHANGES_PER_PAUSE = 64;

/** The changes after `since`, of the collections that are wanted, as far back as the bounds allow. */
export function* gatherWindow(
  snapshot: StoreSnapshot,
  since: number,
  isWanted: (collection: string) => boolean,
  bounds: WindowBounds,
): Steps<ChangeWindow> {
  const { floor: logFloor, txnId: last } = snapshot.head;
  let floor = Math.max(since, logFloor);
  const gathering = new Gathering(isWanted, bounds.gatheredChanges);
  const range = { ...transactionRange(floor, last), reverse: true };
  let bytes = 0;
  for (const txnId of loggedIds(snapshot, range)) {
    const record = yield* readTransaction(snapshot, txnId);
    if (record === undefined) continue;
    const { count } = gathering;
    if (!(yield* gathering.take(txnId, record))) {
      // What was taken of it is about nobody who stands at it or later.
      floor = txnId;
      break;
    }
    if (gathering.count > count) bytes += record.size;
    if (bytes > bounds.gatheredBytes) {
      floor = Math.max(floor, txnId - 1);
      break;
    }
    yield;
  }
  return { floor, documents: yield* gathering.inOrder() };
}

/** The changes of a part of the ids of one collection. */
export interface LogSlice {
  readonly documents: readonly WindowDocument[];
  /** The key of the last id of the part; undefined for all that are left. */
  readonly through: string | undefined;
}

/**
 * Of more changes than are gathered at once: those of the ids behind `after`, as many as the bounds
 * allow. The log is read as a whole, so that nothing of these ids is missing.
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
  /** Only ids behind this, up to and with that. */
  after: string | undefined;
  through: string | undefined;

  constructor(isWanted: (collection: string) => boolean, countMax: number) {
    this.#isWanted = isWanted;
    this.#countMax = countMax;
  }

  /** False when there are too many changes: then not all of the transaction was taken. */
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

  /** Lets go of the larger half of the ids, unless there is only one. */
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

  /** Undefined where it is not to be gathered. */
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

/** By code unit, which for keys is by byte. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** What the operations of one transaction wrote, document by document. */
export class WrittenStamps {
  readonly #site: Site;
  readonly #byRecord = new WeakMap<TransactionRecord, Map<string, readonly Stamp[] | undefined>>();

  /** `site`: that of the store, whose own steps do not name it. */
  constructor(site: Site) {
    this.#site = site;
  }

  /**
   * The names of all stamps that changes after `since` wrote to a document. Undefined when one of them
   * leaves no trace in stamps, or when the state may have lost what it wrote. What the changes wrote
   * must have been learned.
   */
  since(document: WindowDocument, since: number, horizon: number): Set<string> | undefined {
    const names = new Set<string>();
    for (const { txnId, record } of document.changes) {
      if (txnId <= since) break;
      const stamps = this.#byRecord.get(record)?.get(placeOf(document.collection, document.idKey));
      if (stamps === undefined) return undefined;
      for (const stamp of stamps) {
        if (stamp.time > 0 && stamp.time <= horizon) return undefined;
        names.add(stampName(stamp));
      }
    }
    return names;
  }

  /** Goes through the transactions that changed a document, each once for all documents. */
  *learn({ changes }: WindowDocument): Steps<void> {
    for (const { record } of changes) {
      if (!this.#byRecord.has(record)) this.#byRecord.set(record, yield* this.#read(record));
    }
  }

  *#read(record: TransactionRecord): Steps<Map<string, Stamp[] | undefined>> {
    const byPlace = new Map<string, Stamp[] | undefined>();
    let count = 0;
    for (const { time, site, operations } of record.steps) {
      const own: Stamp = { time, site: site ?? this.#site };
      for (const operation of operations) {
        if (++count % CHANGES_PER_PAUSE === 0) yield;
        if (!isDocumentOperation(operation)) continue;
        const place = placeOf(operation.collection, documentId(operation.id).key);
        addWritten(byPlace, place, stampOf(operation, own));
      }
    }
    return byPlace;
  }
}

/** What an operation writes; undefined where it leaves no trace in stamps. */
function stampOf({ kind }: Operation, own: Stamp): Stamp | undefined {
  if (kind === "evict" || kind === "merge") return undefined;
  return kind === "initial" ? ZERO : own;
}

/** Once something left no trace, the stamps of the document do not tell all. */
function addWritten(
  byPlace: Map<string, Stamp[] | undefined>,
  place: string,
  written: Stamp | undefined,
): void {
  const known = byPlace.get(place);
  if (known === undefined && byPlace.has(place)) return;
  if (written === undefined) byPlace.set(place, undefined);
  else if (known === undefined) byPlace.set(place, [written, beforeStamp(written)]);
  else if (known.at(-2) !== written) known.push(written, beforeStamp(written));
}

function placeOf(collection: string, idKey: string): string {
  return `${collection}\n${idKey}`;
}

export function stampName({ time, site }: Stamp): string {
  return `${time}/${site}`;
}
