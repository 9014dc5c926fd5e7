/**
 * The record of a page in IndexedDB, and its codec.
 *
 * All keys of a page are one string, which a browser stores and returns as it is: a key is a slice of
 * it, without a copy, made when the page is first used. All values are one array of bytes, each a CBOR
 * item. Both have a checksum. That of the keys is checked when the store is opened, that of the values
 * before the first of them is read.
 */

import type { Key } from "@bigpeer/engine";
import { checksumOfBytes, checksumOfKeys, checksumOfNumbers } from "./checksum.ts";
import { type Block, type Entries, EntryList, partsOf } from "./entry-list.ts";
import type { Page } from "./page-table.ts";
import { corruptRecord, StoredValue, type ValueBytes } from "./stored-value.ts";

export interface PageRecord {
  readonly keys: string;
  /** For each key the end of it in `keys`, then the end of its value in `values`. */
  readonly ends: Uint32Array;
  readonly values: Uint8Array;
  readonly keySum: number;
  readonly valueSum: number;
}

/** Also returns how the values move to the bytes of the record; to be called once it is stored. */
export function encodePage(page: Page): { record: PageRecord; moveValues: () => void } {
  const { keys: list, values: stored } = page.entries;
  const keys = list.join("");
  const ends = new Uint32Array(list.length * 2);
  const values = new Uint8Array(page.size - keys.length);
  let keyEnd = 0;
  let valueEnd = 0;
  for (const [index, key] of list.entries()) {
    const bytes = (stored[index] as StoredValue).bytes();
    values.set(bytes, valueEnd);
    ends[index * 2] = keyEnd += key.length;
    ends[index * 2 + 1] = valueEnd += bytes.length;
  }
  const keySum = sumOfKeys(page.name, keys, ends);
  const record = { keys, ends, values, keySum, valueSum: checksumOfBytes(values, keySum) };
  const source: ValueBytes = { bytes: values, place: placeOf(page.name), check: undefined };
  const moveValues = (): void => {
    for (const [index, value] of stored.entries()) {
      value.move(source, index === 0 ? 0 : (ends[index * 2 - 1] as number));
    }
  };
  return { record, moveValues };
}

/** Throws `store.corrupt` if it is not a page of that name, or if its keys are damaged. */
export function decodePage(name: Key, stored: unknown): StoredPage {
  const place = placeOf(name);
  if (!isPageRecord(stored)) throw corruptRecord(place);
  const { keys, ends, values, keySum } = stored;
  if (sumOfKeys(name, keys, ends) !== keySum) throw corruptRecord(place);
  const [keyEnd, valueEnd] = ends.subarray(-2);
  if (keyEnd !== keys.length || valueEnd !== values.length) throw corruptRecord(place);
  return new StoredPage(name, stored);
}

/**
 * A page as it was read. Most pages of a store are not touched between two starts, so its blocks are
 * made at their first use, and their entries at the first use of the block.
 */
export class StoredPage implements Page {
  readonly name: Key;
  readonly size: number;
  /** The first and the last key. */
  readonly bounds: readonly [first: Key, last: Key];
  /** Undefined once the entries are made. */
  #record: PageRecord | undefined;
  #entries: EntryList | undefined;

  constructor(name: Key, record: PageRecord) {
    const { keys, ends, values } = record;
    this.name = name;
    this.size = keys.length + values.length;
    this.bounds = [keys.slice(0, ends[0]), keys.slice(ends.at(-4) ?? 0)];
    this.#record = record;
  }

  get entries(): EntryList {
    this.#entries ??= entriesOf(this.#record as PageRecord, this.name);
    this.#record = undefined;
    return this.#entries;
  }
}

function entriesOf(record: PageRecord, name: Key): EntryList {
  const { ends, values: bytes, keySum, valueSum } = record;
  const check = (): boolean => checksumOfBytes(bytes, keySum) === valueSum;
  const source: ValueBytes = { bytes, place: placeOf(name), check };
  const parts = partsOf(ends.length / 2);
  return new EntryList(parts.map(([start, end]) => new StoredBlock(record, source, start, end)));
}

/** Entries of a page as it was read. Reading few keys of it makes few of them. */
class StoredBlock implements Block {
  readonly first: Key;
  readonly length: number;
  readonly #start: number;
  /** Undefined once the entries are made. */
  #record: PageRecord | undefined;
  readonly #source: ValueBytes;
  #entries: Entries | undefined;

  // oxlint-disable-next-line max-params
  constructor(record: PageRecord, source: ValueBytes, start: number, end: number) {
    const { keys, ends } = record;
    this.first = keys.slice(ends[start * 2 - 2] ?? 0, ends[start * 2]);
    this.length = end - start;
    this.#start = start;
    this.#record = record;
    this.#source = source;
  }

  get keys(): readonly Key[] {
    return this.#made().keys;
  }

  get values(): readonly StoredValue[] {
    return this.#made().values;
  }

  #made(): Entries {
    this.#entries ??= this.#make(this.#record as PageRecord);
    this.#record = undefined;
    return this.#entries;
  }

  #make({ keys: text, ends }: PageRecord): Entries {
    const first = this.#start * 2;
    const keys: Key[] = [];
    const values: StoredValue[] = [];
    let keyStart = ends[first - 2] ?? 0;
    let valueStart = ends[first - 1] ?? 0;
    for (let i = first; i < first + this.length * 2; i += 2) {
      const [keyEnd, valueEnd] = [ends[i] as number, ends[i + 1] as number];
      keys.push(text.slice(keyStart, keyEnd));
      values.push(new StoredValue(this.#source, valueStart, valueEnd - valueStart));
      [keyStart, valueStart] = [keyEnd, valueEnd];
    }
    return { keys, values };
  }
}

/** Fails for keys out of order: a page is missing, belongs elsewhere, or is there twice. */
export function checkPageOrder(pages: readonly StoredPage[]): void {
  let before: Key | undefined;
  for (const [index, { name, bounds }] of pages.entries()) {
    const [first, last] = bounds;
    const isBelowName = index > 0 && first < name;
    if (isBelowName || (before !== undefined && first <= before))
      throw corruptRecord(placeOf(name));
    before = last;
  }
}

function isPageRecord(stored: unknown): stored is PageRecord {
  if (typeof stored !== "object" || stored === null) return false;
  const { keys, ends, values, keySum, valueSum } = stored as Partial<PageRecord>;
  return (
    typeof keys === "string" &&
    ends instanceof Uint32Array &&
    values instanceof Uint8Array &&
    typeof keySum === "number" &&
    typeof valueSum === "number"
  );
}

function sumOfKeys(name: Key, keys: string, ends: Uint32Array): number {
  return checksumOfNumbers(ends, checksumOfKeys(keys, checksumOfKeys(name, 0)));
}

function placeOf(name: Key): string {
  const shown = name.replaceAll(/[^\x20-\x7e]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return `page "${shown.slice(0, 100)}" of the database`;
}
