/**
 * How many pages an LMDB commit may add to its file: an estimate from above, so that the room for
 * them can be taken before.
 *
 * LMDB never overwrites a page that a reader may see. Each page on the way to a changed entry is
 * written anew, once per commit; a page that is too full becomes two; large values get pages of
 * their own; and the list of the pages set free is stored too. Free pages inside the file would
 * serve as well, but are not counted on.
 */

/** Of one tree, as lmdb gives it. */
export interface TreeSize {
  readonly pageSize: number;
  readonly treeDepth: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
}

/** What one commit writes: `size` is that of the value, 0 for a removal. */
export interface EntrySize {
  readonly keySize: number;
  readonly size: number;
}

/** Around each entry: its head, its place in the page, and padding. */
const ENTRY_OVERHEAD = 16;
const PAGE_HEAD = 24;

/** For the tree of shapes, the names of the trees, and the free list itself. */
const OTHER_PAGES = 24;

/** Pages of old values that a write sets free, as entries of the free list of eight bytes each. */
const FREED_PER_WRITE = 64 * 8;

export function estimatePages(tree: TreeSize, entries: Iterable<EntrySize>): number {
  const { pageSize } = tree;
  // A page has at least two entries; a larger value lies on pages of its own.
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
  // Each page that was there is split by one entry at worst; what a split leaves is half full.
  const splitLeaves = Math.min(count, treeLeafPageCount) + Math.ceil((2 * inlineBytes) / pageSize);
  const branchBytes = splitLeaves * 2 * (keySizeMax + ENTRY_OVERHEAD);
  const splitBranches = Math.min(splitLeaves, Math.ceil(branchBytes / pageSize)) + treeDepth;
  const freeList = Math.ceil((8 * touched + count * FREED_PER_WRITE) / pageSize);
  return touched + splitLeaves + splitBranches + largePages + freeList + OTHER_PAGES;
}
