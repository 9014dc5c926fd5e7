/**
 * Operations: types of the mutations of a store; nothing changes it in another form.
 *
 * A request is evaluated into operations. The same list is applied, kept in the change log, and
 * carried by a replicated log; sync carries uploads as operations. They are plain values (they
 * encode as such). Most hold the writer's intent, not the resulting state: an increment is `by`,
 * never a sum. Exceptions are `merge`, a state from another store, and `layer` and `local`, which
 * only small peers have and the log does not keep in full.
 */

import type { Site } from "./stamp.ts";
import type { Value, ValueObject } from "./value.ts";

export const FIELD_TYPES = ["register", "counter", "pn_counter", "attachment", "map"] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** The type of a value where its shape does not say it: an object is a map, all else a register. */
export type TypeMark = FieldType | Types;
export type Types = { readonly [field: string]: TypeMark };

export type CounterType = "counter" | "pn_counter";
export type Path = readonly string[];

export type SetEdit = {
  readonly kind: "set";
  /** Empty for the document itself: then `value` is an object, and each of its fields is set. */
  readonly path: Path;
  readonly value: Value;
  readonly types?: TypeMark;
};
export type UnsetEdit = {
  readonly kind: "unset";
  readonly path: Path;
  /** The path leads through declared maps, which need not show as maps. */
  readonly isDeclared?: true;
};
export type IncrementEdit = {
  readonly kind: "increment";
  readonly path: Path;
  readonly by: number | bigint;
  readonly counter?: CounterType;
  /** The birth that it adds to, as its writer knew it; left out, the applier's view decides. */
  readonly birth?: readonly [time: number, site: string];
};
export type RestartEdit = {
  readonly kind: "restart";
  readonly path: Path;
  readonly value: number | bigint;
  readonly counter?: CounterType;
};
export type Edit = SetEdit | UnsetEdit | IncrementEdit | RestartEdit;

export type OnDocument = { readonly collection: string; readonly id: Value };

export type InsertOperation = OnDocument & {
  readonly kind: "insert";
  readonly fields: ValueObject;
  readonly types?: Types;
  /** The writer knew of a tombstone or hidden entries: all older entries are dropped. */
  readonly clean?: boolean;
};
export type InitialOperation = OnDocument & {
  readonly kind: "initial";
  readonly fields: ValueObject;
  readonly types?: Types;
};
export type UpdateOperation = OnDocument & {
  readonly kind: "update";
  readonly edits: readonly Edit[];
};
export type DeleteOperation = OnDocument & { readonly kind: "delete" };
/** Forgets a document here without a tombstone; never sent to another peer. */
export type EvictOperation = OnDocument & { readonly kind: "evict" };
/** A whole state in its records: shown fields (null: none show), type marks, metadata. */
export type StateParts = readonly [
  fields: ValueObject | null,
  types: Types | null,
  meta: Uint8Array,
];
/**
 * A state of a document from another store, with its own stamps: a delta or a whole state in
 * canonical bytes, or a whole state in its records.
 */
export type MergeOperation = OnDocument & {
  readonly kind: "merge";
  readonly state: Uint8Array | StateParts;
  /**
   * Entries that are not held here are stale only if written up to this time and behind the horizon
   * of the store; left out, the horizon alone decides.
   */
  readonly staleUpTo?: number;
};
/**
 * Only in the store of a small peer: replaces the shown state of a document and the record held
 * beside it. A part that is left out stays; null removes it. The log keeps only the name of the
 * document.
 */
export type LayerOperation = OnDocument & {
  readonly kind: "layer";
  readonly view?: StateParts | null;
  readonly held?: Value;
};

export type DocumentOperation =
  | InsertOperation
  | InitialOperation
  | UpdateOperation
  | DeleteOperation
  | EvictOperation
  | MergeOperation
  | LayerOperation;

/** Puts or (null) removes a named record of the catalog. */
export type CatalogOperation = {
  readonly kind: "catalog";
  readonly section: string;
  readonly name: string;
  readonly value: Value;
};
/** What an index is ordered by: the value at a path, `_id` first for the document's id. */
export type IndexKey = { readonly path: Path; readonly isDescending: boolean };

/** Creates an index and fills it. Changes nothing when the collection has one of this name. */
export type CreateIndexOperation = {
  readonly kind: "create_index";
  readonly collection: string;
  readonly name: string;
  readonly keys: readonly IndexKey[];
  /** Number of documents to index now; left out, all of them. */
  readonly limit?: number;
};
/** Continues to fill an index, with at most `limit` documents. */
export type BuildIndexOperation = {
  readonly kind: "build_index";
  readonly collection: string;
  readonly name: string;
  readonly limit: number;
};
export type DropIndexOperation = {
  readonly kind: "drop_index";
  readonly collection: string;
  readonly name: string;
  /** Number of entries to remove now; left out, all of them. */
  readonly limit?: number;
};
/** Continues to remove the entries of a dropped index, at most `limit`. */
export type ClearIndexOperation = {
  readonly kind: "clear_index";
  readonly number: number;
  readonly limit: number;
};
export type IndexOperation =
  | CreateIndexOperation
  | BuildIndexOperation
  | DropIndexOperation
  | ClearIndexOperation;

/** Collects tombstones at or below a time; older writes are stale from then on. */
export type HorizonOperation = { readonly kind: "horizon"; readonly time: number };
/** Drops the change log up to and including a transaction. */
export type TrimOperation = { readonly kind: "trim"; readonly upTo: number };

/** Forgets sites none of whose uploads was applied; the others stay as they are. */
export type ForgetSitesOperation = {
  readonly kind: "forget_sites";
  readonly sites: readonly Site[];
};

/**
 * Records that the content of an attachment is kept beside the store, and its uploader. If it is
 * known, this adds the uploader and restarts the retention of content without a reference.
 */
export type AttachOperation = {
  readonly kind: "attach";
  readonly id: string;
  readonly len: number;
  readonly by: string;
};
/** Forgets an attachment, unless a document refers to it. */
export type DetachOperation = { readonly kind: "detach"; readonly id: string };
export type AttachmentOperation = AttachOperation | DetachOperation;

/**
 * Only in the store of a small peer: puts or (null) removes a record of its sync state, by its
 * storage key. It is not in the log.
 */
export type LocalOperation = {
  readonly kind: "local";
  readonly key: string;
  readonly value: Value;
};

export type StoreOperation =
  | CatalogOperation
  | IndexOperation
  | HorizonOperation
  | TrimOperation
  | ForgetSitesOperation
  | AttachmentOperation
  | LocalOperation;
export type Operation = DocumentOperation | StoreOperation;

/** Whether an operation is about one document; those about the store never are. */
export function isDocumentOperation(operation: Operation): operation is DocumentOperation {
  return "id" in operation && "collection" in operation;
}

/** Operations that a small peer may upload: never states, evictions or store operations. */
export type UploadOperation =
  | InsertOperation
  | InitialOperation
  | UpdateOperation
  | DeleteOperation;
