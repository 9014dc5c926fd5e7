/**
 * Events that the log tells with fields: a request that was answered, a statement that was slow or
 * ran on peers, a peer that came or left, a link to another Big Peer.
 */

import type { StoredDocument } from "@bigpeer/engine";
import { getField, isObject } from "@bigpeer/protocol";
import type { Log, LogLevel } from "./log.ts";

export interface RequestEvent {
  readonly requestId: string;
  /** The name of the endpoint. */
  readonly operation: string;
  readonly method: string;
  readonly status: number;
  readonly elapsedMs: number;
  /** Of the client. */
  readonly remoteAddress: string;
}

/** Characters of a statement in a line. */
const STATEMENT_SHOWN_MAX = 1_000;

/** A request is over. What we did wrong is always told, the rest to whoever asks for it. */
export function requestLine(log: Log, event: RequestEvent): void {
  const { requestId, operation, method, status, remoteAddress } = event;
  const elapsedMs = rounded(event.elapsedMs);
  const fields = { requestId, operation, method, status, elapsedMs, remoteAddress };
  log(status === 500 ? "error" : "debug", "a request was answered", fields);
}

/** A row of `system:request_history` that took long, or was stopped. Its arguments are not in it: they are data. */
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

/** What happened to a peer, for whoever asks for it. Who it is is told by the id of its credential. */
export interface PeerEvent {
  readonly remoteAddress: string;
  readonly appId?: string | undefined;
  readonly credentialId?: string;
  readonly site?: string;
  /** Why it was sent away. */
  readonly code?: string;
  /** Since it connected. */
  readonly elapsedMs?: number;
}

export function peerLine(log: Log, message: string, event: PeerEvent): void {
  const { elapsedMs } = event;
  const isTimed = elapsedMs !== undefined;
  log("debug", message, { ...event, ...(isTimed && { elapsedMs: rounded(elapsedMs) }) });
}

/** What happened to a link. The message is a sentence of one of both sides. */
export interface LinkLogEvent {
  readonly appId: string | undefined;
  /** Who has dialled: we, or the other side. */
  readonly side: "dial" | "accept";
  readonly address: string;
  /** The history of the other side. */
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
  /** How each peer has answered. */
  readonly results: readonly string[];
}

/** A statement ran on peers. The audit log has what it was; how it went is told here. */
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

/** The beginning of a statement, where all of it would be too much. */
export function cutStatement(text: string): string {
  return text.length <= STATEMENT_SHOWN_MAX ? text : `${text.slice(0, STATEMENT_SHOWN_MAX - 1)}…`;
}

/** Microseconds are more than anybody needs. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
