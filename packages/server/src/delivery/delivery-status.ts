/**
 * Delivery status: how far a webhook or a sink is, and its dead letters, as the management API
 * shows them.
 */

import type { Store } from "@bigpeer/engine/store";
import { parseJson, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Destination } from "../registry/destination.ts";
import { showTime } from "../validation/time-text.ts";
import type { Delivery, DeliveryProgress } from "./delivery.ts";
import {
  beginOf,
  type DeadLetter,
  type DeliveryJournal,
  type DeliveryRecord,
  txnIdOf,
} from "./delivery-journal.ts";

export interface StatusParts {
  readonly destination: Destination;
  readonly store: Pick<Store, "identity" | "txnId">;
  readonly journal: DeliveryJournal;
  /** Absent while it does not run. */
  readonly delivery: Delivery | undefined;
  readonly nowMs: number;
}

export function showStatus(parts: StatusParts): ValueObject {
  const { destination, journal, delivery, nowMs } = parts;
  const record = beginOf(destination, journal.record(destination.id));
  const progress = delivery?.progress;
  const stopped = delivery?.stopped ?? record.stopped;
  const cursor = progress?.cursor ?? record.cursor;
  const { nextMs, lastError, lastDeliveryMs, waitingSinceMs, attempts = 0 } = progress ?? {};
  const { changes, deliveries, failures } = delivery?.totals ?? NO_TOTALS;
  return {
    name: destination.name,
    ...stateOf(destination, progress, stopped),
    cursor,
    lag: {
      transactions: lagOf(parts, cursor, progress),
      seconds: waitingSinceMs === undefined ? 0 : secondsBetween(waitingSinceMs, nowMs),
    },
    attempts,
    nextAttemptAt: timeOrNull(nextMs),
    lastDeliveryAt: timeOrNull(lastDeliveryMs),
    lastError:
      lastError === undefined
        ? null
        : {
            message: lastError.message,
            status: lastError.status ?? null,
            at: showTime(lastError.atMs),
          },
    delivered: { changes, deliveries },
    failures,
    deadLetters: journal.letterCount(destination.id),
  };
}

const NO_TOTALS = { changes: 0, deliveries: 0, failures: 0 };

/** Without its payload. */
export function showLetter(letter: DeadLetter): ValueObject {
  const { id, atMs, attempts, error, messageId, changes } = letter;
  return { id, at: showTime(atMs), attempts, error, messageId, changes };
}

/** With the changes that it has. */
export function showWholeLetter(letter: DeadLetter): ValueObject {
  return { ...showLetter(letter), payload: parseJson(letter.payload) };
}

function stateOf(
  { isPaused }: Destination,
  progress: DeliveryProgress | undefined,
  stopped: DeliveryRecord["stopped"],
): ValueObject {
  if (isPaused) return { state: "paused", reason: "operator", pausedAt: null };
  if (stopped !== undefined) {
    return { state: "paused", reason: stopped.reason, pausedAt: showTime(stopped.atMs) };
  }
  return { state: progress?.state ?? "starting", reason: null, pausedAt: null };
}

/** Null when the position is of another history of the app. */
function lagOf(
  { store }: StatusParts,
  cursor: string,
  progress: DeliveryProgress | undefined,
): number | null {
  if (progress?.state === "live") return 0;
  const [history] = cursor.split(".");
  if (history !== "0" && history !== store.identity.historyId) return null;
  return Math.max(0, store.txnId - txnIdOf(cursor));
}

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, Math.round(toMs - fromMs)) / 1000;
}

function timeOrNull(ms: number | undefined): Value {
  return ms === undefined ? null : showTime(ms);
}
