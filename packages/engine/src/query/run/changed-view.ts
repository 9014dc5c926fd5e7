/**
 * ChangedView: of one collection only some documents, of everything else all. A choice that runs on
 * it matches just these documents, exactly as it would find them among all.
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
  /** Of their ids, in their order. */
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
    // Undefined where there is none is a pause, which does no harm.
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

  /** They would find the others as well. */
  indexesOf(collection: string): readonly IndexDefinition[] {
    return collection === this.#collection ? [] : this.#view.indexesOf(collection);
  }

  scanIndex(index: IndexDefinition, range: IndexRange): Found<IndexEntry> {
    return this.#view.scanIndex(index, range);
  }
}
