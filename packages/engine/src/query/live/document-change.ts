/**
 * DocumentChange: net change of one document over several transactions, with its before-image and
 * after-image.
 *
 * The change log holds what each change removed. So the image before the first change is rebuilt
 * from the current document, one change after the other. Peers and observers always see durable
 * states; of the transactions between two of them only the difference counts.
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

/** The change of one document between two states of the store. */
export interface DocumentChange {
  readonly collection: string;
  readonly id: Value;
  /** The id as a key: without ORDER BY, documents come in this order. */
  readonly idKey: string;
  /** The last transaction that changed it. */
  readonly txnId: number;
  /** The document before, without type marks; undefined if there was none. */
  readonly before: StoredDocument | undefined;
  /** The current document. */
  readonly after: StoredDocument | undefined;
}

/** A changed document, with what each change removed. */
export interface GatheredChange {
  readonly collection: string;
  readonly id: Value;
  readonly idKey: string;
  readonly txnId: number;
  /** Null if the document did not exist before. */
  readonly befores: readonly (Before | null)[];
}

/** Limit on changes: if there are more, the caller reads everything again. */
export const CHANGED_DOCUMENTS_MAX = 10_000;

/** Limit on the approximate bytes of their transactions. */
const CHANGED_BYTES_MAX = 64 * 1024 * 1024;

/** Changes after which a pause is offered. */
const CHANGES_PER_PAUSE = 64;

/**
 * The documents changed after a cursor, in the order of their first change. Undefined if the log
 * does not reach back so far, or if they are too many. Only wanted collections.
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
  /** Number of changes, not of documents: each holds what it removed. */
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

/** The images before and after. `snapshot` is the one that the changes were read from. */
export function changeOf(changed: GatheredChange, snapshot: StoreSnapshot): DocumentChange {
  const { collection, id, idKey, txnId, befores } = changed;
  const after = snapshot.get(collection, id);
  let fields: ValueObject | undefined = after?.fields;
  for (let i = befores.length - 1; i >= 0; i--) fields = imageBefore(befores[i] ?? null, fields);
  const before = fields === undefined ? undefined : { id, fields, types: undefined };
  return { collection, id, idKey, txnId, before, after };
}
