/**
 * PageTable: all keys of a store in memory, as an immutable list of pages. A page is a range of keys
 * and is at the same time the unit that a checkpoint writes to IndexedDB.
 *
 * A change returns a new table. It copies the pages that it changes and shares all others, so a
 * snapshot is a table that someone still holds. The difference between two tables, by identity of
 * their pages, is what a checkpoint has to write.
 *
 * The first page also takes keys below its name: a page is named by the first key that it was made
 * with, and keeps the name while its content changes.
 */

import type { Key, KeyRange } from "@bigpeer/engine";
import {
  type Block,
  blockIndex,
  type Change,
  type Entries,
  EntryList,
  isBelow,
  lowerBound,
} from "./entry-list.ts";
import type { StoredValue } from "./stored-value.ts";

/**
 * The largest page, in bytes of keys and encoded values, unless a single value is larger. A change of
 * one key writes a page at the next checkpoint, so it should be small. But Chromium has a file for
 * each record above 64 KiB, and reads it several times as fast: half a page should be larger.
 */
export const PAGE_SIZE_MAX: number = 160 * 1024;

/** The largest number of keys of a page. */
export const PAGE_KEYS_MAX = 4096;

/** Below this size a changed page is merged with its neighbour if both together are half full. */
const PAGE_SIZE_MIN: number = PAGE_SIZE_MAX / 8;

export interface Page {
  /** The key of the page in IndexedDB. Above all keys of the pages before it. */
  readonly name: Key;
  readonly entries: EntryList;
  /** Bytes of all keys and encoded values. */
  readonly size: number;
}

const NO_PAGE: Page = { name: "", entries: EntryList.of({ keys: [], values: [] }), size: 0 };

export class PageTable {
  readonly pages: readonly Page[];

  /** The pages are in order and not empty. */
  constructor(pages: readonly Page[]) {
    this.pages = pages;
  }

