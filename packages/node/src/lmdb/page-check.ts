/**
 * PageCheck: verifies every page of an LMDB file that one state of it uses, and reports what is
 * wrong.
 *
 * Records have checksums; the pages around them have none, and LMDB trusts them. But most of a page
 * can be checked against the rest: its own number, that its nodes fill it without a gap, that keys
 * rise and stay between those of the page above, how many pages and entries a tree has, and that no
 * page is used twice or also free. Pages are read as a file, never through memory, so a damaged one
 * does not crash the process. A reader must hold the state meanwhile.
 *
 *   page    number₈ transaction₈ pad₂ flags₂, then lower₂ upper₂ or the count of overflow pages₄;
 *           then 2-byte offsets of its nodes, counted from behind the head
 *   node    low₂ high₂ flags₂ key size₂, key, then data: of low and high its size
 *           in a branch: low, high and flags are the number of a page
 *           flag 1: the data is on pages of its own: number₈ transaction₈ count₈
 *   tree    pad₄ flags₂ depth₂ branches₈ leaves₈ overflow pages₈ entries₈ root₈
 */

import { closeSync, openSync, readSync } from "node:fs";
import { compareBytes } from "@bigpeer/protocol";
import { HEAD_SIZE, META, type Meta, NO_PAGE } from "./lmdb-file.ts";
import { hasChecksum } from "./record-check.ts";

export interface PageReport {
  readonly pages: number;
  /** Records without a checksum. */
  readonly unprotected: number;
  /** The first ones, at most PROBLEMS_MAX. */
  readonly problems: readonly string[];
}

const PROBLEMS_MAX = 100;
const NODE_HEAD = 8;
const OVERFLOW_SIZE = 24;
const TREE_SIZE = 48;
const FLAG = { branch: 1, leaf: 2, overflow: 4 };
const NODE = { big: 1, tree: 2 };
const DEPTH_MAX = 32;

/** `tick` is called from time to time with the number of pages checked. */
export function checkPages(path: string, meta: Meta, tick?: (pages: number) => void): PageReport {
  const file = openSync(path, "r");
  try {
    return new PageWalk(file, meta, tick).run();
  } finally {
    closeSync(file);
  }
}

type Kind = "free" | "main" | "records";

/** Expectations of the parent page: keys from `low` (included) to `high` (excluded). */
interface Expected {
  readonly depth: number;
  readonly low: Buffer | undefined;
  readonly high: Buffer | undefined;
}

interface Totals {
  branches: number;
  leaves: number;
  overflow: number;
  entries: number;
}

interface Node {
  readonly start: number;
  readonly flags: number;
  readonly key: Buffer;
  readonly dataSize: number;
  /** In a branch, the page below. */
  readonly page: number;
}

class Damage extends Error {}

class PageWalk {
  readonly #file: number;
  readonly #meta: Meta;
  readonly #tick: ((pages: number) => void) | undefined;
  readonly #problems: string[] = [];
  /** A bit for each page: used by a tree, or free. */
  readonly #seen: Uint8Array;
  readonly #lastPage: number;
  #pages = 0;
  #unprotected = 0;

  constructor(file: number, meta: Meta, tick: ((pages: number) => void) | undefined) {
    this.#file = file;
    this.#meta = meta;
    this.#tick = tick;
    this.#lastPage = Number(meta.lastPage);
    this.#seen = new Uint8Array((this.#lastPage >> 3) + 1);
  }

  run(): PageReport {
    this.#seen[0] = 3;
    const { page } = this.#meta;
    this.#walkTree("free", "free pages", page.subarray(META.free, META.free + TREE_SIZE));
    this.#walkTree("main", "trees", page.subarray(META.main, META.main + TREE_SIZE));
    return {
      pages: this.#pages,
      unprotected: this.#unprotected,
      problems: this.#problems,
    };
  }

