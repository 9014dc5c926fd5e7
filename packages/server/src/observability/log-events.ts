/**
 * Log events: log lines with structured fields, for requests, slow statements, statements on peers,
 * peers and links.
 */

import type { StoredDocument } from "@bigpeer/engine/store";
import { getField, isObject } from "@bigpeer/protocol";
import type { Log, LogLevel } from "./log.ts";

export interface RequestEvent {
  readonly requestId: string;
  /** Name of the endpoint. */
  readonly operation: string;
  readonly method: string;
  readonly status: number;
  readonly elapsedMs: number;
  /** Address of the client. */
  readonly remoteAddress: string;
}

/** Maximum characters of a statement in a line. */
const STATEMENT_SHOWN_MAX = 1_000;

/** Logs a completed request: an error of the server as `error`, all others as `debug`. */
export function requestLine(log: Log, event: RequestEvent): void {
  const { requestId, operation, method, status, remoteAddress } = event;
  const elapsedMs = rounded(event.elapsedMs);
  const fields = { requestId, operation, method, status, elapsedMs, remoteAddress };
  log(status === 500 ? "error" : "debug", "a request was answered", fields);
}

/** Logs a row of `system:request_history` that was slow or stopped, without its arguments. */
export function slowStatementLine(log: Log, { id, fields }: StoredDocument): void {
  const { app_id: appId, text, state, times } = fields;
  const elapsed = isObject(times) ? getField(times, "elapsed") : undefined;
  const isStopped = state === "timed_out";
  log("warn", isStopped ? "a statement was stopped at its time limit" : "a statement was slow", {
    requestId: id,
    appId,
    statement: typeof text === "string" ? cutStatement(text) : undefined,
    outcome: state,
    elapsedMs: rounded(Number(elapsed)),
  });
}

/** Event of a peer, logged as `debug`. The id of its credential identifies the caller. */
export interface PeerEvent {
  readonly remoteAddress: string;
  readonly appId?: string | undefined;
  readonly credentialId?: string;
  readonly site?: string;
  /** Reason why it was refused or closed. */
  readonly code?: string;
  /** Since it connected. */
  readonly elapsedMs?: number;
}

export function peerLine(log: Log, message: string, event: PeerEvent): void {
  const { elapsedMs } = event;
  const isTimed = elapsedMs !== undefined;
  log("debug", message, { ...event, ...(isTimed && { elapsedMs: rounded(elapsedMs) }) });
}

/** Event of a link. The message is that of either side. */
export interface LinkLogEvent {
  readonly appId: string | undefined;
  /** Which side connected: this one (`dial`) or the other (`accept`). */
  readonly side: "dial" | "accept";
  readonly address: string;
  /** History of the other side. */
  readonly partner?: string | undefined;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

export function linkLine(log: Log, level: LogLevel, text: string, event: LinkLogEvent): void {
  const { message: reason, ...fields } = event;
  log(level, text, { ...fields, ...(reason !== undefined && { reason }) });
}

export interface RemoteRunEvent {
  readonly requestId: string;
  readonly appId: string;
  readonly credentialId: string;
  readonly elapsedMs: number;
  /** How each peer answered. */
  readonly results: readonly string[];
}

/** Logs how a statement on peers ended. The audit log has the statement itself. */
export function remoteRunLine(log: Log, { results, ...event }: RemoteRunEvent): void {
  const counts: Record<string, number> = {};
  for (const result of results) counts[result] = (counts[result] ?? 0) + 1;
  const elapsedMs = rounded(event.elapsedMs);
  log("info", "a statement ran on peers", {
    ...event,
    elapsedMs,
    peers: results.length,
    ...counts,
  });
}

/** Shortens a statement. */
export function cutStatement(text: string): string {
  return text.length <= STATEMENT_SHOWN_MAX ? text : `${text.slice(0, STATEMENT_SHOWN_MAX - 1)}…`;
}

/** Rounds to microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
