/**
 * Records: the stored values under each kind of key, and functions that read them.
 *
 * Records are trusted here, because the store wrote them; verify.ts checks them.
 * docs/storage-format.md describes each.
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

/** Position and totals of the store; changes with every transaction. */
export type Head = {
  /** The last transaction. */
  readonly txnId: number;
  /** The last time that the clock issued or saw. */
  readonly time: number;
  /** Numbers issued to collections so far. */
  readonly collections: number;
  /** Start of the change log: the newest transaction that it no longer has. The name is stored. */
  readonly floor: number;
  readonly logCount: number;
  readonly logBytes: number;
  /** Time up to which tombstones were collected. */
  readonly horizon: number;
  /** Numbers issued to indexes so far; left out in a store that never had one. */
  readonly indexes?: number;
  /** Number of recorded attachments; left out in a store that never had one. */
  readonly attachments?: number;
  /** Indexes that are being filled or emptied; left out in a store that never had one. */
  readonly unfinished?: number;
};

export type MutableHead = { -readonly [K in keyof Head]: Head[K] };

/**
 * Spelt out in the common case: a spread takes several times as long. Keys keep their order in any
 * case, because it is part of the bytes.
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

/** Identity of the store; each incarnation has a new one. */
export type Identity = {
  readonly format: number;
  readonly historyId: string;
  readonly site: Site;
};

export function readHead(value: Value | undefined): Head {
  return value === undefined ? FIRST_HEAD : (value as Head);
}

/** The shown fields alone, or with their type marks when there are any. */
export function documentRecord(shown: Shown): Value {
  return shown.types === undefined ? shown.fields : [shown.fields, shown.types];
}

export function shownOfRecord(record: Value): Shown {
  if (isArray(record)) {
    return { fields: record[0] as ValueObject, types: record[1] as Types };
  }
  return { fields: record as ValueObject, types: undefined };
}

/** An index in the list of its collection. */
export type IndexRecord = {
  readonly name: string;
  /** Never issued twice, so leftover entries of another index are never taken for this one's. */
  readonly number: number;
  readonly keys: readonly IndexKey[];
  /** Left out when the index is complete; before that, no reader may use it. */
  readonly building?: IndexProgress;
};

/** Progress of an index that is being filled: it covers documents up to `after`. */
export type IndexProgress = {
  /** The ordered key of an id. */
  readonly after: string;
  /** Documents that were put into it, those included that are gone since. */
  readonly done: number;
};

export function readIndexList(record: Value | undefined): readonly IndexRecord[] {
  return record === undefined ? [] : (record as readonly IndexRecord[]);
}

/**
 * How many uploaders of one attachment are remembered: the last ones. It must cover the time
 * between an upload and the document that refers to it; each upload rewrites the record.
 */
export const UPLOADERS_MAX = 64;

/** An attachment whose content is kept beside the store. */
export type AttachmentRecord = {
  readonly len: number;
  /** The uploaders, the last one at the end. */
  readonly by: readonly string[];
  /** Since when no document refers to it; left out while one does. */
  readonly orphanedAt?: number;
};

export interface MetaRecord {
  /** The transaction that changed the document last. */
  readonly version: number;
  readonly bytes: Uint8Array;
  /** Where the metadata begin in `bytes`: after the version. */
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

/** Where the metadata begin in a record that this store wrote: after the version. */
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

/** The old values that a change overwrote: enough to rebuild the fields shown before. */
export type Before = {
  readonly fields: ValueObject;
  /** Fields that did not show before. */
  readonly added: readonly string[];
  /** All type marks of before, when they changed. */
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
  /** The owner that claims the site with this upload; left out when the site has one. */
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
  /** The first sender (K63); left out in a store from before sites had an owner. */
  readonly owner?: string;
  /** Time of its last upload, in milliseconds; present while none of them was applied (K64). */
  readonly unappliedAt?: number;
};

/** Who wrote a transaction: an API key, or a user of a provider; and the peer that sent it. */
export type Writer = {
  /** Name of the API key. */
  readonly credential?: string;
  readonly provider?: string;
  readonly user?: string;
  /** Key of the small peer. */
  readonly peer?: string;
};

/** Origin of a transaction. */
export interface Origin {
  /** Wall clock of the evaluating store, in milliseconds: the age of the record. */
  readonly at: number;
  /** Identifies the request in the log. */
  readonly requestId: string | undefined;
  readonly upload: UploadMark | undefined;
  /** Why an upload was refused: then it has no steps and only its number counts. */
  readonly refusal: string | undefined;
  /** The history of the store that it came from over a link. */
  readonly via: string | undefined;
  readonly by: Writer | undefined;
}

export type MutableOrigin = { -readonly [Part in keyof Origin]: Origin[Part] };

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
  /** Left out for the work of the store itself, and in transactions of format 3 and before. */
  readonly by?: Writer;
  /** Approximate bytes, for retention by size. */
  readonly size: number;
};

/** Approximate bytes of a value: near enough to bound a log, and cheap to compute. */
export function approximateSize(value: Value): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value === "number" || typeof value === "bigint") return 6;
  if (typeof value !== "object" || value === null) return 1;
  if (value instanceof Uint8Array) return value.length + 3;
  let size = 3;
  if (isArray(value)) for (const element of value) size += approximateSize(element);
  else for (const key in value) size += key.length + approximateSize(value[key] as Value) + 1;
  return size;
}

/** Whether the approximate size of a log record is computed at once: most have few parts. */
export function isSizedAtOnce({ steps, changes, guards }: TransactionRecord): boolean {
  let parts = changes.length + (guards?.length ?? 0);
  for (const { operations } of steps) parts += operations.length;
  return parts <= AT_ONCE;
}

/** Approximate bytes that are measured between two possible pauses. */
const MEASURED_AT_ONCE = 4096;

/** The same as approximateSize, for a log record of up to a million operations. */
export function* recordSizeInSteps(record: TransactionRecord): Steps<number> {
  const { steps, changes, guards } = record;
  const lists: (readonly Value[])[] = [changes];
  const empty = { ...record, steps: [], changes: [] };
  let size = approximateSize(guards === undefined ? empty : { ...empty, guards: [] });
  if (guards !== undefined) lists.push(guards);
  for (const step of steps) {
    size += approximateSize({ ...step, operations: [] });
    lists.push(step.operations);
  }
  let pausedAt = size;
  for (const list of lists) {
    for (const each of list) {
      size += approximateSize(each);
      if (size - pausedAt < MEASURED_AT_ONCE) continue;
      pausedAt = size;
      yield;
    }
  }
  return size;
}
