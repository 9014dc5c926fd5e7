/**
 * CommitSpace: ensures that the data file has disk space for a commit before LMDB writes it.
 *
 * The space that a commit needs is estimated from above; space that was reserved and not used
 * serves the next commits. LMDB is asked for its true size only when the reserve may be used up,
 * because asking costs as much as writing a small commit.
 */

import { PeerError } from "@bigpeer/protocol";
import type { FileReserve } from "./file-reserve.ts";
import {
  type EntrySize,
  estimatePages,
  type PageEstimate,
  type TreeSize,
} from "./page-estimate.ts";

/** The size of the tree of values, and of its file. */
export interface StorageSize extends TreeSize {
  readonly lastPageNumber: number;
}

/**
 * The file grows by a sixteenth of its size or by several commits like the current one, within
 * these bounds, so that it seldom has to.
 */
const STEP_MIN = 1024 * 1024;
const STEP_MAX = 16 * 1024 * 1024;
const STEP_COMMITS = 4;

interface GrowthStep {
  readonly pageSize: number;
  /** Pages that are wanted beyond the least. */
  readonly morePages: number;
  readonly isWritten: boolean;
}

export class CommitSpace {
  readonly #reserve: FileReserve;
  readonly #readSize: () => StorageSize;
  #known: StorageSize | undefined;
  /** Reserved pages beyond the end of what LMDB may have used since `#known`. */
  #sparePages = 0;
  /** Pages that commits since `#known` may have used. */
  #givenPages = 0;
  /** The size before the commits that space is taken for. */
  #before: StorageSize | undefined;
  /** Length of the file, as far as it is known. */
  #size = 0;

  constructor(reserve: FileReserve, readSize: () => StorageSize) {
    this.#reserve = reserve;
    this.#readSize = readSize;
  }

  /** Undefined when the space is reserved already. The promise rejects with `store.full`. */
  take(entries: readonly EntrySize[]): Promise<void> | undefined {
    return this.#takeSpare(entries) ? undefined : this.#grow(entries);
  }

  /** Whether the file has space for these commits too, which LMDB gets later, in this order. */
  hasFor(commits: readonly PageEstimate[]): boolean {
    return this.#sizeFor(commits) <= this.#size;
  }

  /** Takes space for commits that LMDB gets later; `isWritten`: while it writes another one. */
  async takeFor(
    commits: readonly PageEstimate[],
    { isWritten = false }: { readonly isWritten?: boolean } = {},
  ): Promise<void> {
    const sizeMin = this.#sizeFor(commits);
    if (sizeMin <= this.#size) return;
    await this.#growTo(sizeMin, { pageSize: this.#readSize().pageSize, morePages: 0, isWritten });
  }

  /** Called after each commit: what is known of the size of the tree is old. */
  forget({ isReserved }: { readonly isReserved: boolean }): void {
    this.#before = undefined;
    if (isReserved) this.#known = undefined;
  }

  #sizeFor(commits: readonly PageEstimate[]): number {
    this.#before ??= this.#readSize();
    let pageCount = 0;
    for (const commit of commits) pageCount += commit.pagesIn(grown(this.#before, pageCount));
    return (this.#before.lastPageNumber + 1 + pageCount) * this.#before.pageSize;
  }

  async #grow(entries: readonly EntrySize[]): Promise<void> {
    const known = this.#readSize();
    const pageCount = estimatePages(known, entries);
    const { pageSize } = known;
    const sizeMin = (known.lastPageNumber + 1 + pageCount) * pageSize;
    await this.#growTo(sizeMin, {
      pageSize,
      morePages: STEP_COMMITS * pageCount,
      isWritten: false,
    });
    this.#known = known;
    this.#sparePages = Math.floor((this.#size - sizeMin) / pageSize);
    this.#givenPages = pageCount;
  }

  async #growTo(sizeMin: number, { pageSize, morePages, isWritten }: GrowthStep): Promise<void> {
    const step = Math.min(Math.max(sizeMin / 16, morePages * pageSize, STEP_MIN), STEP_MAX);
    const sizeWanted = Math.ceil((sizeMin + step) / pageSize) * pageSize;
    const size = await this.#reserve.grow(sizeMin, sizeWanted, { isWritten });
    if (size === undefined) {
      throw new PeerError(
        "store.full",
        `disk full: the data file cannot grow to ${sizeMin} bytes; free space and retry`,
      );
    }
    this.#size = size;
  }

  close(): Promise<void> {
    return this.#reserve.close();
  }

  #takeSpare(entries: readonly EntrySize[]): boolean {
    if (this.#known === undefined) return false;
    const pageCount = estimatePages(grown(this.#known, this.#givenPages), entries);
    if (pageCount > this.#sparePages) return false;
    this.#sparePages -= pageCount;
    this.#givenPages += pageCount;
    return true;
  }
}

/** Upper bound of a tree after `pages` more pages. */
function grown(tree: TreeSize, pages: number): TreeSize {
  return {
    pageSize: tree.pageSize,
    treeDepth: tree.treeDepth + 1,
    treeBranchPageCount: tree.treeBranchPageCount + pages,
    treeLeafPageCount: tree.treeLeafPageCount + pages,
  };
}
