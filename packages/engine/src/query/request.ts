/**
 * Request and result types of StatementRunner: statements, find, count, findById, writes.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Writer } from "../store/records.ts";
import type { IdempotencyKey } from "../store/remembered-answer.ts";
import type { StoredDocument } from "../store/view.ts";
import type { WriteCommand, WriteResult } from "./command/command.ts";
import type { Authority } from "./permission/authority.ts";
import type { Warning } from "./run/warnings.ts";
import type { FilterQuery } from "./statement/find.ts";
import type { QueryType } from "./statement/work.ts";

/** Options of all requests with a deadline. */
export interface RequestOptions {
  /** A shorter deadline than the runner's own. */
  readonly timeoutMs?: number;
  /** Stored in the change log with the writes of the request, and in the request history. */
  readonly requestId?: string;
  /** Permissions of the caller; absent means everything. */
  readonly authority?: Authority | undefined;
  /**
   * Credential that sees the request in the request history and may cancel it; absent means that of
   * `authority`.
   */
  readonly caller?: string | undefined;
  /** The owner whose requests share time slices; absent means one shared owner. */
  readonly owner?: string | undefined;
}

/** Options of writes. */
export interface WriteOptions extends RequestOptions {
  /** Who writes, for readers of the log. */
  readonly by?: Writer | undefined;
  /** A second request with the same key gets the first answer again. */
  readonly repeat?: IdempotencyKey | undefined;
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
  /** The state that was read, or the transaction that was committed. */
  readonly transactionId: number;
  /** Present when this is a replay of an earlier answer, under the same idempotency key. */
  readonly isReplay?: true;
}

export interface CountRequest extends RequestOptions {
  readonly collection: string;
  readonly query: string;
  readonly args?: unknown;
  /** Whether an unknown collection is an error rather than empty. */
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
  /** The plan, if wanted. */
  readonly plan?: ValueObject;
  readonly transactionId: number;
}

export interface FindByIdRequest {
  readonly collection: string;
  readonly id: unknown;
  readonly isUnknownRefused?: boolean;
  readonly authority?: Authority | undefined;
}

export interface ExportRequest {
  readonly collection: string;
  readonly isUnknownRefused?: boolean;
  readonly authority?: Authority | undefined;
  /** Owner of its time slices. */
  readonly owner?: string | undefined;
  /** Called with each document; the next one comes when the promise has resolved. */
  readonly onDocument: (document: StoredDocument) => Promise<void> | undefined;
}

export interface ExportResult {
  readonly count: number;
  readonly transactionId: number;
}

export interface FindByIdResult {
  /** In canonical form. */
  readonly id: Value;
  readonly document: StoredDocument | undefined;
  readonly transactionId: number;
}

export interface WriteRequest extends WriteOptions {
  readonly commands: readonly WriteCommand[];
  /** Whether update and remove refuse an unknown collection. */
  readonly isUnknownRefused?: boolean;
}

export interface BatchResult {
  /** One for each command, in order. */
  readonly results: readonly WriteResult[];
  readonly transactionId: number;
  readonly isReplay: boolean;
}

/** The deadline applies only to the choice of the peers. */
export interface RemoteRequest extends RequestOptions {
  readonly statement: string;
  readonly args?: unknown;
}
