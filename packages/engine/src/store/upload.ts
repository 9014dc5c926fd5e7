/**
 * Upload: applies the operations of another site exactly once, by sequence number and digest.
 *
 * A site numbers its uploads from 1 and chains a digest over them. The number decides whether an
 * upload is new, the digest whether its content is the claimed one. A number that was applied with
 * another content, or a digest that does not continue the chain, is a fork: two stores write as one
 * site. That site must then take a new id (K27).
 */

import {
  canonicalBytes,
  canonicalBytesIncremental,
  checkUpload,
  compareBytes,
  documentId,
  isSite,
  PeerError,
  type Site,
  type Stamp,
  type UploadOperation,
  type Value,
} from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { AT_ONCE, type Steps } from "../steps.ts";
import type { OperationOutcome } from "./applier.ts";
import { uploadKey } from "./keys.ts";
import type { UploadMark, UploadRecord } from "./records.ts";
import { isOfAnother, siteRecordOf } from "./site-records.ts";
import type { Transaction } from "./transaction.ts";
import type { UploadStep } from "./upload-step.ts";
import type { View } from "./view.ts";

export interface Upload {
  readonly site: Site;
  readonly number: number;
  /** Chained: the hash of the digest before and of these steps. */
  readonly digest: Uint8Array;
  readonly steps: readonly UploadStep[];
}

/** A document that an upload names. */
export interface UploadedDocument {
  readonly collection: string;
  readonly id: Value;
}

export type UploadAnswer =
  | TakenUpload
  | { readonly kind: "forked" }
  /** The upload is ahead of this store, whose last upload of the site is `known`. */
  | { readonly kind: "unknown_site"; readonly known: number };

/** An upload that was taken now or, if `isReplay`, before. */
export interface TakenUpload {
  readonly kind: "taken";
  readonly record: UploadRecord;
  readonly isReplay: boolean;
  /** Each document that it wrote; none when it was refused. */
  readonly documents: readonly UploadedDocument[];
}

/** One step of an upload while it is applied. */
export interface CheckedStep {
  readonly transaction: Transaction;
  readonly stamp: Stamp;
  readonly operations: readonly UploadOperation[];
}

/** Applies the operations of a step. Run it once. */
export type ApplyStep = () => Steps<OperationOutcome[]>;

/**
 * Checks the permissions of the steps of an upload one by one: it calls `apply` once, and throws,
 * before or after, to refuse the whole upload.
 */
export type CheckStep = (step: CheckedStep, apply: ApplyStep) => Steps<OperationOutcome[]>;

/** Starts the permission check of an upload; called again when the upload is evaluated again. */
export type CheckUpload = () => CheckStep;

const NO_DIGEST = new Uint8Array(0);

/** The digest of an upload that follows one with digest `before` (none for the first). */
export function uploadDigest(
  platform: Platform,
  before: Uint8Array | undefined,
  steps: readonly UploadStep[],
): Uint8Array {
  return chainedDigest(platform, before, uploadContent(steps));
}

/** As uploadDigest, with pauses: the hashed content may be many megabytes. */
export function* uploadDigestInSteps(
  platform: Platform,
  before: Uint8Array | undefined,
  steps: readonly UploadStep[],
): Steps<Uint8Array> {
  const content = yield* canonicalBytesIncremental(steps as unknown as Value);
  return chainedDigest(platform, before, content);
}

/** The content that the digest covers: as many bytes as the steps take in a message. */
export function uploadContent(steps: readonly UploadStep[]): Uint8Array {
  return canonicalBytes(steps as unknown as Value);
}

/** As uploadDigest, of the encoded content. */
export function chainedDigest(
  platform: Platform,
  before: Uint8Array | undefined,
  content: Uint8Array,
): Uint8Array {
  const chained = new Uint8Array((before ?? NO_DIGEST).length + content.length);
  chained.set(before ?? NO_DIGEST);
  chained.set(content, (before ?? NO_DIGEST).length);
  return platform.sha256(chained);
}

/**
 * The answer that is known before an upload is applied; undefined when it is the next one. If the
 * site belongs to another owner, a replay of a taken upload gets its outcome: the digest proves
 * that the sender has it. Everything else is answered as for an unknown site (K63).
 */
export function* answerFromRecord(
  view: View,
  platform: Platform,
  upload: Upload,
  owner: string | undefined,
): Steps<UploadAnswer | undefined> {
  const last = siteRecordOf(view.reader, upload.site);
  if (isOfAnother(last, owner)) return yield* answerReplay(view, platform, upload);
  const known = last?.number ?? 0;
  if (known === 0 && upload.number > 1) return { kind: "forked" };
  if (upload.number > known + 1) return { kind: "unknown_site", known };
  if (upload.number <= known) return yield* answerReplay(view, platform, upload);
  const digest = yield* uploadDigestInSteps(platform, last?.digest, upload.steps);
  return isSame(digest, upload.digest) ? undefined : { kind: "forked" };
}

