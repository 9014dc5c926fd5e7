/**
 * Events that the log tells with fields: a request that was answered, a statement that was slow.
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

function cut(text: string): string {
  return text.length <= STATEMENT_SHOWN_MAX ? text : `${text.slice(0, STATEMENT_SHOWN_MAX - 1)}…`;
}

/** Microseconds are more than anybody needs. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
