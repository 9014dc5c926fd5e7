/**
 * What a StatementRunner is asked, and what it answers.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { RepeatKey } from "../store/remembered-answer.ts";
import type { StoredDocument } from "../store/view.ts";
import type { WriteCommand, WriteResult } from "./command/command.ts";
import type { Authority } from "./permission/authority.ts";
import type { Warning } from "./run/execution.ts";
import type { FilterQuery } from "./statement/find.ts";
import type { QueryType } from "./statement/work.ts";

/** What all requests that take time may bring. */
export interface RequestOptions {
  /** A shorter deadline than the runner's own. */
  readonly timeoutMs?: number;
  /** Kept in the change log with what the request wrote, and in the history of requests. */
  readonly requestId?: string;
  /** What the caller may do; everything when it is absent. */
  readonly authority?: Authority | undefined;
  /** Who shares the time of this request with all other requests of his; one of nobody if left out. */
  readonly owner?: string | undefined;
}

/** What those that write may bring. */
export interface WriteOptions extends RequestOptions {
  /** The same request under the same name is told again what it was told first. */
  readonly repeat?: RepeatKey | undefined;
}

export interface StatementRequest extends WriteOptions {
  readonly statement: string;
  /** An object with a value for each parameter. */
  readonly args?: unknown;
  /** Overrides the setting DQL_STRICT_MODE. */
  readonly isStrict?: boolean | undefined;
}

export interface StatementResult {
  readonly queryType: QueryType;
  readonly items: readonly Value[];
  readonly mutatedDocumentIds: readonly Value[];
  /** The first few; `totalWarningsCount` counts all. */
  readonly warnings: readonly Warning[];
  readonly totalWarningsCount: number;
  /** The state that was read, or the transaction that was made. */
  readonly transactionId: number;
  /** Present when this was told before, under the same name. */
  readonly isRepeated?: true;
}

export interface CountRequest extends RequestOptions {
  readonly collection: string;
  readonly query: string;
  readonly args?: unknown;
  /** Whether a collection that is not known is an error rather than empty. */
  readonly isUnknownRefused?: boolean;
}

export interface CountResult {
  readonly count: number;
  readonly transactionId: number;
}

export interface FindRequest extends CountRequest, FilterQuery {
  readonly offset?: number;
  readonly limit?: number;
  readonly isPlanWanted?: boolean;
}

export interface FindResult {
  readonly documents: readonly StoredDocument[];
  /** How the documents were found, if wanted. */
  readonly plan?: ValueObject;
  readonly transactionId: number;
}

export interface FindByIdRequest {
  readonly collection: string;
  readonly id: unknown;
  readonly isUnknownRefused?: boolean;
  readonly authority?: Authority | undefined;
}

export interface FindByIdResult {
  /** In its canonical form. */
  readonly id: Value;
  readonly document: StoredDocument | undefined;
  readonly transactionId: number;
}

export interface WriteRequest extends WriteOptions {
  readonly commands: readonly WriteCommand[];
  /** Whether update and remove refuse a collection that is not known. */
  readonly isUnknownRefused?: boolean;
}

export interface BatchResult {
  /** One for each command, in their order. */
  readonly results: readonly WriteResult[];
  readonly transactionId: number;
  readonly isRepeated: boolean;
}

/** The deadline is for the choice of the peers alone. */
export interface RemoteRequest extends RequestOptions {
  readonly statement: string;
  readonly args?: unknown;
}