/** Verifies the steps too: the digest alone does not prove that they were applied. */
function* answerReplay(view: View, platform: Platform, upload: Upload): Steps<UploadAnswer> {
  const { site, number, steps } = upload;
  const record = recordOf(view, site, number);
  if (record === undefined || !isSame(record.digest, upload.digest)) return { kind: "forked" };
  const before = number === 1 ? undefined : recordOf(view, site, number - 1);
  // The steps of the oldest remembered upload cannot be verified: only its outcome is returned.
  if (number > 1 && before === undefined) return takenUpload(record, [], true);
  const digest = yield* uploadDigestInSteps(platform, before?.digest, steps);
  if (!isSame(digest, record.digest)) return { kind: "forked" };
  return takenUpload(record, record.outcome === "refused" ? [] : yield* documentsOf(steps), true);
}

function recordOf(view: View, site: Site, number: number): UploadRecord | undefined {
  return view.reader.get(uploadKey(site, number)) as UploadRecord | undefined;
}

/** The answer for a taken upload, with the documents that it wrote. */
export function takenUpload(
  record: UploadRecord,
  documents: readonly UploadedDocument[],
  isReplay: boolean,
): TakenUpload {
  return { kind: "taken", record, isReplay, documents };
}

/** Each document once, in the order in which they are first named. */
export function* documentsOf(steps: readonly UploadStep[]): Steps<UploadedDocument[]> {
  const documents = new Map<string, UploadedDocument>();
  let count = 0;
  for (const { operations } of steps) {
    for (const { collection, id } of operations) {
      if (++count % AT_ONCE === 0) yield;
      const known = documentId(id);
      documents.set(`${known.key}/${collection}`, { collection, id: known.id });
    }
  }
  return [...documents.values()];
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return compareBytes(a, b) === 0;
}

/** Applies the steps of another site in a transaction. Throws PeerError to refuse all of them. */
export function* applyUpload(
  transaction: Transaction,
  { site, steps }: Pick<Upload, "site" | "steps">,
  check: CheckStep = (_, apply) => apply(),
): Steps<OperationOutcome[]> {
  const outcomes: OperationOutcome[] = [];
  let last = lastTimeOf(transaction.view, site);
  for (const step of steps) {
    // Sums of one site are ordered by their stamps: a stamp that goes back would be lost.
    if (step.time <= last) {
      throw new PeerError("operation.invalid", "expected stamps of a site to increase");
    }
    last = step.time;
    const { operations } = step;
    const stamp = { time: step.time, site };
    const apply: ApplyStep = () => transaction.applyForeignInSteps(stamp, operations);
    const checked = yield* check({ transaction, stamp, operations }, apply);
    for (const [i, outcome] of checked.entries()) {
      if (i % AT_ONCE === 0) yield;
      if (outcome === "missing" && operations[i]?.kind === "update") {
        throw new PeerError("operation.refused", "the document is not known here");
      }
      outcomes.push(outcome);
    }
  }
  return outcomes;
}

/** The last time that a site has used here; 0 before its first upload. */
export function lastTimeOf(view: View, site: Site): number {
  return siteRecordOf(view.reader, site)?.time ?? 0;
}

/** The number of the last upload of a site; 0 before its first, and for others than its owner. */
export function lastNumberOf(view: View, site: Site, owner: string | undefined): number {
  const record = siteRecordOf(view.reader, site);
  return isOfAnother(record, owner) ? 0 : (record?.number ?? 0);
}

/**
 * The record of an upload for the log; `time` is the last that the site has used with it. It claims
 * a site without an owner for `owner`.
 */
export function markOf(
  view: View,
  { site, number, digest }: Upload,
  { time, owner }: { readonly time: number; readonly owner: string | undefined },
): UploadMark {
  const mark = { site, number, digest, time };
  const isClaim = owner !== undefined && siteRecordOf(view.reader, site)?.owner === undefined;
  return isClaim ? { ...mark, owner } : mark;
}

/** Refuses input that is no upload at all, so that nothing can be recorded about it. */
export function checkEnvelope({ site, number, digest }: Upload): void {
  const isNumbered = Number.isSafeInteger(number) && number >= 1;
  if (isNumbered && isSite(site) && digest instanceof Uint8Array) return;
  const message = "expected an upload with a site, a number from 1 on and a digest";
  throw new PeerError("operation.invalid", message);
}

/**
 * The steps of an upload in normal form; throws if the shape is wrong. An upload without writes is
 * refused: no permission check would see it.
 */
export function* checkSteps(upload: Upload): Steps<UploadStep[]> {
  if (upload.steps.length === 0) {
    throw new PeerError("operation.invalid", "expected at least one step", { at: "steps" });
  }
  const steps: UploadStep[] = [];
  for (const [i, { time, operations }] of upload.steps.entries()) {
    if (!Number.isSafeInteger(time) || time < 1) {
      const at = `steps[${i}].time`;
      throw new PeerError("operation.invalid", "expected a time of at least 1", { at });
    }
    if (operations.length === 0) {
      const at = `steps[${i}].operations`;
      throw new PeerError("operation.invalid", "expected at least one operation", { at });
    }
    const checked: UploadOperation[] = [];
    for (const [j, operation] of operations.entries()) {
      checked.push(checkUpload(operation, `steps[${i}].operations[${j}]`));
      yield;
    }
    steps.push({ time, operations: checked });
  }
  return steps;
}
