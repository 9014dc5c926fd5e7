/**
 * View: read access to the documents, collections, indexes and catalog of one state of the store.
 *
 * It works over a durable snapshot and over the overlay of a transaction alike. Ordinary reads
 * touch the shown fields alone; states and versions come from the metadata.
 */

import {
  assert,
  documentId,
  idOfKey,
  isArray,
  PeerError,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import type { DocumentState } from "../crdt/state.ts";
import { EMPTY_STATE } from "../crdt/state.ts";
import { decodeState, isShownByMeta } from "../crdt/state-codec.ts";
import { COLLECTIONS_REMEMBERED } from "../limits.ts";
import type { KeyEntry, KeyRange, Reader } from "../platform.ts";
import { entryRange, type IndexDefinition, IndexEntry, type IndexRange } from "./index-entry.ts";
import {
  type Bound,
  COLLECTIONS,
  catalogKey,
  changedRange,
  collectionKey,
  countKey,
  documentKey,
  documentsBetween,
  HEAD_KEY,
  ID_OFFSET,
  indexListKey,
  metaKey,
  readChangedKey,
} from "./keys.ts";
import { type Head, readHead, readIndexList, readMetaRecord, shownOfRecord } from "./records.ts";

export interface StoredDocument {
  readonly id: Value;
  readonly fields: ValueObject;
  /** Marks where the type of a value is not that of its shape; undefined when there are none. */
  readonly types: Types | undefined;
}

export interface VersionedState {
  readonly state: DocumentState;
  /** The transaction that changed the document last; 0 when it was never here. */
  readonly version: number;
}

export interface ChangedDocument {
  readonly id: Value;
  readonly version: number;
}

/** Range, direction and needed fields of a scan. */
export interface ScanRange extends Needed {
  /** Bounds of the id. */
  readonly low?: Bound;
  readonly high?: Bound;
  /** Continues after this id, in the direction of the walk. */
  readonly after?: Value;
  /** From the largest id down. */
  readonly reverse?: boolean;
}

/** Which fields of a document the caller needs. */
export interface Needed {
  /**
   * The top-level fields needed; others, and their types, may be missing. All are there when this
   * is left out. The id always is.
   */
  readonly fields?: readonly string[] | undefined;
}

const NEVER_HELD: VersionedState = { state: EMPTY_STATE, version: 0 };

const NO_FIELDS: readonly string[] = [];

export class View {
  readonly #reader: Reader;
  /** Collection numbers never change, so durable ones may be cached across views. */
  readonly #numbers: Map<string, number> | undefined;
  /** Whether the state cannot change while it is read. */
  readonly #isFixed: boolean;

  constructor(reader: Reader, numbers?: Map<string, number>, isFixed = false) {
    this.#reader = reader;
    this.#numbers = numbers;
    this.#isFixed = isFixed;
  }

  get reader(): Reader {
    return this.#reader;
  }

  get head(): Head {
    return readHead(this.#reader.get(HEAD_KEY));
  }

  /** The number of a collection; undefined until its first document or index. */
  collectionNumber(name: string): number | undefined {
    const known = this.#numbers?.get(name);
    if (known !== undefined) return known;
    const number = this.#reader.get(collectionKey(name)) as number | undefined;
    if (number !== undefined) this.#rememberNumber(name, number);
    return number;
  }

  #rememberNumber(name: string, number: number): void {
    const numbers = this.#numbers;
    if (numbers === undefined) return;
    if (numbers.size >= COLLECTIONS_REMEMBERED) numbers.clear();
    numbers.set(name, number);
  }

  /** The names of all collections in order, or of the first `limit`. */
  collections(limit: number = Number.POSITIVE_INFINITY): string[] {
    const names: string[] = [];
    for (const key of this.#reader.keys(COLLECTIONS)) {
      if (names.length >= limit) break;
      names.push(nameOfKey(key));
    }
    return names;
  }

  get(collection: string, id: Value, needed?: Needed): StoredDocument | undefined {
    const number = this.collectionNumber(collection);
    if (number === undefined) return undefined;
    const document = documentId(id);
    const record = this.#reader.get(documentKey(number, document.key), needed?.fields);
    if (record === undefined) return this.#noDocument(number, document.key);
    return storedDocument(document.id, record);
  }

  /** As get, by the ordered key of the id. */
  getByKey(collection: string, idKey: string, needed?: Needed): StoredDocument | undefined {
    const number = this.collectionNumber(collection);
    if (number === undefined) return undefined;
    const record = this.#reader.get(documentKey(number, idKey), needed?.fields);
    if (record === undefined) return this.#noDocument(number, idKey);
    return storedDocument(idOfKey(idKey), record);
  }

  /** A missing document is absent, unless its metadata say that it shows (K72). */
  #noDocument(number: number, idKey: string): undefined {
    const record = this.#reader.get(metaKey(number, idKey));
    if (record === undefined) return undefined;
    const { bytes, offset } = readMetaRecord(record);
    if (isShownByMeta(bytes, offset)) throw lost("the fields of a document that shows");
    return undefined;
  }

  /** The documents of a collection in the order of their ids. */
  scan(collection: string, range: ScanRange = {}): Iterable<StoredDocument> {
    return { [Symbol.iterator]: () => this.#scan(collection, range) };
  }

  #scan(collection: string, range: ScanRange): Iterator<StoredDocument> {
    const { fields } = range;
    const number = this.collectionNumber(collection);
    if (number === undefined) return [][Symbol.iterator]();
    const entries = this.#reader.entries(scanRange(number, range), fields);
    const expected = this.#isFixed && isWhole(range) ? this.count(collection) : undefined;
    return new DocumentWalk(entries[Symbol.iterator](), fields?.length === 0, expected);
  }

  /** As scan, the ids alone. */
  *scanIds(collection: string, range: ScanRange = {}): Iterable<Value> {
    const number = this.collectionNumber(collection);
    if (number === undefined) return;
    // With the values: their checksums prove that the keys are what was written.
    for (const { key } of this.#reader.entries(scanRange(number, range), NO_FIELDS)) {
      yield idOfKey(key, ID_OFFSET);
    }
  }

  /** The indexes of one collection by name, or those of all. */
  indexes(collection?: string): IndexDefinition[] {
    const collections = collection === undefined ? this.collections() : [collection];
    return collections.flatMap((name) => {
      const number = this.collectionNumber(name);
      if (number === undefined) return [];
      const list = readIndexList(this.#reader.get(indexListKey(number)));
      return list.map((index) => ({ collection: name, ...index }));
    });
  }

  indexesOf(collection: string): readonly IndexDefinition[] {
    return this.indexes(collection);
  }

  index(collection: string, name: string): IndexDefinition | undefined {
    return this.indexes(collection).find((index) => index.name === name);
  }

  /** The entries of a complete index in its order, those of equal values by id. */
  *scanIndex(index: IndexDefinition, range: IndexRange = {}): Iterable<IndexEntry> {
    assert(index.building === undefined, "an index that is complete");
    for (const { key } of this.#reader.entries(entryRange(index, range))) {
      yield new IndexEntry(index, key);
    }
  }

  count(collection: string): number {
    const number = this.collectionNumber(collection);
    return number === undefined ? 0 : ((this.#reader.get(countKey(number)) as number) ?? 0);
  }

  /** The CRDT state of a document, shown or not. */
  state(collection: string, id: Value): VersionedState {
    const number = this.collectionNumber(collection);
    return number === undefined ? NEVER_HELD : this.stateByKey(number, documentId(id).key);
  }

  stateByKey(number: number, idKey: string): VersionedState {
    const record = this.#reader.get(metaKey(number, idKey));
    if (record === undefined) return NEVER_HELD;
    const { version, bytes, offset } = readMetaRecord(record);
    return { state: decodeState(this.shownByKey(number, idKey), bytes, offset), version };
  }

  shownByKey(number: number, idKey: string): Shown | undefined {
    const record = this.#reader.get(documentKey(number, idKey));
    return record === undefined ? undefined : shownOfRecord(record);
  }

  version(collection: string, id: Value): number {
    const number = this.collectionNumber(collection);
    if (number === undefined) return 0;
    const record = this.#reader.get(metaKey(number, documentId(id).key));
    return record === undefined ? 0 : readMetaRecord(record).version;
  }

  /** Bytes of the metadata of a document. */
  metaSize(collection: string, id: Value): number {
    const number = this.collectionNumber(collection);
    if (number === undefined) return 0;
    const record = this.#reader.get(metaKey(number, documentId(id).key));
    if (record === undefined) return 0;
    const { bytes, offset } = readMetaRecord(record);
    return bytes.length - offset;
  }

  /** Documents whose last change is above a transaction, deleted ones included, oldest first. */
  *changedSince(collection: string, txnId: number): Iterable<ChangedDocument> {
    const number = this.collectionNumber(collection);
    if (number === undefined) return;
    for (const { key } of this.#reader.entries(changedRange(number, txnId))) {
      const changed = readChangedKey(key);
      yield { id: idOfKey(changed.idKey), version: changed.txnId };
    }
  }

  catalog(section: string, name: string): Value | undefined {
    return this.#reader.get(catalogKey(section, name));
  }

  /** The names in a section of the catalog in byte order, the first `limit` of them. */
  *catalogNames(
    section: string,
    { limit = Number.POSITIVE_INFINITY }: { readonly limit?: number } = {},
  ): Iterable<string> {
    const prefix = catalogKey(section, "").slice(0, -1);
    let given = 0;
    // No name begins with ff; after the prefix it stands for a zero byte in the name of a section.
    for (const key of this.#reader.keys({ from: prefix, to: `${prefix}\xff` })) {
      if (given++ >= limit) return;
      yield textOfKey(key.slice(prefix.length));
    }
  }
}

/** Iterator of documents over entries. A generator would be slower for each of many documents. */
class DocumentWalk implements Iterator<StoredDocument> {
  readonly #entries: Iterator<KeyEntry>;
  readonly #isIdEnough: boolean;
  readonly #expected: number | undefined;
  #count = 0;

  /** With `expected`, a walk that ends after another number of documents throws (K72). */
  constructor(entries: Iterator<KeyEntry>, isIdEnough: boolean, expected: number | undefined) {
    this.#entries = entries;
    this.#isIdEnough = isIdEnough;
    this.#expected = expected;
  }

  next(): IteratorResult<StoredDocument> {
    const result = this.#entries.next();
    if (result.done === true) {
      if (this.#expected !== undefined && this.#count !== this.#expected) {
        throw lost(`${this.#expected} documents in a collection, found ${this.#count}`);
      }
      return result;
    }
    this.#count++;
    const { key, value } = result.value;
    const id = idOfKey(key, ID_OFFSET);
    const document = this.#isIdEnough
      ? { id, fields: {}, types: undefined }
      : storedDocument(id, value);
    return { done: false, value: document };
  }

  return(): IteratorResult<StoredDocument> {
    this.#entries.return?.();
    return { done: true, value: undefined };
  }
}

/** Whether a scan includes the document with this ordered key of its id. */
export function isInScan(range: ScanRange, idKey: string): boolean {
  // Any collection number will do.
  const { from, to } = scanRange(1, range);
  const key = documentKey(1, idKey);
  return key >= from && key < to;
}

function scanRange(collection: number, { low, high, after, reverse }: ScanRange): KeyRange {
  const whole = documentsBetween(collection, low, high);
  if (after === undefined) return reverse === true ? { ...whole, reverse } : whole;
  const bound: Bound = { value: after, isIncluded: false };
  if (reverse === true) {
    const { to } = documentsBetween(collection, undefined, bound);
    return { from: whole.from, to: to < whole.to ? to : whole.to, reverse };
  }
  const { from } = documentsBetween(collection, bound, undefined);
  return { from: from > whole.from ? from : whole.from, to: whole.to };
}

function isWhole({ low, high, after }: ScanRange): boolean {
  return low === undefined && high === undefined && after === undefined;
}

function lost(expected: string): PeerError {
  return new PeerError("store.corrupt", `expected ${expected}`);
}

function storedDocument(id: Value, record: Value): StoredDocument {
  if (!isArray(record)) return { id, fields: record as ValueObject, types: undefined };
  const { fields, types } = shownOfRecord(record);
  return { id, fields, types };
}

/** A collection key is `k` and the name with its terminator. */
export function nameOfKey(key: string): string {
  return textOfKey(key.slice(1));
}

/** Text with its terminator is a string key without the tag. */
function textOfKey(key: string): string {
  return idOfKey(`\x40${key}`) as string;
}
