/**
 * Index check: the part of verify that compares indexes with documents.
 *
 * Every shown document has its entry in each index of its collection, and every entry is the one
 * that its document gives. An index that is being built has the entries of the documents up to its
 * progress; a dropped one may have any. A malformed index list is reported, and the entries of its
 * indexes are not checked.
 */

import {
  compareText,
  INDEX_KEYS_MAX,
  isArray,
  isObject,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Key, Reader } from "../platform.ts";
import { entryKeyOf, isWithin } from "./index-entry.ts";
import {
  collectionOfKey,
  documentKey,
  droppedIndexKey,
  droppedIndexOfKey,
  entryPrefix,
  HEAD_KEY,
  ID_OFFSET,
  INDEX_LISTS,
  indexListKey,
  prefixRange,
  readEntryKey,
} from "./keys.ts";
import { type Head, type IndexRecord, shownOfRecord } from "./records.ts";

interface KnownIndex {
  readonly collection: number;
  readonly index: IndexRecord;
}

type Report = (key: Key, message: string) => void;

export class IndexCheck {
  readonly #reader: Reader;
  readonly #report: Report;
  readonly #byCollection = new Map<number, IndexRecord[]>();
  readonly #byNumber = new Map<number, KnownIndex>();
  readonly #given: number;
  #unfinished = 0;

  /** Reads and checks all index lists; `given` is the last index number that the head knows. */
  constructor(reader: Reader, given: number | undefined, report: Report) {
    this.#reader = reader;
    this.#given = given ?? 0;
    this.#report = report;
    for (const { key, value } of reader.entries(INDEX_LISTS)) this.#readList(key, value);
  }

  /** The collections that have an index. */
  collections(): Iterable<number> {
    return this.#byCollection.keys();
  }

  checkDocument(key: Key, fields: ValueObject): void {
    const idKey = key.slice(ID_OFFSET);
    for (const index of this.#byCollection.get(collectionOfKey(key)) ?? []) {
      if (isWithin(index, idKey) && !this.#reader.has(entryKeyOf(index, fields, idKey))) {
        this.#report(key, `expected an entry in the index ${index.name}`);
      }
    }
  }

  checkEntry(key: Key, value: Value): void {
    const { index: number, idKey } = readEntryKey(key);
    if (value !== true) this.#report(key, "expected an entry without content");
    const known = this.#byNumber.get(number);
    if (known === undefined) {
      if (this.#reader.has(droppedIndexKey(number))) return;
      return this.#report(key, `expected an index of number ${number}`);
    }
    const record = this.#reader.get(documentKey(known.collection, idKey));
    const shown = record === undefined ? undefined : shownOfRecord(record);
    if (shown === undefined || entryKeyOf(known.index, shown.fields, idKey) !== key) {
      return this.#report(key, `expected a document with this place in ${nameOf(known.index)}`);
    }
    if (!isWithin(known.index, idKey)) {
      this.#report(key, `expected a document that has come into ${nameOf(known.index)}`);
    }
  }

  /** Checks the mark of a dropped index: it still has entries, and is in no list. */
  checkDropped(key: Key, value: Value): void {
    this.#unfinished++;
    const number = droppedIndexOfKey(key);
    if (key !== droppedIndexKey(number) || value !== true) {
      this.#report(key, "expected the mark of a dropped index");
    }
    if (number > this.#given || this.#byNumber.has(number)) {
      this.#report(key, "expected the number of an index that was dropped");
    }
    for (const _ of this.#reader.keys(prefixRange(entryPrefix(number)))) return;
    this.#report(key, "expected an index that still has entries");
  }

  /** Call it after all marks of dropped indexes are checked. */
  checkTotal({ unfinished = 0 }: Head): void {
    if (unfinished === this.#unfinished) return;
    const message = `expected ${this.#unfinished} indexes that are not finished`;
    this.#report(HEAD_KEY, `${message}, found ${unfinished}`);
  }

  #readList(key: Key, value: Value): void {
    const collection = collectionOfKey(key);
    if (key !== indexListKey(collection)) return this.#report(key, "expected a list of indexes");
    if (!isArray(value) || value.length === 0 || !value.every(isIndexRecord)) {
      return this.#report(key, "expected a list of indexes");
    }
    const list: readonly IndexRecord[] = value;
    for (const [i, index] of list.entries()) {
      const before = list[i - 1];
      if (before !== undefined && compareText(before.name, index.name) >= 0) {
        this.#report(key, "expected indexes in the order of their names");
      }
      if (index.building !== undefined) this.#unfinished++;
      if (index.number > this.#given || this.#byNumber.has(index.number)) {
        this.#report(key, `expected a number of its own for the index ${index.name}`);
      }
      this.#byNumber.set(index.number, { collection, index });
    }
    this.#byCollection.set(collection, [...list]);
  }
}

function nameOf({ name }: IndexRecord): string {
  return `the index ${name}`;
}

function isIndexRecord(value: Value): value is IndexRecord {
  if (!isObject(value)) return false;
  const { name, number, keys, building } = value as { [field: string]: Value | undefined };
  return (
    typeof name === "string" &&
    name !== "" &&
    typeof number === "number" &&
    Number.isSafeInteger(number) &&
    number >= 1 &&
    isArray(keys) &&
    keys.length >= 1 &&
    keys.length <= INDEX_KEYS_MAX &&
    keys.every(isIndexKey) &&
    (building === undefined || isProgress(building))
  );
}

function isProgress(value: Value): boolean {
  if (!isObject(value)) return false;
  const { after, done } = value as { [field: string]: Value | undefined };
  return (
    typeof after === "string" && after !== "" && Number.isSafeInteger(done) && Number(done) > 0
  );
}

function isIndexKey(value: Value): boolean {
  if (!isObject(value)) return false;
  const { path, isDescending } = value as { [field: string]: Value | undefined };
  return (
    typeof isDescending === "boolean" &&
    isArray(path) &&
    path.length > 0 &&
    path.every((name) => typeof name === "string")
  );
}
