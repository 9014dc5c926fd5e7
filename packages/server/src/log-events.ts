/**
 * Events that the log tells with fields: a request that was answered, a statement that was slow, a
 * peer that came or left.
 */

import type { StoredDocument } from "@bigpeer/engine";
import { getField, isObject } from "@bigpeer/protocol";
import type { Log } from "./log.ts";

export interface RequestEvent {
  readonly requestId: string;
  /** The name of the endpoint. */
  readonly operation: string;
  readonly method: string;
  readonly status: number;
  readonly elapsedMs: number;
}

/** Characters of a statement in a line. */
const STATEMENT_SHOWN_MAX = 1_000;

const NANOSECONDS_PER_MS = 1_000_000;

/** A request is over. What we did wrong is always told, the rest to whoever asks for it. */
export function requestLine(log: Log, event: RequestEvent): void {
  const { requestId, operation, method, status } = event;
  const elapsedMs = rounded(event.elapsedMs);
  const fields = { requestId, operation, method, status, elapsedMs };
  log(status === 500 ? "error" : "debug", "a request was answered", fields);
}

/** A row of `system:request_history` that took long. Its arguments are not in it: they are data. */
export function slowStatementLine(log: Log, { id, fields }: StoredDocument): void {
  const { app_id: appId, text, state, times } = fields;
  const elapsed = isObject(times) ? getField(times, "elapsed") : undefined;
  log("warn", "a statement was slow", {
    requestId: id,
    appId,
    statement: typeof text === "string" ? cut(text) : undefined,
    outcome: state,
    elapsedMs: rounded(Number(elapsed) / NANOSECONDS_PER_MS),
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

function cut(text: string): string {
  return text.length <= STATEMENT_SHOWN_MAX ? text : `${text.slice(0, STATEMENT_SHOWN_MAX - 1)}…`;
}

/** Microseconds are more than anybody needs. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
