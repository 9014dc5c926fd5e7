/**
 * Log record: builds the record of a transaction for the change log. It may hold a million
 * operations, so it is built in steps.
 */

import { AT_ONCE, type Steps } from "../steps.ts";
import { beforeImage } from "./before-image.ts";
import type { OpenDocument } from "./open-document.ts";
import {
  approximateSize,
  type Change,
  type Guard,
  isSizedAtOnce,
  type Origin,
  recordSizeInSteps,
  type Step,
  type TransactionRecord,
} from "./records.ts";

/** The results of a transaction that its record is made of. */
export interface LoggedWork {
  readonly origin: Origin;
  readonly steps: readonly Step[] | undefined;
  readonly guards: readonly Guard[] | undefined;
  /** All documents that it opened, changed or not. */
  readonly documents: Iterable<OpenDocument | undefined>;
}

export function* logRecord({
  origin,
  steps,
  guards,
  documents,
}: LoggedWork): Steps<TransactionRecord> {
  const record: { -readonly [K in keyof TransactionRecord]: TransactionRecord[K] } = {
    at: origin.at,
    steps: steps ?? [],
    changes: isOne(documents) ? changeOfOne(documents[0]) : yield* changesOf(documents),
    size: 0,
  };
  if (origin.requestId !== undefined) record.requestId = origin.requestId;
  if (guards !== undefined) record.guards = guards;
  if (origin.upload !== undefined) record.upload = origin.upload;
  if (origin.refusal !== undefined) record.refusal = origin.refusal;
  if (origin.via !== undefined) record.via = origin.via;
  if (origin.by !== undefined) record.by = origin.by;
  record.size = isSizedAtOnce(record) ? approximateSize(record) : yield* recordSizeInSteps(record);
  return record;
}

/** Most transactions open one document, and need no generator. */
function isOne(
  documents: Iterable<OpenDocument | undefined>,
): documents is readonly (OpenDocument | undefined)[] {
  return Array.isArray(documents);
}

function changeOfOne(document: OpenDocument | undefined): Change[] {
  return document === undefined || document.operation < 0 ? [] : [changeOf(document)];
}

/** The changes in the order of their operations; each operation changes one document. */
function* changesOf(documents: Iterable<OpenDocument | undefined>): Steps<Change[]> {
  const placed: (Change | undefined)[] = [];
  let opened = 0;
  for (const document of documents) {
    if (opened++ > 0) yield;
    if (document !== undefined && document.operation >= 0) {
      placed[document.operation] = changeOf(document);
    }
  }
  const changes: Change[] = [];
  for (let i = 0; i < placed.length; i++) {
    const change = placed[i];
    if (change !== undefined) changes.push(change);
    if (i % AT_ONCE === AT_ONCE - 1) yield;
  }
  return changes;
}

function changeOf({ operation, previous, before, shown }: OpenDocument): Change {
  return [operation, previous, beforeImage(before, shown)];
}
