/**
 * Maintenance: decides what a store may forget by its retention settings; logged operations then do
 * it.
 *
 * Age, count and bytes bound the change log. Age bounds tombstones, remembered answers and sites
 * without an applied upload. The decision reads the clock and the settings; the resulting
 * operations do not, so every node that applies them forgets the same (K20).
 */

import { msOfTime, type StoreOperation, timeOfMs } from "@bigpeer/protocol";
import {
  HEARTBEAT_MS,
  HORIZON_MS,
  LOG_AGE_MS,
  LOG_BYTES,
  LOG_COUNT,
  MAINTENANCE_BATCH,
  REMEMBERED_ANSWER_MS,
  UNAPPLIED_SITE_MS,
} from "../limits.ts";
import type { Steps } from "../steps.ts";
import { transactionRange, txnIdOfKey } from "./keys.ts";
import type { Head, TransactionRecord } from "./records.ts";
import { forgetAnswers } from "./remembered-answer.ts";
import { expiredSites } from "./site-records.ts";
import { collectableTombstones } from "./tombstones.ts";
import type { View } from "./view.ts";

export interface Retention {
  readonly logAgeMs: number;
  readonly logCount: number;
  readonly logBytes: number;
  /** How long deletes are remembered. A peer that was away longer starts over. */
  readonly horizonMs: number;
  /** Minimum time for which answers are remembered. */
  readonly answerMs: number;
  /** How long a site without an applied upload is remembered after its last upload. */
  readonly siteMs: number;
}

export const DEFAULT_RETENTION: Retention = {
  logAgeMs: LOG_AGE_MS,
  logCount: LOG_COUNT,
  logBytes: LOG_BYTES,
  horizonMs: HORIZON_MS,
  answerMs: REMEMBERED_ANSWER_MS,
  siteMs: UNAPPLIED_SITE_MS,
};

export interface DueWork {
  readonly operations: readonly StoreOperation[];
  /** Whether more work is left for another transaction. */
  readonly hasMore: boolean;
}

/**
 * The next bounded piece of work. Maintenance is logged itself, so a full log may exceed its bounds
 * by one transaction.
 */
export function* dueWork(view: View, retention: Retention, wallMs: number): Steps<DueWork> {
  const { head } = view;
  // Never ahead of the last write: a wall clock that leapt must not make the store forget.
  const nowMs = Math.min(wallMs, msOfTime(head.time));
  const answers = forgetAnswers(view, nowMs - retention.answerMs);
  // These are catalog operations, which do not mix with housekeeping in one transaction.
  if (answers.length > 0) return { operations: answers, hasMore: true };
  const sites = expiredSites(view.reader, nowMs - retention.siteMs, MAINTENANCE_BATCH);
  if (sites.length > 0) return { operations: [{ kind: "forget_sites", sites }], hasMore: true };
  const operations: StoreOperation[] = [];
  const trim = yield* trimTarget(view, head, retention, nowMs);
  if (trim.upTo > head.floor) operations.push({ kind: "trim", upTo: trim.upTo });
  const horizon = Math.max(0, timeOfMs(nowMs - retention.horizonMs));
  const collectable = collectableTombstones(view.reader, horizon, trim.upTo, MAINTENANCE_BATCH + 1);
  const tombstones = yield* countOf(collectable);
  if (tombstones > 0) operations.push({ kind: "horizon", time: horizon });
  return { operations, hasMore: trim.isCut || tombstones > MAINTENANCE_BATCH };
}

/** Writes the current time to a store that has not written for long; nothing otherwise. */
export function heartbeat(view: View, nowMs: number): StoreOperation[] {
  const { time } = view.head;
  if (time === 0 || nowMs - msOfTime(time) < HEARTBEAT_MS) return [];
  return [{ kind: "catalog", section: "store", name: "heartbeat", value: nowMs }];
}

/** The newest transaction that exceeds some bound. */
function* trimTarget(
  view: View,
  head: Head,
  retention: Retention,
  nowMs: number,
): Steps<{ upTo: number; isCut: boolean }> {
  let { logCount, logBytes, floor: logStart } = head;
  let looked = 0;
  const range = transactionRange(logStart, head.txnId);
  // Not the operations: a record may hold a million.
  for (const { key, value } of view.reader.entries(range, ["at", "size"])) {
    const record = value as unknown as TransactionRecord;
    const isOver = logCount > retention.logCount || logBytes > retention.logBytes;
    if (!isOver && ageOf(record, nowMs) <= retention.logAgeMs) break;
    logStart = txnIdOfKey(key);
    logCount--;
    logBytes -= record.size;
    looked++;
    yield;
    if (looked === MAINTENANCE_BATCH) return { upTo: logStart, isCut: true };
  }
  return { upTo: logStart, isCut: false };
}

function ageOf(record: TransactionRecord, nowMs: number): number {
  return nowMs - record.at;
}

function* countOf(items: Iterable<unknown>): Steps<number> {
  let count = 0;
  for (const _ of items) {
    count++;
    yield;
  }
  return count;
}
