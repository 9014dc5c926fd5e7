/**
 * Page estimate: upper bound of the pages that an LMDB commit may add to its file, so that the
 * space can be reserved before.
 *
 * LMDB never overwrites a page that a reader may see. Each page on the path to a changed entry is
 * copied once per commit; a page that is too full is split; large values get overflow pages; and
 * the list of freed pages is stored too. Free pages inside the file could serve as well, but the
 * estimate does not rely on them.
 */

/** Size of one tree, from lmdb's statistics. */
export interface TreeSize {
  readonly pageSize: number;
  readonly treeDepth: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
}

/** One write of a commit: `size` is that of the value, 0 for a removal. */
export interface EntrySize {
  readonly keySize: number;
  readonly size: number;
}

/** Overhead of an entry: its head, its offset in the page, and padding. */
const ENTRY_OVERHEAD = 16;
const PAGE_HEAD = 24;

/** For the tree of shapes, the names of the trees, and the free list itself. */
const OTHER_PAGES = 24;

/** Bytes of the free list for a write: up to 64 freed pages of its old value, 8 bytes each. */
const FREED_PER_WRITE = 64 * 8;

export function estimatePages(tree: TreeSize, entries: Iterable<EntrySize>): number {
  const estimate = new PageEstimate(tree.pageSize);
  for (const entry of entries) estimate.add(entry);
  return estimate.pagesIn(tree);
}

/** The sums of a commit that still grows, from which its pages in a tree follow. */
export class PageEstimate {
  readonly #pageSize: number;
  /** A page has at least two entries; a larger value is on overflow pages. */
  readonly #inlineMax: number;
  #count = 0;
  #inlineBytes = 0;
  #largePages = 0;
  #keySizeMax = 0;

  constructor(pageSize: number) {
    this.#pageSize = pageSize;
    this.#inlineMax = pageSize / 2 - PAGE_HEAD - ENTRY_OVERHEAD;
  }

  add(entry: EntrySize): void {
    this.#count++;
    this.#sum(entry, 1);
    this.#keySizeMax = Math.max(this.#keySizeMax, entry.keySize);
  }

  /** Counts an entry of the same key with another size, of which only the last is written. */
  resize({ keySize }: EntrySize, from: number, to: number): void {
    this.#sum({ keySize, size: from }, -1);
    this.#sum({ keySize, size: to }, 1);
  }

  #sum({ keySize, size }: EntrySize, sign: 1 | -1): void {
    const isInline = keySize + size <= this.#inlineMax;
    this.#inlineBytes += sign * (keySize + ENTRY_OVERHEAD + (isInline ? size : PAGE_HEAD));
    this.#largePages += isInline ? 0 : sign * Math.ceil((size + PAGE_HEAD) / this.#pageSize);
  }

  copy(): PageEstimate {
    const copy = new PageEstimate(this.#pageSize);
    copy.#count = this.#count;
    copy.#inlineBytes = this.#inlineBytes;
    copy.#largePages = this.#largePages;
    copy.#keySizeMax = this.#keySizeMax;
    return copy;
  }

  pagesIn({ treeDepth, treeBranchPageCount, treeLeafPageCount }: TreeSize): number {
    const count = this.#count;
    const pageSize = this.#pageSize;
    const touchedLeaves = Math.min(count, treeLeafPageCount);
    const touched = touchedLeaves + Math.min(count * treeDepth, treeBranchPageCount);
    // Each existing page is split by one entry at worst; a split leaves pages half full.
    const splitLeaves = touchedLeaves + Math.ceil((2 * this.#inlineBytes) / pageSize);
    const branchBytes = splitLeaves * 2 * (this.#keySizeMax + ENTRY_OVERHEAD);
    const splitBranches = Math.min(splitLeaves, Math.ceil(branchBytes / pageSize)) + treeDepth;
    const freeList = Math.ceil((8 * touched + count * FREED_PER_WRITE) / pageSize);
    return touched + splitLeaves + splitBranches + this.#largePages + freeList + OTHER_PAGES;
  }
}
