/**
 * Keys: the layout of the key space of one store, with functions that build and parse each key.
 *
 * A key is one letter for its kind, then fixed-width numbers, then the ordered key of a document
 * id. So each kind is one range, and documents of a collection lie in the order of their ids. The
 * layout is part of the storage format (K2, K3).
 *
 *   c section name        catalog record           n collection        count of shown documents
 *   d collection id       shown fields             s                   identity of the store
 *   g time collection id  oldest collectable floor t txnId             transaction
 *   h                     head                     u site              last upload of a site
 *   k name                number of a collection   v collection txnId id  last change of a document
 *   m collection id       metadata                 w site number       one upload
 *   a txnId index         stale operation          i collection        indexes of a collection
 *   x index keys id size  entry of an index        b content           record of an attachment
 *   r content collection id  reference to one      o time content      attachment without reference
 *   y index               a dropped index that still has entries
 *   e time site           a site without an applied upload
 *
 * Only in the store of a small peer:
 *
 *   l collection id       record held beside a document
 *   pa name               server, progress, counts  pp number  a transaction without an outcome
 *   pc key                a subscription            pd collection id number  its write to a document
 *   pk number             an upload that was taken  ps chain number  its position in its chain
 *   pr number             one that was refused      pb content  a content that is on the device
 */

import {
  bytesOf,
  ID_SIZE_MAX,
  orderedKey,
  readOrderedKey,
  type Site,
  textKey,
  type Value,
} from "@bigpeer/protocol";
import type { Key, KeyRange } from "../platform.ts";

export const HEAD_KEY: Key = "h";
export const IDENTITY_KEY: Key = "s";

export function catalogKey(section: string, name: string): Key {
  return `c${textKey(section)}${textKey(name)}`;
}

let lastName = "";
let lastNameKey: Key = `k${textKey("")}`;

/** The last result is cached: consecutive writes ask for the same collection. */
export function collectionKey(name: string): Key {
  if (name !== lastName) {
    lastNameKey = `k${textKey(name)}`;
    lastName = name;
  }
  return lastNameKey;
}

export const COLLECTIONS: KeyRange = prefixRange("k");

export function countKey(collection: number): Key {
  return prefixesOf(collection).count;
}

export function documentKey(collection: number, idKey: string): Key {
  return prefixesOf(collection).document + idKey;
}

/** Prefixes of the keys of a collection's documents. */
interface Prefixes {
  readonly document: string;
  readonly meta: string;
  readonly changed: string;
  readonly held: string;
  readonly count: string;
}

const prefixes = new Map<number, Prefixes>();

/** Cached, because every read and write of a document begins with it; collections are few. */
function prefixesOf(collection: number): Prefixes {
  let known = prefixes.get(collection);
  if (known === undefined) {
    const number = uint32Key(collection);
    known = {
      document: `d${number}`,
      meta: `m${number}`,
      changed: `v${number}`,
      held: `l${number}`,
      count: `n${number}`,
    };
    prefixes.set(collection, known);
  }
  return known;
}

export function documentRange(collection: number): KeyRange {
  return prefixRange(`d${uint32Key(collection)}`);
}

/** One end of a range: a value, and whether the range includes it. */
export interface Bound {
  /** Undefined is MISSING. */
  readonly value: Value | undefined;
  readonly isIncluded: boolean;
}

/** Documents of a collection whose ids lie between two bounds. */
export function documentsBetween(
  collection: number,
  low: Bound | undefined,
  high: Bound | undefined,
): KeyRange {
  return rangeBetween(documentRange(collection), low, high);
}

function rangeBetween(all: KeyRange, low: Bound | undefined, high: Bound | undefined): KeyRange {
  return {
    from: low === undefined ? all.from : all.from + idPlace(low, !low.isIncluded),
    to: high === undefined ? all.to : all.from + idPlace(high, high.isIncluded),
  };
}

/** The key position right before or right after the id that equals a bound. */
function idPlace({ value }: Bound, isBehind: boolean): string {
  const key = orderedKey(value);
  // Longer than any id: it lies between two ids, and its first part determines where.
  if (key.length > ID_SIZE_MAX) return key.slice(0, ID_SIZE_MAX + 1);
  return isBehind ? `${key}\x00` : key;
}

