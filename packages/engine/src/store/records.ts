/**
 * Records: what lies under the keys, as plain values, with the functions that read them back.
 *
 * A record is trusted here (the store wrote it); verify.ts is who doubts. docs/storage-format.md
 * describes each.
 */

import {
  ByteReader,
  type IndexKey,
  isArray,
  type Operation,
  PeerError,
  type Site,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import { AT_ONCE, type Steps } from "../steps.ts";

/** Where the store stands; changes with every transaction. */
export type Head = {
  /** The last transaction. */
  readonly txnId: number;
  /** The last time that the clock gave or took. */
  readonly time: number;
  /** Numbers given to collections so far. */
  readonly collections: number;
  /** The newest transaction that the change log no longer has. */
  readonly floor: number;
  readonly logCount: number;
  readonly logBytes: number;
  /** Time up to which tombstones were collected. */
  readonly horizon: number;
  /** Numbers given to indexes so far; left out in a store that never had one. */
  readonly indexes?: number;
  /** Attachments that are recorded; left out in a store that never had one. */
  readonly attachments?: number;
  /** Indexes that are being filled or emptied; left out in a store that never had one. */
  readonly unfinished?: number;
};

export type MutableHead = { -readonly [K in keyof Head]: Head[K] };

/**
 * Spelt out where that is all there is: a spread takes several times as long. Keys stay in their
 * order in any case, since it is a part of the bytes.
 */
export function copyOfHead(head: Head): MutableHead {
  const { txnId, time, collections, floor, logCount, logBytes, horizon } = head;
  const isFirst = head.indexes === undefined && head.attachments === undefined;
  return isFirst && head.unfinished === undefined
    ? { txnId, time, collections, floor, logCount, logBytes, horizon }
    : { ...head };
}

export const FIRST_HEAD: Head = {
  txnId: 0,
  time: 0,
  collections: 0,
  floor: 0,
  logCount: 0,
  logBytes: 0,
  horizon: 0,
};

/** Who the store is: new for each life of a store. */
export type Identity = {
  readonly format: number;
  readonly historyId: string;
  readonly site: Site;
};

export function readHead(value: Value | undefined): Head {
  return value === undefined ? FIRST_HEAD : (value as Head);
}

/** The shown fields alone, or with the marks of their types when there are any. */
export function documentRecord(shown: Shown): Value {
  return shown.types === undefined ? shown.fields : [shown.fields, shown.types];
}

export function shownOfRecord(record: Value): Shown {
  if (isArray(record)) {
    return { fields: record[0] as ValueObject, types: record[1] as Types };
  }
  return { fields: record as ValueObject, types: undefined };
}

/** An index as the list of its collection has it. */
export type IndexRecord = {
  readonly name: string;
  /** Never given twice, so what is left of another index is never taken for this one's. */
  readonly number: number;
  readonly keys: readonly IndexKey[];
  /** Left out when the index is complete; before, nobody may read from it. */
  readonly building?: IndexProgress;
};

/** How far an index is filled. Documents up to `after` are in it, those behind it are not. */
export type IndexProgress = {
  /** The key of an id. */
  readonly after: string;
  /** Documents that were put into it, those included that are gone since. */
  readonly done: number;
};

export function readIndexList(record: Value | undefined): readonly IndexRecord[] {
  return record === undefined ? [] : (record as readonly IndexRecord[]);
}

/**
 * Uploaders of one attachment that are remembered: the last ones. Enough that nobody is forgotten
 * between his upload and the document that he writes with it; the record is rewritten for each.
 */
export const UPLOADERS_MAX = 64;

/** An attachment whose content is kept beside the store. */
export type AttachmentRecord = {
  readonly len: number;
  /** Who brought it, the last one at the end. */
  readonly by: readonly string[];
  /** Since when nobody refers to it; left out while somebody does. */
  readonly orphanedAt?: number;
};

export interface MetaRecord {
  /** The transaction that changed the document last. */
  readonly version: number;
  readonly bytes: Uint8Array;
  /** Where the metadata begin in `bytes`: behind the version. */
  readonly offset: number;
}

export function readMetaRecord(record: Value): MetaRecord {
  if (!(record instanceof Uint8Array)) {
    throw new PeerError("store.corrupt", "expected the metadata of a document");
  }
  const reader = new ByteReader(record, "store.corrupt");
  const version = reader.varint();
  return { version, bytes: record, offset: reader.offset };
}

/** Where the metadata begin in a record that this store has made: behind the version. */
export function metaOffset(record: Uint8Array): number {
  let offset = 0;
  while ((record[offset] as number) >= 0x80) offset++;
  return offset + 1;
}

/** Operations of one statement or command: one tick of the clock. */
export type Step = {
  readonly time: number;
  /** The writer when it is not this store: then `time` is its own and is kept. */
  readonly site?: Site;
  readonly operations: readonly Operation[];
};

/** What the change of a document took away: enough to rebuild what showed before. */
export type Before = {
  readonly fields: ValueObject;
  /** Fields that did not show before. */
  readonly added: readonly string[];
  /** All marks of before, when they changed. */
  readonly types?: Types;
};

/** `operation` counts over all steps; the document is that of the operation. */
export type Change = readonly [operation: number, previous: number, before: Before | null];

export type Guard = readonly [collection: string, id: Value, version: number];

/** An upload as a site numbered it; the digest is chained over all before it. */
export type UploadMark = {
  readonly site: Site;
  readonly number: number;
  readonly digest: Uint8Array;
  /** The last time that the site has used: its stamps never go back. */
  readonly time: number;
  /** Whose site it is from now on; left out where that is known. */
  readonly owner?: string;
};

export type UploadOutcome = "applied" | "stale" | "refused";

export type UploadRecord = {
  readonly digest: Uint8Array;
  readonly txnId: number;
  readonly outcome: UploadOutcome;
  readonly reason: string;
};

export type SiteRecord = {
  readonly number: number;
  readonly digest: Uint8Array;
  readonly txnId: number;
  readonly time: number;
  /** Who used it first (K63); left out in a store from before sites had an owner. */
  readonly owner?: string;
  /** When its last upload came, in milliseconds: there while none of them was applied (K64). */
  readonly unappliedAt?: number;
};

/** Where a transaction comes from. */
export interface Origin {
  /** Wall clock of whoever evaluated it, in milliseconds: the age of its record. */
  readonly at: number;
  /** Names the request, so that it can be found again. */
  readonly requestId?: string;
  readonly upload?: UploadMark;
  /** Why an upload was refused: then it has no steps and only its number counts. */
  readonly refusal?: string;
  /** The history of the store that it came from over a link. */
  readonly via?: string;
}

/** A transaction in the change log. */
export type TransactionRecord = {
  readonly at: number;
  readonly requestId?: string;
  readonly steps: readonly Step[];
  readonly changes: readonly Change[];
  /** Documents that were read for a decision, at the version that was seen. */
  readonly guards?: readonly Guard[];
  readonly upload?: UploadMark;
  readonly refusal?: string;
  readonly via?: string;
  /** Approximate bytes, for retention by size. */
  readonly size: number;
};

/** Bytes that a value takes, near enough to bound a log and cheap to compute. */
export function approximateSize(value: Value): number {
  switch (typeof value) {
    case "string":
      return value.length + 2;
    case "number":
    case "bigint":
      return 6;
    case "object": {
      if (value === null) return 1;
      if (value instanceof Uint8Array) return value.length + 3;
      let size = 3;
      if (isArray(value)) for (const element of value) size += approximateSize(element);
      else for (const key in value) size += key.length + approximateSize(value[key] as Value) + 1;
      return size;
    }
    default:
      return 1;
  }
}

/** Lists above each other in a record of the log: steps in a transaction, operations in a step. */
const RECORD_LEVELS = 4;

/** The approximate size of a record of the log, which may be of a million operations. */
export function* recordSize(record: TransactionRecord): Steps<number> {
  const { steps, changes, guards } = record;
  let parts = changes.length + (guards?.length ?? 0);
  for (const { operations } of steps) parts += operations.length;
  return parts <= AT_ONCE ? approximateSize(record) : yield* sizeInSteps(record, RECORD_LEVELS);
}

function* sizeInSteps(value: Value, levels: number): Steps<number> {
  const isLeaf = levels === 0 || typeof value !== "object" || value === null;
  if (isLeaf || value instanceof Uint8Array) return approximateSize(value);
  let size = 3;
  if (isArray(value)) {
    for (const element of value) {
      size += levels === 1 ? approximateSize(element) : yield* sizeInSteps(element, levels - 1);
      yield;
    }
    return size;
  }
  for (const key in value) {
    size += key.length + (yield* sizeInSteps(value[key] as Value, levels - 1)) + 1;
  }
  return size;
}
