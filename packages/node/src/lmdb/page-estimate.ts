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
  const { pageSize } = tree;
  // A page has at least two entries; a larger value is on overflow pages.
  const inlineMax = pageSize / 2 - PAGE_HEAD - ENTRY_OVERHEAD;
  let count = 0;
  let inlineBytes = 0;
  let largePages = 0;
  let keySizeMax = 0;
  for (const { keySize, size } of entries) {
    const isInline = keySize + size <= inlineMax;
    count++;
    inlineBytes += keySize + ENTRY_OVERHEAD + (isInline ? size : PAGE_HEAD);
    largePages += isInline ? 0 : Math.ceil((size + PAGE_HEAD) / pageSize);
    keySizeMax = Math.max(keySizeMax, keySize);
  }
  const { treeDepth, treeBranchPageCount, treeLeafPageCount } = tree;
  const touched =
    Math.min(count, treeLeafPageCount) + Math.min(count * treeDepth, treeBranchPageCount);
  // Each existing page is split by one entry at worst; a split leaves pages half full.
  const splitLeaves = Math.min(count, treeLeafPageCount) + Math.ceil((2 * inlineBytes) / pageSize);
  const branchBytes = splitLeaves * 2 * (keySizeMax + ENTRY_OVERHEAD);
  const splitBranches = Math.min(splitLeaves, Math.ceil(branchBytes / pageSize)) + treeDepth;
  const freeList = Math.ceil((8 * touched + count * FREED_PER_WRITE) / pageSize);
  return touched + splitLeaves + splitBranches + largePages + freeList + OTHER_PAGES;
}
