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
import { transactionRange, txnIdOfKey } from "../store/keys.ts";
import type { Before, TransactionRecord } from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";

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
  for (const { key, value } of snapshot.reader.entries(range)) {
    const txnId = txnIdOfKey(key);
    const record = value as unknown as TransactionRecord;
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
  return { floor, documents: gathering.inOrder() };
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
  for (const { key, value } of snapshot.reader.entries(range)) {
    const record = value as unknown as TransactionRecord;
    const { count } = gathering;
    yield* gathering.take(txnIdOfKey(key), record);
    if (gathering.count > count) bytes += record.size;
    if (gathering.count > bounds.gatheredChanges || bytes > bounds.gatheredBytes) {
      gathering.halve();
      bytes /= 2;
    }
    yield;
  }
  return { documents: gathering.inOrder(), through: gathering.through };
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
    const operations = operationsOf(record);
    for (const [i, [index, previous, before]] of record.changes.entries()) {
      const operation = operations[index];
      if (operation !== undefined && isDocumentOperation(operation)) {
        if (!this.#isWanted(operation.collection)) continue;
        const document = this.#document(operation.collection, operation.id);
        if (document === undefined) continue;
        document.changes.push({ txnId, previous, before, record });
        if (++this.count > this.#countMax) return false;
      }
      if (i % CHANGES_PER_PAUSE === CHANGES_PER_PAUSE - 1) yield;
    }
    for (const operation of operations) {
      if (operation.kind !== "evict" || !this.#isWanted(operation.collection)) continue;
      const { key } = documentId(operation.id);
      const document = this.#byCollection.get(operation.collection)?.get(key);
      if (document !== undefined) document.isEvicted = true;
    }
    return true;
  }

  /** Lets go of the larger half of the ids, unless there is only one. */
  halve(): void {
    const documents = this.inOrder();
    const kept = documents.slice(0, Math.ceil(documents.length / 2));
    this.through = kept.at(-1)?.idKey ?? this.through;
    this.count = 0;
    for (const { changes } of kept) this.count += changes.length;
    for (const { collection, idKey } of documents.slice(kept.length)) {
      this.#byCollection.get(collection)?.delete(idKey);
    }
  }

  inOrder(): WindowDocument[] {
    const names = [...this.#byCollection.keys()].sort(compareKeys);
    return names.flatMap((name) => {
      const documents = [...(this.#byCollection.get(name)?.values() ?? [])];
      return documents.sort((a, b) => compareKeys(a.idKey, b.idKey));
    });
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

function operationsOf({ steps }: TransactionRecord): readonly Operation[] {
  const [first] = steps;
  return steps.length === 1 && first !== undefined
    ? first.operations
    : steps.flatMap(({ operations }) => operations);
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
   * leaves no trace in stamps, or when the state may have lost what it wrote.
   */
  since(document: WindowDocument, since: number, horizon: number): Set<string> | undefined {
    const names = new Set<string>();
    for (const { txnId, record } of document.changes) {
      if (txnId <= since) break;
      const stamps = this.#of(record).get(placeOf(document.collection, document.idKey));
      if (stamps === undefined) return undefined;
      for (const stamp of stamps) {
        if (stamp.time > 0 && stamp.time <= horizon) return undefined;
        names.add(stampName(stamp));
      }
    }
    return names;
  }

  #of(record: TransactionRecord): Map<string, readonly Stamp[] | undefined> {
    let known = this.#byRecord.get(record);
    if (known === undefined) {
      known = this.#read(record);
      this.#byRecord.set(record, known);
    }
    return known;
  }

  #read(record: TransactionRecord): Map<string, readonly Stamp[] | undefined> {
    const byPlace = new Map<string, readonly Stamp[] | undefined>();
    for (const { time, site, operations } of record.steps) {
      const own: Stamp = { time, site: site ?? this.#site };
      for (const operation of operations) {
        if (!isDocumentOperation(operation)) continue;
        const place = placeOf(operation.collection, documentId(operation.id).key);
        const known = byPlace.get(place) ?? [];
        const isLost = byPlace.has(place) && byPlace.get(place) === undefined;
        const isTraceless = operation.kind === "evict" || operation.kind === "merge";
        const written = operation.kind === "initial" ? ZERO : own;
        const stamps = [...known, written, beforeStamp(written)];
        byPlace.set(place, isLost || isTraceless ? undefined : stamps);
      }
    }
    return byPlace;
  }
}

function placeOf(collection: string, idKey: string): string {
  return `${collection}\n${idKey}`;
}

export function stampName({ time, site }: Stamp): string {
  return `${time}/${site}`;
}
