/**
 * Index check: the part of verify that holds indexes against documents.
 *
 * Every document that shows has its entry in each index of its collection, and every entry is the
 * one that its document would be given. Lists that are not well-formed are reported, and what they
 * would have said of entries is left out.
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
import { entryKeyOf } from "./index-entry.ts";
import {
  collectionOfKey,
  documentKey,
  ID_OFFSET,
  INDEX_LISTS,
  indexListKey,
  readEntryKey,
} from "./keys.ts";
import { type IndexRecord, shownOfRecord } from "./records.ts";

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

  /** Reads and checks all lists; `given` is how many numbers the head says were given. */
  constructor(reader: Reader, given: number, report: Report) {
    this.#reader = reader;
    this.#report = report;
    for (const { key, value } of reader.entries(INDEX_LISTS)) this.#readList(key, value, given);
  }

  /** The collections that have an index. */
  collections(): Iterable<number> {
    return this.#byCollection.keys();
  }

  checkDocument(key: Key, fields: ValueObject): void {
    const idKey = key.slice(ID_OFFSET);
    for (const index of this.#byCollection.get(collectionOfKey(key)) ?? []) {
      if (!this.#reader.has(entryKeyOf(index, fields, idKey))) {
        this.#report(key, `expected an entry in the index ${index.name}`);
      }
    }
  }

  checkEntry(key: Key, value: Value): void {
    const { index: number, idKey } = readEntryKey(key);
    const known = this.#byNumber.get(number);
    if (known === undefined) return this.#report(key, `expected an index of number ${number}`);
    if (value !== true) this.#report(key, "expected an entry without content");
    const record = this.#reader.get(documentKey(known.collection, idKey));
    const shown = record === undefined ? undefined : shownOfRecord(record);
    if (shown === undefined || entryKeyOf(known.index, shown.fields, idKey) !== key) {
      this.#report(key, `expected a document with this place in the index ${known.index.name}`);
    }
  }

  #readList(key: Key, value: Value, given: number): void {
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
      if (index.number > given || this.#byNumber.has(index.number)) {
        this.#report(key, `expected a number of its own for the index ${index.name}`);
      }
      this.#byNumber.set(index.number, { collection, index });
    }
    this.#byCollection.set(collection, [...list]);
  }
}

function isIndexRecord(value: Value): value is IndexRecord {
  if (!isObject(value)) return false;
  const { name, number, keys } = value as { [field: string]: Value | undefined };
  return (
    typeof name === "string" &&
    name !== "" &&
    typeof number === "number" &&
    Number.isSafeInteger(number) &&
    number >= 1 &&
    isArray(keys) &&
    keys.length >= 1 &&
    keys.length <= INDEX_KEYS_MAX &&
    keys.every(isIndexKey)
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
