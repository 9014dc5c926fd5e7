/**
 * Document changes: what several transactions did to each document, as one change.
 *
 * The log knows of each change what it took away. So from what shows now one goes back, change by
 * change, to what showed before the first of them. What a peer or an observer is told is always about
 * a durable state; the transactions between two of them may be many, and only the difference counts.
 */

import {
  type DocumentOperation,
  documentId,
  isDocumentOperation,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import {
  type Cursor,
  imageBefore,
  loggedIds,
  operationsOf,
  readTransaction,
} from "../../store/change-log.ts";
import { transactionRange } from "../../store/keys.ts";
import type { Before, Change } from "../../store/records.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { StoredDocument } from "../../store/view.ts";
import type { Steps } from "../frame/steps.ts";

/** What happened to one document between two states of the store. */
export interface DocumentChange {
  readonly collection: string;
  readonly id: Value;
  /** The id as a key: in its order documents come without ORDER BY. */
  readonly idKey: string;
  /** The transaction that changed it last. */
  readonly txnId: number;
  /** What showed before, without the marks of types; undefined when nothing did. */
  readonly before: StoredDocument | undefined;
  /** What shows now. */
  readonly after: StoredDocument | undefined;
}

/** A document that was changed, with what each change took away. */
export interface GatheredChange {
  readonly collection: string;
  readonly id: Value;
  readonly idKey: string;
  readonly txnId: number;
  /** Null where nothing showed before. */
  readonly befores: readonly (Before | null)[];
}

/** More than these are not gathered: whoever wanted them reads everything again. */
export const CHANGED_DOCUMENTS_MAX = 10_000;

/** Approximate bytes of the transactions that they may come from. */
const CHANGED_BYTES_MAX = 64 * 1024 * 1024;

/** Changes after which a pause is offered. */
const CHANGES_PER_PAUSE = 64;

/**
 * The documents that were changed after a cursor, in the order of their first change; undefined when
 * the log does not reach back so far or when they are too many. Only of collections that are wanted.
 */
export function* changedDocuments(
  snapshot: StoreSnapshot,
  cursor: Cursor,
  isWanted: (collection: string) => boolean,
): Steps<readonly GatheredChange[] | undefined> {
  const since = snapshot.changesSince(cursor);
  if (since.kind === "rebase") return undefined;
  const gathered = new Gathered();
  let bytes = 0;
  for (const txnId of loggedIds(snapshot, transactionRange(cursor.txnId, snapshot.head.txnId))) {
    const record = yield* readTransaction(snapshot, txnId);
    if (record === undefined) continue;
    const { changes, size } = record;
    const operations = operationsOf(record.steps);
    const before = gathered.count;
    for (let i = 0; i < changes.length; i++) {
      const change = changes[i] as Change;
      const operation = operations[change[0]];
      if (operation !== undefined && isDocumentOperation(operation)) {
        if (isWanted(operation.collection)) gathered.add(txnId, operation, change[2]);
      }
      if (gathered.count > CHANGED_DOCUMENTS_MAX) return undefined;
      if (i % CHANGES_PER_PAUSE === CHANGES_PER_PAUSE - 1) yield;
    }
    if (gathered.count === before) continue;
    bytes += size;
    if (bytes > CHANGED_BYTES_MAX) return undefined;
    yield;
  }
  return gathered.documents;
}

interface Gathering extends GatheredChange {
  txnId: number;
  readonly befores: (Before | null)[];
}

class Gathered {
  readonly documents: Gathering[] = [];
  readonly #byCollection = new Map<string, Map<string, Gathering>>();
  /** Of changes, not of documents: each holds what it took away. */
  count = 0;

  add(txnId: number, { collection, id: named }: DocumentOperation, before: Before | null): void {
    this.count++;
    const { id, key: idKey } = documentId(named);
    const byKey = this.#ofCollection(collection);
    const known = byKey.get(idKey);
    if (known !== undefined) {
      known.txnId = txnId;
      known.befores.push(before);
      return;
    }
    const first: Gathering = { collection, id, idKey, txnId, befores: [before] };
    byKey.set(idKey, first);
    this.documents.push(first);
  }

  #ofCollection(collection: string): Map<string, Gathering> {
    let byKey = this.#byCollection.get(collection);
    if (byKey === undefined) {
      byKey = new Map();
      this.#byCollection.set(collection, byKey);
    }
    return byKey;
  }
}

/** What showed before and what shows now. `snapshot` is the one that the changes were read from. */
export function changeOf(changed: GatheredChange, snapshot: StoreSnapshot): DocumentChange {
  const { collection, id, idKey, txnId, befores } = changed;
  const after = snapshot.get(collection, id);
  let fields: ValueObject | undefined = after?.fields;
  for (let i = befores.length - 1; i >= 0; i--) fields = imageBefore(befores[i] ?? null, fields);
  const before = fields === undefined ? undefined : { id, fields, types: undefined };
  return { collection, id, idKey, txnId, before, after };
}
