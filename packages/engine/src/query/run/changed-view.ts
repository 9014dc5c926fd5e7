/**
 * ChangedView: a view with only some documents of one collection and all of every other. A
 * condition that runs on it matches these documents just as it would among all.
 */

import { documentId, type Value } from "@bigpeer/protocol";
import type { IndexDefinition, IndexEntry, IndexRange } from "../../store/index-entry.ts";
import {
  isInScan,
  type Needed,
  type ScanRange,
  type StoredDocument,
  type VersionedState,
} from "../../store/view.ts";
import type { DocumentView, Found } from "../frame/document-view.ts";

export class ChangedView implements DocumentView {
  readonly #view: DocumentView;
  readonly #collection: string;
  /** Keys of the ids, in order. */
  readonly #keys: ReadonlySet<string>;

  constructor(view: DocumentView, collection: string, keys: ReadonlySet<string>) {
    this.#view = view;
    this.#collection = collection;
    this.#keys = keys;
  }

  get(collection: string, id: Value, needed?: Needed): StoredDocument | undefined {
    if (collection === this.#collection && !this.#keys.has(documentId(id).key)) return undefined;
    return this.#view.get(collection, id, needed);
  }

  getByKey(collection: string, idKey: string, needed?: Needed): StoredDocument | undefined {
    if (collection === this.#collection && !this.#keys.has(idKey)) return undefined;
    return this.#view.getByKey(collection, idKey, needed);
  }

  *scan(collection: string, range: ScanRange = {}): Found<StoredDocument> {
    if (collection !== this.#collection) {
      yield* this.#view.scan(collection, range);
      return;
    }
    const keys = [...this.#keys];
    if (range.reverse === true) keys.reverse();
    // Undefined, for a missing document, is a pause and does no harm.
    for (const key of keys) {
      if (isInScan(range, key)) yield this.#view.getByKey(collection, key, range);
    }
  }

  count(collection: string): number | undefined {
    return collection === this.#collection ? undefined : this.#view.count(collection);
  }

  state(collection: string, id: Value): VersionedState {
    return this.#view.state(collection, id);
  }

  collectionNumber(name: string): number | undefined {
    return this.#view.collectionNumber(name);
  }

  collections(limit?: number): Found<string> {
    return this.#view.collections(limit);
  }

  indexes(): Found<IndexDefinition> {
    return this.#view.indexes();
  }

  /** An index would also find the other documents. */
  indexesOf(collection: string): readonly IndexDefinition[] {
    return collection === this.#collection ? [] : this.#view.indexesOf(collection);
  }

  scanIndex(index: IndexDefinition, range: IndexRange): Found<IndexEntry> {
    return this.#view.scanIndex(index, range);
  }
}
