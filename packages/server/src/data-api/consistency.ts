/**
 * Read-your-writes: reads the header with the transaction that a request must see, and waits until
 * the store has reached it (H18). The two older names of the header mean the same.
 *
 * On one machine every transaction that was answered is already visible, so a client that passes on
 * such an id never waits. Only ids from elsewhere do.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Store } from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal } from "../http/refusal.ts";

export const TRANSACTION_HEADERS: readonly string[] = [
  "x-service-txn-id",
  "x-ditto-txn-id",
  "x-hydra-txn-id",
];

const INT64 = /^[+-]?\d{1,19}$/;
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** Transaction that a request must see; undefined when it has no such header. */
export function wantedTransaction(headers: IncomingHttpHeaders): bigint | undefined {
  let wanted: bigint | undefined;
  for (const name of TRANSACTION_HEADERS) {
    const given = headers[name];
    if (given === undefined) continue;
    // Node joins repeated headers.
    for (const text of String(given).split(",")) {
      const txnId = int64Of(text.trim(), name);
      if (wanted === undefined || txnId > wanted) wanted = txnId;
    }
  }
  return wanted;
}

function int64Of(text: string, name: string): bigint {
  const txnId = INT64.test(text) ? BigInt(text.replace("+", "")) : INT64_MAX + 1n;
  if (txnId >= INT64_MIN && txnId <= INT64_MAX) return txnId;
  const found = text.length <= 40 ? `"${text}"` : "a long text";
  const message = `expected an integer of 64 bits, found ${found}`;
  throw new PeerError("value.invalid", message, { at: `the header ${name}` });
}

export interface TransactionWait {
  readonly waitMs: number;
  /** Status of the answer when the transaction is not reached in time. */
  readonly status: number;
  /** See HttpRequest.onHangUp. */
  readonly onHangUp: HttpRequest["onHangUp"];
  /** Resolves when there is time to proceed: many requests may wait for the same transaction. */
  readonly turn: () => Promise<void>;
}

/** Resolves when the store has reached the transaction. Throws a Refusal after `waitMs`. */
export async function awaitTransaction(
  store: Store,
  txnId: bigint,
  { waitMs, status, onHangUp, turn }: TransactionWait,
): Promise<void> {
  if (txnId <= BigInt(store.txnId)) return;
  const wait = store.whenReached(txnId);
  const timer = setTimeout(() => wait.cancel(), waitMs);
  const stop = onHangUp(() => wait.cancel());
  let isReached: boolean;
  try {
    isReached = await wait.promise;
  } finally {
    clearTimeout(timer);
    stop();
  }
  await turn();
  if (isReached) return;
  const message = `the server has not reached transaction ${txnId}; it is at ${store.txnId}`;
  throw new Refusal(status, message);
}
