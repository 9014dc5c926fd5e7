/**
 * Upload: the operations of another site, applied exactly once.
 *
 * A site numbers its uploads from 1 and chains a digest over them. The number decides whether an
 * upload is new; the digest, whether it is what it claims: a number that was applied with another
 * content, or a chain that does not continue, is a fork (two stores that write as one site), and
 * that site must take a new id (K27).
 */

import {
  canonicalBytes,
  checkUpload,
  compareBytes,
  isSite,
  PeerError,
  type Site,
  type UploadOperation,
  type Value,
} from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import type { OperationOutcome } from "./applier.ts";
import { siteKey, uploadKey } from "./keys.ts";
import type { SiteRecord, UploadMark, UploadRecord } from "./records.ts";
import type { Transaction } from "./transaction.ts";
import type { View } from "./view.ts";

/** Operations of one local transaction of a peer, one element for each of its statements. */
export interface UploadStep {
  readonly time: number;
  readonly operations: readonly UploadOperation[];
}

export interface Upload {
  readonly site: Site;
  readonly number: number;
  /** Chained: the hash of the digest before and of these steps. */
  readonly digest: Uint8Array;
  readonly steps: readonly UploadStep[];
}

export type UploadAnswer =
  /** Taken now or before; `isRepeat` tells which. */
  | { readonly kind: "taken"; readonly record: UploadRecord; readonly isRepeat: boolean }
  | { readonly kind: "forked" }
  /** The site counts on uploads that this store does not have; `known` is the last that it has. */
  | { readonly kind: "unknown_site"; readonly known: number };

const NO_DIGEST = new Uint8Array(0);

/** The digest of an upload that follows one with digest `before` (none for the first). */
export function uploadDigest(
  platform: Platform,
  before: Uint8Array | undefined,
  steps: readonly UploadStep[],
): Uint8Array {
  const content = canonicalBytes(steps as unknown as Value);
  const chained = new Uint8Array((before ?? NO_DIGEST).length + content.length);
  chained.set(before ?? NO_DIGEST);
  chained.set(content, (before ?? NO_DIGEST).length);
  return platform.sha256(chained);
}

/** What is known of an upload before it is applied; undefined when it is the next one. */
export function answerFromRecord(
  view: View,
  platform: Platform,
  upload: Upload,
): UploadAnswer | undefined {
  const last = view.reader.get(siteKey(upload.site)) as SiteRecord | undefined;
  const known = last?.number ?? 0;
  if (upload.number > known + 1) return { kind: "unknown_site", known };
  if (upload.number <= known) return answerRepeat(view, upload);
  const digest = uploadDigest(platform, last?.digest, upload.steps);
  return isSame(digest, upload.digest) ? undefined : { kind: "forked" };
}

function answerRepeat(view: View, upload: Upload): UploadAnswer {
  const record = view.reader.get(uploadKey(upload.site, upload.number)) as UploadRecord | undefined;
  if (record === undefined || !isSame(record.digest, upload.digest)) return { kind: "forked" };
  return { kind: "taken", record, isRepeat: true };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return compareBytes(a, b) === 0;
}

/** Applies the steps of another site inside a transaction. Throws PeerError to refuse them whole. */
export function applyUpload(
  transaction: Transaction,
  site: Site,
  steps: readonly UploadStep[],
): OperationOutcome[] {
  const outcomes: OperationOutcome[] = [];
  let last = lastTimeOf(transaction.view, site);
  for (const step of steps) {
    // A site's sums are told apart by their stamps: one that goes back would be lost.
    if (step.time <= last) {
      throw new PeerError("operation.invalid", "expected stamps of a site to increase");
    }
    last = step.time;
    const stamp = { time: step.time, site };
    for (const [i, outcome] of transaction.applyForeign(stamp, step.operations).entries()) {
      if (outcome === "missing" && step.operations[i]?.kind === "update") {
        throw new PeerError("operation.refused", "the document is not known here");
      }
      outcomes.push(outcome);
    }
  }
  return outcomes;
}

/** The last time that a site has used here; 0 before its first upload. */
export function lastTimeOf(view: View, site: Site): number {
  return (view.reader.get(siteKey(site)) as SiteRecord | undefined)?.time ?? 0;
}

/** What the log keeps of an upload; `time` is the last that the site has used with it. */
export function markOf({ site, number, digest }: Upload, time: number): UploadMark {
  return { site, number, digest, time };
}

/** Refuses what cannot be an upload at all: nothing can be remembered about it. */
export function checkEnvelope({ site, number, digest }: Upload): void {
  const isNumbered = Number.isSafeInteger(number) && number >= 1;
  if (isNumbered && isSite(site) && digest instanceof Uint8Array) return;
  const message = "expected an upload with a site, a number from 1 on and a digest";
  throw new PeerError("operation.invalid", message);
}

/** The steps of an upload in normal form; refuses what has a wrong shape. */
export function checkSteps(upload: Upload): UploadStep[] {
  return upload.steps.map(({ time, operations }, i) => {
    if (!Number.isSafeInteger(time) || time < 1) {
      const at = `steps[${i}].time`;
      throw new PeerError("operation.invalid", "expected a time of at least 1", { at });
    }
    const checked = operations.map((operation, j) =>
      checkUpload(operation, `steps[${i}].operations[${j}]`),
    );
    return { time, operations: checked };
  });
}
