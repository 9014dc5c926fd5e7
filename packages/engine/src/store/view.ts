/**
 * View: the documents, collections and catalog of one state of the store, for reading.
 *
 * Works over a durable snapshot and over the overlay of a transaction alike. Ordinary reads touch
 * the shown fields alone; states and versions come from the metadata.
 */

import {
  documentId,
  idOfKey,
  isArray,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import type { DocumentState } from "../crdt/state.ts";
import { EMPTY_STATE } from "../crdt/state.ts";
import { decodeState } from "../crdt/state-codec.ts";
import type { KeyRange, Reader } from "../platform.ts";
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
  /** Marks where a value is not what its shape says; undefined when there are none. */
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

/** Which documents to walk through, and how. */
export interface ScanRange {
  /** Bounds of the id. */
  readonly low?: Bound;
  readonly high?: Bound;
  /** Goes on behind this id, in the direction of the walk. */
  readonly after?: Value;
  /** From the largest id down. */
  readonly reverse?: boolean;
}

const NEVER_HELD: VersionedState = { state: EMPTY_STATE, version: 0 };

export class View {
  readonly #reader: Reader;
  /** Collection numbers never change, so durable ones may be remembered across views. */
  readonly #numbers: Map<string, number> | undefined;

  constructor(reader: Reader, numbers?: Map<string, number>) {
    this.#reader = reader;
    this.#numbers = numbers;
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
    if (number !== undefined) this.#numbers?.set(name, number);
    return number;
  }

  collections(): string[] {
    const names: string[] = [];
    for (const key of this.#reader.keys(COLLECTIONS)) names.push(nameOfKey(key));
    return names;
  }

  get(collection: string, id: Value): StoredDocument | undefined {
    const number = this.collectionNumber(collection);
    if (number === undefined) return undefined;
    const document = documentId(id);
    const record = this.#reader.get(documentKey(number, document.key));
    return record === undefined ? undefined : storedDocument(document.id, record);
  }

  /** The documents of a collection in the order of their ids. */
  *scan(collection: string, range: ScanRange = {}): Iterable<StoredDocument> {
    const number = this.collectionNumber(collection);
    if (number === undefined) return;
    for (const { key, value } of this.#reader.entries(scanRange(number, range))) {
      yield storedDocument(idOfKey(key, ID_OFFSET), value);
    }
  }

  /** As scan, without reading the documents. */
  *scanIds(collection: string, range: ScanRange = {}): Iterable<Value> {
    const number = this.collectionNumber(collection);
    if (number === undefined) return;
    for (const key of this.#reader.keys(scanRange(number, range))) yield idOfKey(key, ID_OFFSET);
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

  index(collection: string, name: string): IndexDefinition | undefined {
    return this.indexes(collection).find((index) => index.name === name);
  }

  /** The entries of an index in its order, those of equal values by id. */
  *scanIndex(index: IndexDefinition, range: IndexRange = {}): Iterable<IndexEntry> {
    for (const key of this.#reader.keys(entryRange(index, range))) {
      yield new IndexEntry(index, key);
    }
  }

  count(collection: string): number {
    const number = this.collectionNumber(collection);
    return number === undefined ? 0 : ((this.#reader.get(countKey(number)) as number) ?? 0);
  }

  /** The replicated state of a document, shown or not. */
  state(collection: string, id: Value): VersionedState {
    const number = this.collectionNumber(collection);
    return number === undefined ? NEVER_HELD : this.stateByKey(number, documentId(id).key);
  }

  stateByKey(number: number, idKey: string): VersionedState {
    const record = this.#reader.get(metaKey(number, idKey));
    if (record === undefined) return NEVER_HELD;
    const { version, meta } = readMetaRecord(record);
    return { state: decodeState(this.shownByKey(number, idKey), meta), version };
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

  /** Documents whose last change is above a transaction, deleted ones included, oldest first. */
  *changedSince(collection: string, txnId: number): Iterable<ChangedDocument> {
    const number = this.collectionNumber(collection);
    if (number === undefined) return;
    for (const key of this.#reader.keys(changedRange(number, txnId))) {
      const changed = readChangedKey(key);
      yield { id: idOfKey(changed.idKey), version: changed.txnId };
    }
  }

  catalog(section: string, name: string): Value | undefined {
    return this.#reader.get(catalogKey(section, name));
  }
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

function storedDocument(id: Value, record: Value): StoredDocument {
  if (!isArray(record)) return { id, fields: record as ValueObject, types: undefined };
  const { fields, types } = shownOfRecord(record);
  return { id, fields, types };
}

/** A collection key is `k` and the name with its end: a string key without the tag. */
function nameOfKey(key: string): string {
  return idOfKey(`\x40${key.slice(1)}`) as string;
}