/** Documents of a collection after the id with this key; all for the empty key. */
export function documentsBehind(collection: number, idKey: string): KeyRange {
  const all = documentRange(collection);
  return idKey === "" ? all : { from: `${documentKey(collection, idKey)}\x00`, to: all.to };
}

/** Length of the prefix before the id in a document or metadata key. */
export const ID_OFFSET = 5;

export function metaKey(collection: number, idKey: string): Key {
  return prefixesOf(collection).meta + idKey;
}

export function transactionKey(txnId: number): Key {
  return `t${uint64Key(txnId)}`;
}

/** Transactions above `after`, up to and including `upTo`. */
export function transactionRange(after: number, upTo: number): KeyRange {
  return { from: transactionKey(after + 1), to: transactionKey(upTo + 1) };
}

export function txnIdOfKey(key: Key): number {
  return numberOfKey(key, 1);
}

export function changedKey(collection: number, txnId: number, idKey: string): Key {
  return prefixesOf(collection).changed + txnIdKey(txnId) + idKey;
}

let lastTxnId = 0;
let lastTxnIdKey: string = uint64Key(0);

/** The last result is cached: a transaction asks for it with each document. */
function txnIdKey(txnId: number): string {
  if (txnId !== lastTxnId) {
    lastTxnIdKey = uint64Key(txnId);
    lastTxnId = txnId;
  }
  return lastTxnIdKey;
}

/** Documents of a collection whose last change is above `after`, oldest change first. */
export function changedRange(collection: number, after: number): KeyRange {
  const prefix = `v${uint32Key(collection)}`;
  return { from: prefix + uint64Key(after + 1), to: prefixRange(prefix).to };
}

export interface ChangedKey {
  readonly txnId: number;
  readonly idKey: string;
}

export function readChangedKey(key: Key): ChangedKey {
  return { txnId: numberOfKey(key, 5), idKey: key.slice(13) };
}

export function tombstoneKey(time: number, collection: number, idKey: string): Key {
  return `g${uint64Key(time)}${uint32Key(collection)}${idKey}`;
}

export function tombstoneRange(upToTime: number): KeyRange {
  return { from: "g", to: `g${uint64Key(upToTime + 1)}` };
}

export interface TombstoneKey {
  readonly time: number;
  readonly collection: number;
  readonly idKey: string;
}

export function readTombstoneKey(key: Key): TombstoneKey {
  return {
    time: numberOfKey(key, 1),
    collection: collectionOfKey(key, 9),
    idKey: key.slice(13),
  };
}

export function siteKey(site: Site): Key {
  return `u${siteBytesKey(site)}`;
}

export function siteOfKey(key: Key): Site {
  return printKey(key.slice(0, 9)).slice(2);
}

export function uploadKey(site: Site, number: number): Key {
  return `w${siteBytesKey(site)}${uint64Key(number)}`;
}

export function uploadNumberOfKey(key: Key): number {
  return numberOfKey(key, 9);
}

/** All uploads of a site. */
export function uploadRange(site: Site): KeyRange {
  return prefixRange(`w${siteBytesKey(site)}`);
}

/** Entry of a site without an applied upload; `atMs` is the time of its last upload. */
export function unappliedKey(atMs: number, site: Site): Key {
  return `e${uint64Key(atMs)}${siteBytesKey(site)}`;
}

/** Those whose last upload came before a time. */
export function unappliedRange(beforeMs: number): KeyRange {
  return { from: "e", to: `e${uint64Key(Math.max(0, beforeMs))}` };
}

export function siteOfUnappliedKey(key: Key): Site {
  return siteOfKey(`u${key.slice(9)}`);
}

export function quarantineKey(txnId: number, index: number): Key {
  return `a${uint64Key(txnId)}${uint32Key(index)}`;
}

/** Stale operations of transactions up to and including `upTo`. */
export function quarantineRange(upTo: number): KeyRange {
  return { from: "a", to: quarantineKey(upTo + 1, 0) };
}

/** Key of the index list of a collection. */
export function indexListKey(collection: number): Key {
  return `i${uint32Key(collection)}`;
}

export const INDEX_LISTS: KeyRange = prefixRange("i");

const entryPrefixes = new Map<number, string>();

