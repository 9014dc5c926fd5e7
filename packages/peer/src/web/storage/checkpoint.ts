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
  /** The pages in IndexedDB, in order. */
  #stored: readonly Page[];

  constructor(connection: IndexedConnection, stored: readonly Page[], options: CheckpointOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#stored = stored;
  }

  /** Bytes of the pages that a checkpoint would write. */
  sizeOf({ table }: WrittenState): number {
    const stored = new Set(this.#stored);
    const changed = table.pages.filter((page) => !stored.has(page));
    return changed.reduce((sum, page) => sum + page.size, 0);
  }

  /** Rejects as a write does. Then some pages may be written, but the log is as before. */
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
    await this.#connection.write(stores, "strict", (transaction) => {
      const store = transaction.objectStore(STORES.page);
      // By range: it also removes pages of a transaction that seemed to fail.
      for (const { from, to } of regions) store.delete(this.#rangeOf(from, to));
      for (const { page, record } of encoded) store.put(record, page.name);
      trim?.(transaction);
    });
    for (const { moveValues } of encoded) moveValues();
    this.#stored = replaced(this.#stored, regions);
  }

  #rangeOf(from: Key, to: Key | undefined): ReturnType<IndexedConnection["keyRanges"]["bound"]> {
    const { keyRanges } = this.#connection;
    return to === undefined ? keyRanges.lowerBound(from) : keyRanges.bound(from, to, false, true);
  }
}

/** Pages that replace those whose names are from `from` to below `to`. */
interface Region {
  readonly from: Key;
  readonly to: Key | undefined;
  readonly pages: readonly Page[];
}

function changedRegions(before: readonly Page[], after: readonly Page[]): Region[] {
  const names = new Set(before.map(({ name }) => name));
  const borders = after.filter(({ name }) => names.has(name)).map(({ name }) => name);
  const known = new Set(before);
  const olds = regionsOf(before, borders);
  return regionsOf(after, borders).filter((region, index) => {
    const old = olds[index]?.pages ?? [];
    return old.length !== region.pages.length || region.pages.some((page) => !known.has(page));
  });
}

/** Cuts a list of pages at the borders. The first region is what lies below the first border. */
function regionsOf(pages: readonly Page[], borders: readonly Key[]): Region[] {
  const regions: Region[] = [];
  let start = 0;
  for (let i = 0; i <= borders.length; i++) {
    const to = borders[i];
    let end = start;
    while (end < pages.length && isBelow(pages[end] as Page, to)) end++;
    regions.push({
      from: i === 0 ? "" : (borders[i - 1] ?? ""),
      to,
      pages: pages.slice(start, end),
    });
    start = end;
  }
  return regions;
}

function isBelow({ name }: Page, bound: Key | undefined): boolean {
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

function replaced(pages: readonly Page[], regions: readonly Region[]): Page[] {
  const kept = pages.filter(({ name }) => !regions.some((region) => covers(region, name)));
  const all = [...kept, ...regions.flatMap((region) => region.pages)];
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function covers({ from, to }: Region, name: Key): boolean {
  return name >= from && (to === undefined || name < to);
}
