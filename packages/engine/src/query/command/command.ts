/**
 * Commands: what the data API writes without a statement, and what it answers for each.
 */

import type { Value } from "@bigpeer/protocol";

/** As what a field is stored when its shape does not say it. */
export type TypeOverride = "counter" | "register" | "attachment";

/** Makes a document, or merges fields into the one that is there. */
export interface UpsertCommand {
  readonly method: "upsert";
  readonly collection: string;
  readonly value: Value;
  /** Else `_id` in `value`, else one is made. */
  readonly id?: Value;
  readonly valueTypeOverrides?: { readonly [field: string]: TypeOverride };
}

/** Changes every document that a filter chooses. */
export interface UpdateCommand extends Target {
  readonly method: "update";
  readonly commands: readonly FieldCommand[];
}

export interface FieldCommand {
  readonly method: "set" | "setAttachment" | "increment" | "replaceWithCounter";
  /** `a.b`, `a['x-y']`: names of fields only. */
  readonly path: string;
  readonly value: Value;
}

/** Deletes every document that a filter chooses. */
export interface RemoveCommand extends Target {
  readonly method: "remove";
}

/** Documents by a filter. */
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

/** Each document that was chosen is counted once. */
export interface UpdateResult {
  readonly method: "update";
  readonly updated: number;
  /** Those that could not take the update, and were left as they are. */
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
