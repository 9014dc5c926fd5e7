/**
 * Write commands of the data API: the types of upsert, update and remove, and of their results.
 */

import type { Value } from "@bigpeer/protocol";

/** CRDT type of a field, where the shape of its value does not determine it. */
export type TypeOverride = "counter" | "register" | "attachment";

/** Inserts a document, or merges its fields into the existing one. */
export interface UpsertCommand {
  readonly method: "upsert";
  readonly collection: string;
  readonly value: Value;
  /** Id of the document. Default: `_id` in `value`, or a generated id. */
  readonly id?: Value;
  readonly valueTypeOverrides?: { readonly [field: string]: TypeOverride };
}

/** Changes every document that matches a filter. */
export interface UpdateCommand extends Target {
  readonly method: "update";
  readonly commands: readonly FieldCommand[];
}

export interface FieldCommand {
  readonly method: "set" | "setAttachment" | "increment" | "replaceWithCounter";
  /** Path of field names only: `a.b`, `a['x-y']`. */
  readonly path: string;
  readonly value: Value;
}

/** Deletes every document that matches a filter. */
export interface RemoveCommand extends Target {
  readonly method: "remove";
}

/** The documents of a collection that match a filter. */
export interface Target {
  readonly collection: string;
  readonly query: string;
  readonly args?: unknown;
}

export type WriteCommand = UpsertCommand | UpdateCommand | RemoveCommand;

export interface UpsertResult {
  readonly method: "upsert";
  readonly id: Value;
}

/** Counts each matching document once. */
export interface UpdateResult {
  readonly method: "update";
  readonly updated: number;
  /** Documents that the update does not fit; they stay unchanged. */
  readonly error: number;
  readonly internalError: number;
  readonly permissionDenied: number;
}

export interface RemoveResult {
  readonly method: "remove";
  readonly deleted: number;
  readonly internalError: number;
  readonly permissionDenied: number;
}

export type WriteResult = UpsertResult | UpdateResult | RemoveResult;
