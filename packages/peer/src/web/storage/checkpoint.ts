/**
 * Checkpoint: writes the pages that changed since the last one to IndexedDB, then removes the commits
 * that they contain from the log.
 *
 * The pages are written in several strict transactions of bounded size, so that commits do not wait
 * long. Between them the pages are of different states. This is harmless: every commit since the last
 * checkpoint is still in the log, and replaying it gives the newest state of each key. Only the last
 * transaction, which also writes the last pages, trims the log.
 *
 * A transaction always replaces whole regions: ranges that have the same borders in the old and in
 * the new list of pages. So no key is ever on two pages or on none.
 *
 * A browser may write a transaction and report that it failed. Then the region has its old or its new
 * pages, so it has no known borders inside, and the next checkpoint replaces it as a whole.
 */

import type { Key } from "@bigpeer/engine";
import type { WrittenState } from "./commit-log.ts";
import type { IndexedConnection } from "./indexed-connection.ts";
import { FORMAT_VERSION, META_KEY, type MetaRecord, STORES } from "./indexed-database.ts";
import type { IndexedTransaction } from "./indexed-db.ts";
import { encodePage } from "./page-record.ts";
import type { Page } from "./page-table.ts";

export interface CheckpointOptions {
  /** The random identity of the database. */
  readonly id: string;
  /** The size of a transaction, unless one region is larger. */
  readonly batchSize: number;
}

export class Checkpoint {
  readonly #connection: IndexedConnection;
  readonly #options: CheckpointOptions;
  /** What is in IndexedDB, in order. */
  #stored: readonly StoredRange[];

  constructor(connection: IndexedConnection, stored: readonly Page[], options: CheckpointOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#stored = stored.map(rangeOf);
  }

  /** Bytes of the pages that a checkpoint would write. */
  sizeOf({ table }: WrittenState): number {
    const stored = new Set(this.#stored.map(({ page }) => page));
    const changed = table.pages.filter((page) => !stored.has(page));
    return changed.reduce((sum, page) => sum + page.size, 0);
  }

  /** Rejects as a write does. Then any of the pages may be written, and the log may be trimmed. */
  async run({ sequence, table }: WrittenState): Promise<void> {
    const regions = changedRegions(this.#stored, table.pages);
    const batches = batchesOf(regions, this.#options.batchSize);
    for (const batch of batches.slice(0, -1)) await this.#write(batch);
    const trim = (transaction: IndexedTransaction): void => {
      const meta: MetaRecord = {
        product: "bigpeer",
        format: FORMAT_VERSION,
        id: this.#options.id,
        sequence,
      };
      transaction.objectStore(STORES.meta).put(meta, META_KEY);
      const { keyRanges } = this.#connection;
      transaction.objectStore(STORES.log).delete(keyRanges.upperBound(sequence));
    };
    await this.#write(batches.at(-1) ?? [], trim);
  }

  async #write(
    regions: readonly Region[],
    trim?: (transaction: IndexedTransaction) => void,
  ): Promise<void> {
    const pages = regions.flatMap((region) => region.pages);
    const encoded = pages.map((page) => ({ page, ...encodePage(page) }));
    const stores = trim === undefined ? [STORES.page] : Object.values(STORES);
    // Until the browser says that it is written.
    this.#stored = replaced(this.#stored, regions, uncertainRange);
    await this.#connection.write(stores, "strict", (transaction) => {
      const store = transaction.objectStore(STORES.page);
      // By range: it also removes pages of a transaction that was reported as failed.
      for (const { from, to } of regions) store.delete(this.#rangeOf(from, to));
      for (const { page, record } of encoded) store.put(record, page.name);
      trim?.(transaction);
    });
    for (const { moveValues } of encoded) moveValues();
    this.#stored = replaced(this.#stored, regions, (region) => region.pages.map(rangeOf));
  }

  #rangeOf(from: Key, to: Key | undefined): ReturnType<IndexedConnection["keyRanges"]["bound"]> {
    const { keyRanges } = this.#connection;
    return to === undefined ? keyRanges.lowerBound(from) : keyRanges.bound(from, to, false, true);
  }
}

/** The keys from a name to the next one. They are on one page; undefined if it is not known how. */
interface StoredRange {
  readonly name: Key;
  readonly page: Page | undefined;
}

function rangeOf(page: Page): StoredRange {
  return { name: page.name, page };
}

function uncertainRange({ from }: Region): StoredRange[] {
  return [{ name: from, page: undefined }];
}

/** Pages that replace those whose names are from `from` to below `to`. */
interface Region {
  readonly from: Key;
  readonly to: Key | undefined;
  readonly pages: readonly Page[];
}

function changedRegions(before: readonly StoredRange[], after: readonly Page[]): Region[] {
  const names = new Set(before.map(({ name }) => name));
  const borders = after.filter(({ name }) => names.has(name)).map(({ name }) => name);
  const known = new Set(before.map(({ page }) => page));
  const olds = cutAt(before, borders);
  const regions = cutAt(after, borders).map((pages, index) => ({
    from: index === 0 ? "" : (borders[index - 1] as Key),
    to: borders[index],
    pages,
  }));
  return regions.filter(({ pages }, index) => {
    return olds[index]?.length !== pages.length || pages.some((page) => !known.has(page));
  });
}

/** What lies below the first border, from there to the next one, and so on to the end. */
function cutAt<T extends { readonly name: Key }>(
  ranges: readonly T[],
  borders: readonly Key[],
): T[][] {
  const parts: T[][] = [];
  let start = 0;
  for (let i = 0; i <= borders.length; i++) {
    const to = borders[i];
    let end = start;
    while (end < ranges.length && isBelow((ranges[end] as T).name, to)) end++;
    parts.push(ranges.slice(start, end));
    start = end;
  }
  return parts;
}

function isBelow(name: Key, bound: Key | undefined): boolean {
  return bound === undefined || name < bound;
}

function batchesOf(regions: readonly Region[], sizeMax: number): Region[][] {
  const batches: Region[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const region of regions) {
    const more = region.pages.reduce((sum, page) => sum + page.size, 0);
    if (size + more > sizeMax) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(region);
    size += more;
  }
  return batches;
}

function replaced(
  stored: readonly StoredRange[],
  regions: readonly Region[],
  rangesOf: (region: Region) => StoredRange[],
): StoredRange[] {
  const kept = stored.filter(({ name }) => !regions.some((region) => covers(region, name)));
  return [...kept, ...regions.flatMap(rangesOf)].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function covers({ from, to }: Region, name: Key): boolean {
  return name >= from && isBelow(name, to);
}
