/**
 * DocumentView: read view of the documents at one state of the store, as the caller may see them.
 *
 * A caller with full read access gets the View of the store. Every other caller gets the filtered
 * view of permission/narrowed-view.ts. Statements have no other access to documents.
 */

import type { Path, Value } from "@bigpeer/protocol";
import type { IndexDefinition, IndexEntry, IndexRange } from "../../store/index-entry.ts";
import type { Needed, ScanRange, StoredDocument, VersionedState } from "../../store/view.ts";

/** Results of a lazy read; undefined where nothing was found yet and the reader may pause. */
export type Found<T> = Iterable<T | undefined>;

/** The value at a path is one of these. */
export interface KnownValues {
  readonly path: Path;
  readonly values: readonly Value[];
}

export interface DocumentView {
  get(collection: string, id: Value, needed?: Needed): StoredDocument | undefined;
  /** The same by the key of the id. */
  getByKey(collection: string, idKey: string, needed?: Needed): StoredDocument | undefined;
  /** The documents of a collection, or a range of them, in the order of their ids. */
  scan(collection: string, range?: ScanRange): Found<StoredDocument>;
  /** Undefined when the number is not stored: then the documents must be counted. */
  count(collection: string): number | undefined;
  /** The replicated state of a document. */
  state(collection: string, id: Value): VersionedState;
  /** Undefined for an unknown collection. */
  collectionNumber(name: string): number | undefined;
  /** The names of all collections in order, or of the first `limit`. */
  collections(limit?: number): Found<string>;
  /** The indexes of all collections. */
  indexes(): Found<IndexDefinition>;
  /** Values known for all documents of a collection that the caller may read; absent means none. */
  knownValuesOf?(collection: string): readonly KnownValues[];
  /** The indexes of one collection that a statement of the caller may use. */
  indexesOf(collection: string): readonly IndexDefinition[];
  /** The entries of an index in its order; entries of equal values come in the order of ids. */
  scanIndex(index: IndexDefinition, range: IndexRange): Found<IndexEntry>;
}

/** The results without the pause marks. */
export function* present<T>(found: Found<T>): Iterable<T> {
  for (const each of found) if (each !== undefined) yield each;
}
