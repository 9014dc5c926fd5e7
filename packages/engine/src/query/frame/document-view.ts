/**
 * DocumentView: what statements read of one state of the store.
 *
 * For a caller who may read everything it is the View of the store itself; for all others the one of
 * permission/narrowed-view.ts, which tells only of what they may read. No statement has another way
 * to documents.
 */

import type { Path, Value } from "@bigpeer/protocol";
import type { IndexDefinition, IndexEntry, IndexRange } from "../../store/index-entry.ts";
import type { Needed, ScanRange, StoredDocument, VersionedState } from "../../store/view.ts";

/** Undefined stands where nothing was found yet and a pause would do no harm. */
export type Found<T> = Iterable<T | undefined>;

/** The value at a path is one of these. */
export interface KnownValues {
  readonly path: Path;
  readonly values: readonly Value[];
}

export interface DocumentView {
  get(collection: string, id: Value, needed?: Needed): StoredDocument | undefined;
  /** The same by the key of its id. */
  getByKey(collection: string, idKey: string, needed?: Needed): StoredDocument | undefined;
  /** The documents of a collection, or a range of them, in the order of their ids. */
  scan(collection: string, range?: ScanRange): Found<StoredDocument>;
  /** Undefined when nobody keeps the number: then the documents must be counted. */
  count(collection: string): number | undefined;
  /** The replicated state of a document. */
  state(collection: string, id: Value): VersionedState;
  /** Undefined for a collection that is not known. */
  collectionNumber(name: string): number | undefined;
  /** The names of all collections in their order, or of the first `limit`. */
  collections(limit?: number): Found<string>;
  /** The indexes of all collections. */
  indexes(): Found<IndexDefinition>;
  /** What is known of all documents of a collection that the caller may read; nothing when left out. */
  knownValuesOf?(collection: string): readonly KnownValues[];
  /** The indexes of one collection that may be walked for the caller. */
  indexesOf(collection: string): readonly IndexDefinition[];
  /** The entries of an index in its order, those of equal values by id. */
  scanIndex(index: IndexDefinition, range: IndexRange): Found<IndexEntry>;
}

/** What was found, without the pauses. */
export function* present<T>(found: Found<T>): Iterable<T> {
  for (const each of found) if (each !== undefined) yield each;
}
