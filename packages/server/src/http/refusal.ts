/**
 * Refusal: an error with an HTTP status and a message, which ends a request. The endpoint decides
 * how the message is wrapped. `refusalOf` maps error codes to statuses.
 */

import { PeerError, unreachable } from "@bigpeer/protocol";
import type { Headers } from "./answer.ts";

export class Refusal extends Error {
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, message: string, headers: Headers = {}) {
    // Any client can cause any number of them, and a stack trace is of no use.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "Refusal";
    this.status = status;
    this.headers = headers;
  }
}

/** Message for a plain request to a WebSocket path; `what` names its purpose. */
export function upgradeMessage(what: string): string {
  const cause = "if a proxy stands in between, does it pass on the headers Upgrade and Connection?";
  return `expected a WebSocket: this is where ${what}; ${cause}`;
}

/** Refusal, 503, of what may be possible later. */
export function unavailable(message: string, retryAfterSeconds: number): Refusal {
  return new Refusal(503, message, { "retry-after": String(retryAfterSeconds) });
}

/** Header of the answer to a request that another node passed on, and that must go elsewhere. */
export const ELSEWHERE_HEADER = "x-bigpeer-elsewhere";

/** Whether another node of the cluster must evaluate the request; nothing was written here. */
export function isElsewhere(error: unknown): boolean {
  return error instanceof PeerError && error.code === "cluster.elsewhere";
}

/** Refusal of a request that another node passed on to this one, which does not evaluate. */
export function elsewhere(): Refusal {
  const message = "this node does not evaluate the writes of the app (cluster.elsewhere)";
  return new Refusal(503, message, { [ELSEWHERE_HEADER]: "true" });
}

/** Maps an error to its refusal; undefined when it belongs in the log of the server only. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  return error instanceof PeerError ? refusalOfCode(error) : undefined;
}

function refusalOfCode(error: PeerError): Refusal | undefined {
  switch (error.code) {
    case "query.syntax":
    case "query.semantic":
    case "query.evaluation":
    case "query.arguments":
    case "query.parameter":
    case "query.store":
    case "query.too_large":
    case "query.collection":
    case "attachment.invalid":
    case "idempotency.too_large":
    case "value.invalid":
    case "id.invalid":
    case "json.syntax":
    case "cbor.malformed":
    case "operation.invalid":
    case "operation.refused":
    case "changes.cursor":
    case "sync.malformed":
    case "remote.refused":
      return new Refusal(400, describe(error));
    case "permission.denied":
      return new Refusal(401, describe(error), { "www-authenticate": "Bearer" });
    case "query.timeout":
    case "store.snapshot_expired":
      return new Refusal(408, describe(error));
    case "changes.gone":
      return new Refusal(410, describe(error));
    case "attachment.too_large":
      return new Refusal(413, describe(error));
    case "idempotency.conflict":
      return new Refusal(422, describe(error));
    case "query.busy":
    case "store.busy":
    case "cluster.elsewhere":
      return unavailable(describe(error), 1);
    case "cluster.unanswered":
      return unavailable(describe(error), 5);
    case "store.closed":
      return unavailable("the server is closing (store.closed)", 1);
    case "store.full":
      // Of a full disk, the message itself names a file of the server.
      return unavailable(
        error.expected === undefined
          ? "the server has no room left on its disk (store.full)"
          : describe(error),
        30,
      );
    case "clock.ahead":
      return unavailable(describe(error), 60);
    case "store.format_newer":
      // Another node of the cluster, or this one after its upgrade, can answer.
      return unavailable(describe(error), 30);
    case "state.malformed":
    case "clock.exhausted":
    case "store.write_failed":
    case "store.in_use":
    case "store.foreign":
    case "store.corrupt":
    case "store.not_empty":
    case "store.pending":
    case "config.invalid":
      return undefined;
    default:
      return unreachable(error.code);
  }
}

/** The message has the place and nearly always what was expected; the code leads to its page. */
function describe({ code, message, expected }: PeerError): string {
  const isSaid = expected === undefined || message.includes(expected);
  return `${message}${isSaid ? "" : `; expected ${expected}`} (${code})`;
}