/** Prefix of all entries of an index. Cached, because every write of a document asks for it. */
export function entryPrefix(index: number): string {
  let known = entryPrefixes.get(index);
  if (known === undefined) {
    known = `x${uint32Key(index)}`;
    entryPrefixes.set(index, known);
  }
  return known;
}

export function entryKey(index: number, position: string, idKey: string): Key {
  return entryPrefix(index) + position + idKey + uint16Key(idKey.length);
}

export interface EntryKey {
  /** Number of the index. */
  readonly index: number;
  readonly position: string;
  readonly idKey: string;
}

/** The size of the id is at the end, so that the position need not be decoded. */
export function readEntryKey(key: Key): EntryKey {
  const end = key.length - 2;
  const start = end - (key.charCodeAt(end) * 256 + key.charCodeAt(end + 1));
  return {
    index: collectionOfKey(key),
    position: key.slice(5, start),
    idKey: key.slice(start, end),
  };
}

/** Mark of a dropped index that still has entries. */
export function droppedIndexKey(index: number): Key {
  return `y${uint32Key(index)}`;
}

export const DROPPED_INDEXES: KeyRange = prefixRange("y");

export function droppedIndexOfKey(key: Key): number {
  return collectionOfKey(key);
}

export function attachmentKey(id: string): Key {
  return `b${textKey(id)}`;
}

/** Attachments after `after`, or all. */
export function attachmentRange(after?: string): KeyRange {
  const all = prefixRange("b");
  return after === undefined ? all : { from: `${attachmentKey(after)}\x00`, to: all.to };
}

export function attachmentOfKey(key: Key): string {
  return readText(key, 1).text;
}

export function referenceKey(id: string, collection: number, idKey: string): Key {
  return `r${textKey(id)}${uint32Key(collection)}${idKey}`;
}

/** The references to one attachment. A longer id has ff here; no collection number does. */
export function referenceRange(id: string): KeyRange {
  const prefix = `r${textKey(id)}`;
  return { from: prefix, to: `${prefix}\xff` };
}

/** The references of one collection to an attachment. */
export function referencesFrom(id: string, collection: number): KeyRange {
  return prefixRange(referenceKey(id, collection, ""));
}

/** The references to all attachments after `after`, or to all. */
export function referencesBehind(after?: string): KeyRange {
  const all = prefixRange("r");
  return after === undefined ? all : { from: referenceRange(after).to, to: all.to };
}

export interface ReferenceKey {
  readonly attachment: string;
  readonly collection: number;
  readonly idKey: string;
}

export function readReferenceKey(key: Key): ReferenceKey {
  const { text, end } = readText(key, 1);
  return { attachment: text, collection: collectionOfKey(key, end), idKey: key.slice(end + 4) };
}

export function orphanKey(time: number, id: string): Key {
  return `o${uint64Key(time)}${textKey(id)}`;
}

export function orphanRange(upToTime: number): KeyRange {
  return { from: "o", to: `o${uint64Key(upToTime + 1)}` };
}

export interface OrphanKey {
  readonly time: number;
  readonly attachment: string;
}

export function readOrphanKey(key: Key): OrphanKey {
  return { time: numberOfKey(key, 1), attachment: readText(key, 9).text };
}

/** Record that a small peer holds beside a document. */
export function heldKey(collection: number, idKey: string): Key {
  return prefixesOf(collection).held + idKey;
}

/** All of these records. */
export const HELD: KeyRange = prefixRange("l");

/** Metadata of a collection between two bounds of the id. */
export function metaBetween(
  collection: number,
  low: Bound | undefined,
  high: Bound | undefined,
): KeyRange {
  return rangeBetween(prefixRange(`m${uint32Key(collection)}`), low, high);
}

/** Held records of a collection between two bounds of the id. */
export function heldBetween(
  collection: number,
  low: Bound | undefined,
  high: Bound | undefined,
): KeyRange {
  return rangeBetween(prefixRange(`l${uint32Key(collection)}`), low, high);
}

export function peerFactKey(name: string): Key {
  return `pa${textKey(name)}`;
}

export function subscriptionKey(key: string): Key {
  return `pc${textKey(key)}`;
}

export const SUBSCRIPTIONS: KeyRange = prefixRange("pc");

export function pendingKey(number: number): Key {
  return `pp${uint64Key(number)}`;
}