  #walkTree(kind: Kind, name: string, tree: Buffer): void {
    const root = tree.readBigUInt64LE(40);
    const totals: Totals = { branches: 0, leaves: 0, overflow: 0, entries: 0 };
    const depth = tree.readUInt16LE(6);
    if (root !== NO_PAGE) {
      this.#guarded(name, () => {
        if (depth < 1 || depth > DEPTH_MAX) throw new Damage(`expected a depth, found ${depth}`);
        this.#walk(kind, Number(root), { depth, low: undefined, high: undefined }, totals);
      });
    }
    const found = [totals.branches, totals.leaves, totals.overflow, totals.entries];
    const said = [8, 16, 24, 32].map((at) => Number(tree.readBigUInt64LE(at)));
    if (found.join() !== said.join()) {
      this.#report(
        `the tree of ${name}: expected ${said.join(", ")} branch, leaf and overflow pages and ` +
          `entries, found ${found.join(", ")}`,
      );
    }
  }

  /** A damaged part is one problem, not the end of the walk. */
  #guarded(place: string, body: () => void): void {
    try {
      body();
    } catch (error) {
      if (!(error instanceof Damage || error instanceof RangeError)) throw error;
      this.#report(`${place}: ${error.message}`);
    }
  }

  #report(problem: string): void {
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(problem);
  }

  #walk(kind: Kind, number: number, expected: Expected, totals: Totals): void {
    this.#guarded(`page ${number}`, () => {
      const page = this.#read(number, 1);
      const flags = page.readUInt16LE(18);
      const isLeaf = expected.depth === 1;
      if (flags !== (isLeaf ? FLAG.leaf : FLAG.branch)) {
        throw new Damage(`expected a ${isLeaf ? "leaf" : "branch"}, found flags ${flags}`);
      }
      if (isLeaf) totals.leaves++;
      else totals.branches++;
      const nodes = nodesOf(page, isLeaf);
      this.#checkKeys(kind, nodes, expected, isLeaf);
      if (isLeaf) {
        totals.entries += nodes.length;
        for (const node of nodes) this.#checkLeafNode(kind, page, node, totals);
      } else {
        if (nodes.length < 2) throw new Damage("expected at least two pages below a branch");
        for (const [i, node] of nodes.entries()) {
          const low = i === 0 ? expected.low : node.key;
          const high = nodes[i + 1]?.key ?? expected.high;
          this.#walk(kind, node.page, { depth: expected.depth - 1, low, high }, totals);
        }
      }
    });
  }

  /** The first key of a branch stands for everything below the second. */
  #checkKeys(kind: Kind, nodes: readonly Node[], { low, high }: Expected, isLeaf: boolean): void {
    const compare = kind === "free" ? compareNumbers : compareBytes;
    let last = low;
    let isFirst = true;
    for (const { key } of isLeaf ? nodes : nodes.slice(1)) {
      const order = last === undefined ? 1 : compare(key, last);
      // The key of the page above is at most the first one.
      const isAbove = isFirst && isLeaf ? order >= 0 : order > 0;
      if (!isAbove) throw new Damage("expected keys in their order");
      if (high !== undefined && compare(key, high) >= 0) {
        throw new Damage("expected keys below that of the next page");
      }
      last = key;
      isFirst = false;
    }
  }

  #checkLeafNode(kind: Kind, page: Buffer, node: Node, totals: Totals): void {
    const { flags, dataSize } = node;
    const dataAt = node.start + NODE_HEAD + node.key.length;
    const isBig = flags === NODE.big;
    if (flags !== (kind === "main" ? NODE.tree : 0) && !isBig) {
      throw new Damage(`expected a known kind of node, found ${flags}`);
    }
    const data = isBig
      ? this.#readBig(page, dataAt, dataSize, totals)
      : page.subarray(dataAt, dataAt + dataSize);
    if (kind === "records") {
      if (!hasChecksum(data)) this.#unprotected++;
    } else if (kind === "free") this.#checkFree(data);
    else {
      if (dataSize !== TREE_SIZE) throw new Damage("expected the record of a tree");
      this.#walkTree("records", node.key.toString("latin1"), Buffer.from(data));
    }
  }

  /** Data on overflow pages: checks the page count and the first page, and returns the data. */
  #readBig(page: Buffer, at: number, size: number, totals: Totals): Buffer {
    const number = Number(page.readBigUInt64LE(at));
    const count = Number(page.readBigUInt64LE(at + 16));
    const { pageSize } = this.#meta;
    if (count !== Math.floor((HEAD_SIZE - 1 + size) / pageSize) + 1) {
      throw new Damage(`expected pages for ${size} bytes, found ${count}`);
    }
    const first = this.#read(number, count);
    if (first.readUInt16LE(18) !== FLAG.overflow || first.readUInt32LE(20) !== count) {
      throw new Damage(`expected ${count} pages of data from page ${number} on`);
    }
    totals.overflow += count;
    const data = Buffer.alloc(size);
    readSync(this.#file, data, 0, size, number * pageSize + HEAD_SIZE);
    return data;
  }

  /** A list of pages: its length, then numbers; -n means n pages from the next number on. */
  #checkFree(list: Buffer): void {
    const count = Number(list.readBigUInt64LE(0));
    if (list.length < (count + 1) * 8) throw new Damage("expected a list of free pages");
    for (let i = 1; i <= count; i++) {
      const entry = Number(list.readBigInt64LE(8 * i));
      if (entry === 0) continue;
      const length = entry < 0 ? -entry : 1;
      if (entry < 0) i++;
      this.#take(entry < 0 ? Number(list.readBigInt64LE(8 * i)) : entry, length);
    }
  }

  #read(number: number, count: number): Buffer {
    this.#take(number, count);
    const { pageSize, id } = this.#meta;
    this.#pages += count;
    if (this.#pages % 4096 === 0) this.#tick?.(this.#pages);
    const page = Buffer.alloc(pageSize);
    const size = readSync(this.#file, page, 0, pageSize, number * pageSize);
    if (size < pageSize) throw new Damage(`expected page ${number}, found the end of the file`);
    if (Number(page.readBigUInt64LE(0)) !== number) {
      throw new Damage(`expected page ${number}, found another`);
    }
    if (page.readBigUInt64LE(8) > id) throw new Damage(`expected page ${number} of the past`);
    return page;
  }

  #take(first: number, count: number): void {
    if (!(first >= 2 && count >= 1 && first + count - 1 <= this.#lastPage)) {
      throw new Damage(`expected a page from 2 to ${this.#lastPage}, found ${first}`);
    }
    for (let number = first; number < first + count; number++) {
      const bit = 1 << (number & 7);
      const bits = this.#seen[number >> 3] ?? 0;
      if ((bits & bit) !== 0) throw new Damage(`expected page ${number} once, found it again`);
      this.#seen[number >> 3] = bits | bit;
    }
  }
}

