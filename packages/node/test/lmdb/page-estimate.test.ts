import { expect, test } from "vitest";
import { estimatePages } from "../../src/lmdb/page-estimate.ts";

const EMPTY = { pageSize: 4096, treeDepth: 0, treeBranchPageCount: 0, treeLeafPageCount: 0 };
const LARGE = { pageSize: 4096, treeDepth: 4, treeBranchPageCount: 900, treeLeafPageCount: 90_000 };

// That the estimate is not too low is tested with real commits: see lmdb-key-value.test.ts.
test("the estimate of a small commit is small, even in a large tree", () => {
  const entries = [{ keySize: 40, size: 150 }];
  expect(estimatePages(EMPTY, entries)).toBeLessThan(40);
  expect(estimatePages(LARGE, entries)).toBeLessThan(50);
});

test("the estimate of a commit of many entries is at most the pages of the tree", () => {
  const entries = Array.from({ length: 10_000 }, () => ({ keySize: 30, size: 0 }));
  const small = { ...LARGE, treeBranchPageCount: 2, treeLeafPageCount: 100 };
  expect(estimatePages(small, entries)).toBeLessThan(2500);
  expect(estimatePages(LARGE, entries)).toBeGreaterThan(10_000);
});

test("large values need the pages that they fill, and hardly more", () => {
  const pages = estimatePages(EMPTY, [{ keySize: 10, size: 40_960_000 }]);
  expect(pages).toBeGreaterThan(10_000);
  expect(pages).toBeLessThan(10_100);
});