export const PENDING: KeyRange = prefixRange("pp");

/** Marks that a pending transaction wrote to a document. */
export function touchKey(collection: number, idKey: string, number: number): Key {
  return `pd${uint32Key(collection)}${idKey}${uint64Key(number)}`;
}

/** The pending transactions that wrote to a document. No id key is a prefix of another (V9). */
export function touchRange(collection: number, idKey: string): KeyRange {
  return prefixRange(`pd${uint32Key(collection)}${idKey}`);
}

export interface TouchKey {
  readonly collection: number;
  readonly idKey: string;
  /** Number of the pending transaction. */
  readonly number: number;
}

export function readTouchKey(key: Key): TouchKey {
  const end = key.length - 8;
  return {
    collection: collectionOfKey(key, 2),
    idKey: key.slice(6, end),
    number: numberOfKey(key, end),
  };
}

export function sequenceKey(chain: number, number: number): Key {
  return `ps${uint32Key(chain)}${uint64Key(number)}`;
}

/** Upload sequences, in the order in which they are sent. */
export const SEQUENCES: KeyRange = prefixRange("ps");

/** Those of a chain above `after`, up to and including `upTo` or to its end. */
export function sequenceRange(chain: number, after: number, upTo?: number): KeyRange {
  const to = upTo === undefined ? sequenceKey(chain + 1, 0) : sequenceKey(chain, upTo + 1);
  return { from: sequenceKey(chain, after + 1), to };
}

export function chainOfSequenceKey(key: Key): number {
  return collectionOfKey(key, 2);
}

export function keptKey(number: number): Key {
  return `pk${uint64Key(number)}`;
}

export const KEPT: KeyRange = prefixRange("pk");

export function refusedKey(number: number): Key {
  return `pr${uint64Key(number)}`;
}

export const REFUSED: KeyRange = prefixRange("pr");

export function contentKey(id: string): Key {
  return `pb${textKey(id)}`;
}

/** The contents on the device, by id. */
export const CONTENTS: KeyRange = prefixRange("pb");

export function contentOfKey(key: Key): string {
  return readText(key, 2).text;
}

/** The number after the two letters of a key of the peer's own. */
export function peerNumberOfKey(key: Key): number {
  return numberOfKey(key, 2);
}

/** Reads text that textKey wrote at an offset: a string key without the tag. */
function readText(key: Key, offset: number): { readonly text: string; readonly end: number } {
  const { value, end } = readOrderedKey(`\x40${key.slice(offset)}`, 0);
  return { text: value as string, end: offset + end - 1 };
}

export function collectionOfKey(key: Key, offset = 1): number {
  let number = 0;
  for (let i = offset; i < offset + 4; i++) number = number * 256 + key.charCodeAt(i);
  return number;
}

/** All keys that begin with `prefix`. */
export function prefixRange(prefix: string): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1);
  const head = prefix.slice(0, -1);
  return { from: prefix, to: last < 0xff ? head + String.fromCharCode(last + 1) : afterAll(head) };
}

function afterAll(head: string): string {
  return prefixRange(head).to;
}

function uint32Key(value: number): string {
  return String.fromCharCode(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
}

function uint16Key(value: number): string {
  return String.fromCharCode(value >>> 8, value & 255);
}

function uint64Key(value: number): string {
  const high = Math.floor(value / 0x100000000);
  const low = value % 0x100000000;
  return String.fromCharCode(
    high >>> 24,
    (high >>> 16) & 255,
    (high >>> 8) & 255,
    high & 255,
    low >>> 24,
    (low >>> 16) & 255,
    (low >>> 8) & 255,
    low & 255,
  );
}

function numberOfKey(key: Key, offset: number): number {
  return collectionOfKey(key, offset) * 0x100000000 + collectionOfKey(key, offset + 4);
}

function siteBytesKey(site: Site): string {
  let key = "";
  for (let i = 0; i < 16; i += 2)
    key += String.fromCharCode(Number.parseInt(site.slice(i, i + 2), 16));
  return key;
}

/** A key as hexadecimal text, for error messages. */
export function printKey(key: Key): string {
  let hex = "";
  for (const byte of bytesOf(key)) hex += byte.toString(16).padStart(2, "0");
  return `${key.charAt(0)}:${hex.slice(2)}`;
}