/** The nodes of a page, which fill it from `upper` to its end. */
function nodesOf(page: Buffer, isLeaf: boolean): Node[] {
  const lower = page.readUInt16LE(20);
  const upper = page.readUInt16LE(22);
  const room = page.length - HEAD_SIZE;
  if ((lower & 1) !== 0 || lower === 0 || lower > upper || upper > room) {
    throw new Damage("expected the bounds of its nodes");
  }
  const nodes: Node[] = [];
  const places: { readonly start: number; readonly end: number }[] = [];
  for (let at = HEAD_SIZE; at < HEAD_SIZE + lower; at += 2) {
    const start = HEAD_SIZE + page.readUInt16LE(at);
    const low = page.readUInt16LE(start) + page.readUInt16LE(start + 2) * 0x10000;
    const flags = page.readUInt16LE(start + 4);
    const keySize = page.readUInt16LE(start + 6);
    const keyAt = start + NODE_HEAD;
    const isBig = isLeaf && (flags & NODE.big) !== 0;
    const inline = isLeaf ? low : 0;
    const size = NODE_HEAD + keySize + (isBig ? OVERFLOW_SIZE : inline);
    places.push({ start, end: start + size + (size & 1) });
    nodes.push({
      start,
      flags: isLeaf ? flags : 0,
      key: page.subarray(keyAt, keyAt + keySize),
      dataSize: isLeaf ? low : 0,
      page: isLeaf ? 0 : low + flags * 2 ** 32,
    });
  }
  checkPlaces(places, HEAD_SIZE + upper, page.length);
  return nodes;
}

function checkPlaces(
  places: { readonly start: number; readonly end: number }[],
  upper: number,
  pageEnd: number,
): void {
  let end = upper;
  for (const place of places.toSorted((a, b) => a.start - b.start)) {
    if (place.start !== end) throw new Damage("expected nodes that fill the page");
    end = place.end;
  }
  if (end !== pageEnd) throw new Damage("expected nodes that fill the page");
}

/** Compares numbers of eight bytes, in the byte order of the host. */
function compareNumbers(a: Buffer, b: Buffer): number {
  const difference = a.readBigUInt64LE(0) - b.readBigUInt64LE(0);
  if (difference === 0n) return 0;
  return difference > 0n ? 1 : -1;
}
