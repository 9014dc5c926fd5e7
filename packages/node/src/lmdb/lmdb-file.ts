/**
 * LMDB file check: validates a data file before LMDB maps it into memory.
 *
 * LMDB trusts its file: reading a page beyond the end of a truncated file kills the process with
 * SIGBUS. So this code checks the header, and that every page in use is inside the file. Usually
 * that is one comparison. The pages are walked only when the file is shorter than its last page,
 * which is legal when the missing pages are free. It only reads.
 *
 *   page 0, 1   meta pages: 24 bytes of page head, then the fields of META below; newest wins
 *   page n      24 bytes of page head, then 2-byte offsets of its nodes, which lie behind them
 *   node        8 bytes of head, the key, then data, or the numbers of pages where the data lies
 */

import { closeSync, fstatSync, openSync, readSync, statSync, truncateSync } from "node:fs";
import { PeerError } from "@bigpeer/protocol";
import { tooManyFiles } from "../disk.ts";

/** The name of the file in the folder of a store. */
export const DATA_FILE = "data.mdb";

const MAGIC = 0xbeefc0de;
/** The version of the file format that lmdb 3 writes. */
const FORMAT_VERSION = 2;
export const HEAD_SIZE = 24;
export const META = {
  magic: 24,
  version: 28,
  pageSize: 48,
  free: 48,
  main: 96,
  lastPage: 144,
  id: 152,
};
const META_END = 168;
export const TREE_ROOT = 40;
const PAGE_BRANCH = 1;
const PAGE_META = 8;
const NODE_BIG = 1;
const NODE_TREE = 2;
export const NO_PAGE: bigint = 2n ** 64n - 1n;

/** One state of a file, from one of its meta pages. */
export interface Meta {
  /** The number of the transaction. */
  readonly id: bigint;
  /** The page itself. */
  readonly page: Buffer;
  readonly pageSize: number;
  readonly lastPage: bigint;
  readonly freeRoot: bigint;
  readonly mainRoot: bigint;
}

/** No file; a file in which nothing was stored yet, not even the names of trees; or one in use. */
export type LmdbFileState = "absent" | "unused" | "used";

/** Throws PeerError `store.foreign` or `store.corrupt`. */
export function checkLmdbFile(path: string): LmdbFileState {
  const file = openIfPresent(path);
  if (file === undefined) return "absent";
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw foreign(path);
    const { size } = stats;
    const meta = readMeta(file, size, path);
    const sizeMin = (meta.lastPage + 1n) * BigInt(meta.pageSize);
    if (BigInt(size) < sizeMin) checkPages(new PageFile(file, size, meta.pageSize), meta, path);
    return meta.mainRoot === NO_PAGE ? "unused" : "used";
  } catch (error) {
    // Numbers in a damaged page lead outside it.
    if (error instanceof RangeError) throw corrupt(path, "expected pages of LMDB", error);
    throw error;
  } finally {
    closeSync(file);
  }
}

/** The newest state of a file. Throws as checkLmdbFile. */
export function newestMeta(path: string): Meta {
  const file = openSync(path, "r");
  try {
    return readMeta(file, fstatSync(file).size, path);
  } finally {
    closeSync(file);
  }
}

/** Removes the space behind the last page of a file that is not open. */
export function trimFile(path: string): void {
  const { lastPage, pageSize } = newestMeta(path);
  const size = Number(lastPage + 1n) * pageSize;
  if (statSync(path).size > size) truncateSync(path, size);
}

function openIfPresent(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const message = `expected a readable file at ${path}`;
    // The message may reach clients, which need not know the path.
    throw (
      tooManyFiles("a data file", error) ??
      new PeerError("store.foreign", message, { cause: error })
    );
  }
}

function readMeta(file: number, size: number, path: string): Meta {
  if (size === 0) throw corrupt(path, "expected an LMDB file, found an empty one");
  const first = readAt(file, 0, META_END);
  checkHead(first, path);
  const pageSize = first.readUInt32LE(META.pageSize);
  const isPowerOfTwo = (pageSize & (pageSize - 1)) === 0;
  if (!isPowerOfTwo || pageSize < 512 || pageSize > 0x10000) {
    throw corrupt(path, `expected a page size from 512 to 65536, found ${pageSize}`);
  }
  const second = readAt(file, pageSize, META_END);
  if (second.length < META_END || size < 2 * pageSize) {
    throw corrupt(path, `expected at least ${2 * pageSize} bytes, found ${size}`);
  }
  checkHead(second, path);
  const newest = first.readBigUInt64LE(META.id) >= second.readBigUInt64LE(META.id) ? first : second;
  return {
    id: newest.readBigUInt64LE(META.id),
    page: newest,
    pageSize,
    lastPage: newest.readBigUInt64LE(META.lastPage),
    freeRoot: newest.readBigUInt64LE(META.free + TREE_ROOT),
    mainRoot: newest.readBigUInt64LE(META.main + TREE_ROOT),
  };
}