  get(key: Key): StoredValue | undefined {
    return this.pages[this.#indexOf(key)]?.entries.get(key);
  }

  /** A key occurs at most once in `changes`. */
  with(changes: Iterable<Change>): PageTable {
    const sorted = [...changes].sort(byKey);
    if (sorted.length === 0) return this;
    const list = new PageList();
    let next = 0;
    for (let start = 0; start < sorted.length; ) {
      const index = this.#indexOf((sorted[start] as Change)[0]);
      const page = this.pages[index] ?? NO_PAGE;
      const above = this.pages[index + 1]?.name;
      let end = start + 1;
      while (end < sorted.length && isBelow(sorted[end] as Change, above)) end++;
      for (; next < index; next++) list.keep(this.pages[next] as Page);
      list.add(changedPage(page, sorted.slice(start, end)));
      next = index + 1;
      start = end;
    }
    for (; next < this.pages.length; next++) list.keep(this.pages[next] as Page);
    return new PageTable(list.pages);
  }

  /** The position of the first entry of a range, in its direction. */
  walk(range: KeyRange): TableWalk {
    const { from, to, reverse } = range;
    return new TableWalk(this.pages, range, this.#indexOf(reverse === true ? to : from));
  }

  /** The page that may hold a key: the last one whose name is not above it, or the first one. */
  #indexOf(key: Key): number {
    let low = 0;
    let high = this.pages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.pages[middle] as Page).name <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

/** Walks over the entries of a range. */
export class TableWalk {
  readonly #pages: readonly Page[];
  readonly #range: KeyRange;
  readonly #step: 1 | -1;
  /** The place of the entry: its page, its block in there, its index in that. */
  #page: number;
  #blocks: readonly Block[] = [];
  #block = 0;
  #entries: Entries | undefined;
  #index = 0;

  /** `page` is the page of the first entry, or one before it in the direction of the walk. */
  constructor(pages: readonly Page[], range: KeyRange, page: number) {
    this.#pages = pages;
    this.#range = range;
    this.#step = range.reverse === true ? -1 : 1;
    this.#page = range.to <= range.from ? pages.length : page;
    this.#enter();
  }

  /** The key of the entry; undefined at the end. */
  get key(): Key | undefined {
    const { from, to } = this.#range;
    const key = this.#entries?.keys[this.#index];
    if (key === undefined) return undefined;
    return (this.#step > 0 ? key < to : key >= from) ? key : undefined;
  }

  get value(): StoredValue {
    return this.#entries?.values[this.#index] as StoredValue;
  }

  next(): void {
    this.#index += this.#step;
    while (this.#entries?.keys[this.#index] === undefined && this.#entries !== undefined) {
      this.#block += this.#step;
      this.#entries = entriesIn(this.#blocks[this.#block]);
      if (this.#entries === undefined) {
        this.#page += this.#step;
        return this.#enter();
      }
      this.#index = this.#step > 0 ? 0 : this.#entries.keys.length - 1;
    }
  }

  /** The first entry of the range in this page, or else in the next one that has one. */
  #enter(): void {
    const { from, to } = this.#range;
    const page = this.#pages[this.#page];
    this.#blocks = page?.entries.blocks ?? [];
    this.#block = blockIndex(this.#blocks, this.#step > 0 ? from : to);
    this.#entries = entriesIn(this.#blocks[this.#block]);
    if (this.#entries === undefined) return;
    const { keys } = this.#entries;
    this.#index = this.#step > 0 ? lowerBound(keys, from) : lowerBound(keys, to) - 1;
    if (keys[this.#index] !== undefined) return;
    this.#index -= this.#step;
    this.next();
  }
}

/** Fields, which a walk reads for each entry faster than those of a block that is made late. */
function entriesIn(block: Block | undefined): Entries | undefined {
  return block && { keys: block.keys, values: block.values };
}

/** Collects the pages of a table: splits those that are too large, merges those that are small. */
class PageList {
  readonly pages: Page[] = [];
  /** Whether the last page is a changed one, so that it is written anyway. */
  #isLastChanged = false;

  keep(page: Page): void {
    if (this.#isLastChanged && this.#merge(page)) return;
    this.pages.push(page);
    this.#isLastChanged = false;
  }

  add(page: Page): void {
    if (page.entries.blocks.length === 0) return;
    if (this.#merge(page)) return;
    for (const part of splitPage(page)) this.pages.push(part);
    this.#isLastChanged = true;
  }

  #merge(page: Page): boolean {
    const last = this.pages.at(-1);
    if (last === undefined || Math.min(last.size, page.size) >= PAGE_SIZE_MIN) return false;
    if (last.size + page.size > PAGE_SIZE_MAX / 2) return false;
    if (last.entries.length + page.entries.length > PAGE_KEYS_MAX / 2) return false;
    this.pages[this.pages.length - 1] = {
      name: last.name,
      entries: last.entries.concat(page.entries),
      size: last.size + page.size,
    };
    this.#isLastChanged = true;
    return true;
  }
}

/** The page after changes to its keys. It may be empty or too large. */
function changedPage({ name, entries: before, size }: Page, changes: readonly Change[]): Page {
  const { entries, growth } = before.with(changes);
  return { name, entries, size: size + growth };
}

/** Parts of about equal size, each at most three quarters full unless it is one large value. */
function splitPage(page: Page): Page[] {
  const { size, entries } = page;
  const { length } = entries;
  if (length === 1 || (size <= PAGE_SIZE_MAX && length <= PAGE_KEYS_MAX)) return [page];
  const { keys, values } = entries;
  const count = Math.ceil(Math.max(size / (PAGE_SIZE_MAX * 0.75), length / (PAGE_KEYS_MAX * 0.75)));
  const limits = { size: size / count, keys: Math.ceil(length / count) };
  const parts: Page[] = [];
  let start = 0;
  let partSize = 0;
  const cut = (end: number): void => {
    const key = keys[start] as Key;
    // The first page of a table may have keys below its name.
    const name = parts.length === 0 && page.name < key ? page.name : key;
    const part = { keys: keys.slice(start, end), values: values.slice(start, end) };
    parts.push({ name, entries: EntryList.of(part), size: partSize });
    start = end;
    partSize = 0;
  };
  for (const [index, key] of keys.entries()) {
    const more = key.length + (values[index] as StoredValue).size;
    const isFull = partSize + more > limits.size * 1.2 || index - start >= limits.keys;
    if (index > start && isFull) cut(index);
    partSize += more;
  }
  cut(length);
  return parts;
}

function byKey([a]: Change, [b]: Change): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
