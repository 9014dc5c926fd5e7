/**
 * Outcomes: ends a pending upload when the server has sent its outcome.
 *
 * The upload leaves the pending layer in the transaction that applies its outcome (S35). The peer
 * keeps applied uploads for a while, in case the server is restored (S30). It keeps refused and
 * stale uploads aside, where the app can read them (S27, S35).
 */

import { type Outcome, type OutcomeKind, unreachable, type Value } from "@bigpeer/protocol";
import { KEPT, keptKey, peerNumberOfKey, REFUSED, refusedKey, sequenceKey } from "../store/keys.ts";
import {
  COUNT_FACT,
  countFact,
  type KeptRecord,
  type PendingRecord,
  type RefusedRecord,
} from "../store/peer-records.ts";
import { approximateSize } from "../store/records.ts";
import type { UploadStep } from "../store/upload-step.ts";
import type { View } from "../store/view.ts";
import { pendingChainOf } from "./chain.ts";
import type { Layers } from "./layers.ts";

/** Refused and stale uploads that stay readable: the newest ones. */
export const REFUSED_MAX = 10_000;

/** How long applied uploads are kept, and how many bytes of them (S30). */
export const KEPT_MS: number = 7 * 86_400_000;
export const KEPT_BYTES_MAX: number = 64 * 1024 * 1024;

/** Kept uploads that one maintenance transaction removes. */
const KEPT_BATCH = 1000;

/**
 * A local write that the server refused. Its effect is undone on the device.
 *
 * @example
 * const refused: readonly RefusedUpload[] = peer.store.refused();
 * for (const { commitId, reason } of refused) {
 *   console.error(`write ${commitId} was refused: ${reason}`);
 *   await peer.store.clearRefused(commitId);
 * }
 */
export interface RefusedUpload {
  /** Number of the local commit, as in the result of `execute`. */
  readonly commitId: number;
  /** `refused`, or `stale` if the write is too old for the history that the server still has. */
  readonly kind: Exclude<OutcomeKind, "applied">;
  /** Why the server refused it, in words. */
  readonly reason: string;
  /** When the device wrote it, in milliseconds since 1970 by the device's clock. */
  readonly at: number;
  /** When its refusal came, in milliseconds since 1970 by the device's clock. */
  readonly refusedAt: number;
  /** The steps of the write, one for each statement. */
  readonly steps: readonly UploadStep[];
}

/** When an outcome came, by the device's clock and by the server's. */
export interface OutcomeTime {
  readonly nowMs: number;
  readonly serverMs: number;
}

/** Ends the pending upload of an outcome. Returns the upload if it was refused or stale. */
export function endUpload(
  layers: Layers,
  outcome: Outcome,
  { nowMs, serverMs }: OutcomeTime,
): RefusedUpload | undefined {
  const number = pendingOf(layers, outcome);
  const record = number === undefined ? undefined : layers.pending(number);
  if (number === undefined || record === undefined) return undefined;
  layers.end(number, outcome.kind === "applied");
  const counts = countFact(layers);
  layers.put(COUNT_FACT, { ...counts, pending: counts.pending - 1 });
  switch (outcome.kind) {
    case "applied":
      keep(layers, number, record, serverMs);
      return undefined;
    case "refused":
    case "stale":
      return quarantined(layers, number, record, { ...outcome, kind: outcome.kind, nowMs });
    default:
      return unreachable(outcome.kind);
  }
}

function pendingOf(layers: Layers, { site, number }: Outcome): number | undefined {
  const found = pendingChainOf(layers.view.reader, site);
  if (found === undefined) return undefined;
  return layers.get(sequenceKey(found.chain, number)) as number | undefined;
}

function keep(layers: Layers, number: number, record: PendingRecord, takenAt: number): void {
  const size = approximateSize(record as unknown as Value);
  const kept: KeptRecord = { ...record, takenAt, size };
  layers.put(keptKey(number), kept as unknown as Value);
  let { keptBytes, ...counts } = countFact(layers);
  keptBytes += size;
  const oldest = keptBytes > KEPT_BYTES_MAX ? layers.view.reader.entries(KEPT) : [];
  for (const { key, value } of oldest) {
    if (keptBytes <= KEPT_BYTES_MAX) break;
    if (layers.get(key) === undefined) continue;
    keptBytes -= (value as unknown as KeptRecord).size;
    layers.put(key, null);
  }
  layers.put(COUNT_FACT, { ...counts, keptBytes });
}

function quarantined(
  layers: Layers,
  number: number,
  { at, steps }: PendingRecord,
  outcome: {
    readonly kind: RefusedRecord["kind"];
    readonly reason: string;
    readonly nowMs: number;
  },
): RefusedUpload {
  const { kind, reason, nowMs: refusedAt } = outcome;
  const record: RefusedRecord = { at, refusedAt, kind, reason, steps };
  layers.put(refusedKey(number), record as unknown as Value);
  const counts = countFact(layers);
  let refused = counts.refused + 1;
  for (const key of layers.view.reader.keys(REFUSED)) {
    if (refused <= REFUSED_MAX) break;
    if (layers.get(key) === undefined) continue;
    layers.put(key, null);
    refused--;
  }
  layers.put(COUNT_FACT, { ...counts, refused });
  return { commitId: number, ...record };
}

/** Refused and stale uploads, oldest first. */
export function refusedUploads(view: View): RefusedUpload[] {
  return [...view.reader.entries(REFUSED)].map(({ key, value }) => ({
    commitId: peerNumberOfKey(key),
    ...(value as unknown as RefusedRecord),
  }));
}

/** Forgets the refused upload of one local transaction, or all. Returns how many there were. */
export function forgetRefused(layers: Layers, commitId?: number): number {
  const all =
    commitId === undefined ? [...layers.view.reader.keys(REFUSED)] : [refusedKey(commitId)];
  const found = all.filter((key) => layers.get(key) !== undefined);
  for (const key of found) layers.put(key, null);
  const counts = countFact(layers);
  layers.put(COUNT_FACT, { ...counts, refused: counts.refused - found.length });
  return found.length;
}

/**
 * Forgets applied uploads that are older than KEPT_MS, a bounded number. True if there may be more.
 * Only the server's clock measures their age: the device's clock may be a year ahead (seed 802201).
 */
export function forgetKept(layers: Layers, serverMs: number): boolean {
  let { keptBytes, ...counts } = countFact(layers);
  let forgotten = 0;
  for (const { key, value } of layers.view.reader.entries(KEPT)) {
    const { takenAt, size } = value as unknown as KeptRecord;
    if (serverMs - takenAt <= KEPT_MS || forgotten === KEPT_BATCH) break;
    layers.put(key, null);
    keptBytes -= size;
    forgotten++;
  }
  if (forgotten > 0) layers.put(COUNT_FACT, { ...counts, keptBytes });
  return forgotten === KEPT_BATCH;
}