function checkHead(meta: Buffer, path: string): void {
  const isMeta =
    meta.length >= META_END &&
    (meta.readUInt16LE(18) & PAGE_META) !== 0 &&
    meta.readUInt32LE(META.magic) === MAGIC;
  if (!isMeta) throw foreign(path);
  const version = meta.readUInt16LE(META.version);
  if (version !== FORMAT_VERSION) {
    const message = `expected LMDB format ${FORMAT_VERSION} at ${path}, found ${version}`;
    throw new PeerError("store.foreign", message);
  }
}

/** Walks every tree, level by level, and so visits every page in use. */
function checkPages(pages: PageFile, meta: Meta, path: string): void {
  let level = [meta.freeRoot, meta.mainRoot].filter((root) => root !== NO_PAGE);
  if (!level.every((root) => pages.has(root))) throw truncated(pages, meta, path);
  let count = 0n;
  while (level.length > 0) {
    count += BigInt(level.length);
    // More pages than the file has: they form a cycle.
    if (count > meta.lastPage) throw corrupt(path, "expected trees of pages, found a circle");
    const next: bigint[] = [];
    for (const number of level) {
      for (const child of childrenOf(pages.read(number))) {
        const isInside = pages.has(child.page + child.count - 1n);
        if (!isInside) throw truncated(pages, meta, path);
        if (!child.isData) next.push(child.page);
      }
    }
    level = next;
  }
}

interface Child {
  readonly page: bigint;
  readonly count: bigint;
  readonly isData: boolean;
}

function childrenOf(page: Buffer): Child[] {
  const isBranch = (page.readUInt16LE(18) & PAGE_BRANCH) !== 0;
  const nodeCount = page.readUInt16LE(20) >> 1;
  const children: Child[] = [];
  for (let i = 0; i < nodeCount; i++) {
    const node = HEAD_SIZE + page.readUInt16LE(HEAD_SIZE + 2 * i);
    const child = isBranch ? childOfBranch(page, node) : childOfLeaf(page, node);
    if (child !== undefined) children.push(child);
  }
  return children;
}

function childOfBranch(page: Buffer, node: number): Child {
  return { page: BigInt(page.readUIntLE(node, 6)), count: 1n, isData: false };
}

function childOfLeaf(page: Buffer, node: number): Child | undefined {
  const flags = page.readUInt16LE(node + 4);
  const data = node + 8 + page.readUInt16LE(node + 6);
  if ((flags & NODE_BIG) !== 0) {
    return {
      page: page.readBigUInt64LE(data),
      count: page.readBigUInt64LE(data + 16),
      isData: true,
    };
  }
  if ((flags & NODE_TREE) === 0) return undefined;
  const root = page.readBigUInt64LE(data + TREE_ROOT);
  return root === NO_PAGE ? undefined : { page: root, count: 1n, isData: false };
}

class PageFile {
  readonly #file: number;
  readonly #pageSize: number;
  readonly size: number;

  constructor(file: number, size: number, pageSize: number) {
    this.#file = file;
    this.size = size;
    this.#pageSize = pageSize;
  }

  has(page: bigint): boolean {
    return (page + 1n) * BigInt(this.#pageSize) <= BigInt(this.size);
  }

  read(page: bigint): Buffer {
    return readAt(this.#file, Number(page) * this.#pageSize, this.#pageSize);
  }
}

function readAt(file: number, offset: number, size: number): Buffer {
  const buffer = Buffer.alloc(size);
  return buffer.subarray(0, readSync(file, buffer, 0, size, offset));
}

function truncated(pages: PageFile, meta: Meta, path: string): PeerError {
  const expected = (meta.lastPage + 1n) * BigInt(meta.pageSize);
  return corrupt(path, `expected ${expected} bytes, found ${pages.size}: pages in use are missing`);
}

function foreign(path: string): PeerError {
  return new PeerError("store.foreign", `expected an LMDB file at ${path}, found something else`);
}

function corrupt(path: string, message: string, cause?: unknown): PeerError {
  return new PeerError("store.corrupt", message, { at: path, cause });
}
