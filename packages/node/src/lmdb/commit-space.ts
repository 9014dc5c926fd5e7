/**
 * CommitSpace: ensures that the data file has disk space for a commit before LMDB writes it.
 *
 * The space that a commit needs is estimated from above; space that was reserved and not used
 * serves the next commits. LMDB is asked for its true size only when the reserve may be used up,
 * because asking costs as much as writing a small commit.
 */

import { PeerError } from "@bigpeer/protocol";
import type { FileReserve } from "./file-reserve.ts";
import { type EntrySize, estimatePages, type TreeSize } from "./page-estimate.ts";

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

export class CommitSpace {
  readonly #reserve: FileReserve;
  readonly #readSize: () => StorageSize;
  #known: StorageSize | undefined;
  /** Reserved pages beyond the end of what LMDB may have used since `#known`. */
  #sparePages = 0;
  /** Pages that commits since `#known` may have used. */
  #givenPages = 0;

  constructor(reserve: FileReserve, readSize: () => StorageSize) {
    this.#reserve = reserve;
    this.#readSize = readSize;
  }

  /** Undefined when the space is reserved already. The promise rejects with `store.full`. */
  take(entries: readonly EntrySize[]): Promise<void> | undefined {
    return this.#takeSpare(entries) ? undefined : this.#grow(entries);
  }

  async #grow(entries: readonly EntrySize[]): Promise<void> {
    const known = this.#readSize();
    const pageCount = estimatePages(known, entries);
    const { pageSize } = known;
    const sizeMin = (known.lastPageNumber + 1 + pageCount) * pageSize;
    const commits = STEP_COMMITS * pageCount * pageSize;
    const step = Math.min(Math.max(sizeMin / 16, commits, STEP_MIN), STEP_MAX);
    const sizeWanted = Math.ceil((sizeMin + step) / pageSize) * pageSize;
    const size = await this.#reserve.grow(sizeMin, sizeWanted);
    if (size === undefined) {
      throw new PeerError(
        "store.full",
        `disk full: the data file needs ${sizeMin} more bytes; free space and retry`,
      );
    }
    this.#known = known;
    this.#sparePages = Math.floor((size - sizeMin) / pageSize);
    this.#givenPages = pageCount;
  }

  close(): void {
    this.#reserve.close();
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
