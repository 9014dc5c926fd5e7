/**
 * EntryList: the entries of a page in the order of their keys, immutable, in blocks. A change copies
 * the blocks that it changes and shares all others: a commit changes a key in each of many pages.
 */

import type { Key } from "@bigpeer/engine";
import type { StoredValue } from "./stored-value.ts";

/** A value to put, or undefined to remove the key. */
export type Change = readonly [Key, StoredValue | undefined];

/** The keys are in order, and each has its value at the same index. */
export interface Entries {
  readonly keys: readonly Key[];
  readonly values: readonly StoredValue[];
}

/** Not empty. `keys` and `values` may be made at their first use, the others are there. */
export interface Block extends Entries {
  readonly first: Key;
  readonly length: number;
}

/** A list after changes, and how many bytes of keys and values it has more. */
export interface Changed {
  readonly entries: EntryList;
  readonly growth: number;
}

/** Keys of a block at most. One that is split leaves room in its parts. */
const BLOCK_KEYS_MAX = 128;

/** Up to this many changes of a block are made one by one; more are merged in one pass. */
const FEW_CHANGES = 8;

const NO_ENTRIES: Entries = { keys: [], values: [] };

export class EntryList {
  /** In order; none is empty. */
  readonly blocks: readonly Block[];

  /** The blocks are in order. */
  constructor(blocks: readonly Block[]) {
    this.blocks = blocks;
  }

  static of({ keys, values }: Entries): EntryList {
    const parts = partsOf(keys.length);
    return new EntryList(
      parts.map(([start, end]) => blockOf(keys.slice(start, end), values.slice(start, end))),
    );
  }

  get length(): number {
    return this.blocks.reduce((sum, { length }) => sum + length, 0);
  }

  get keys(): Key[] {
    return this.blocks.flatMap(({ keys }) => keys);
  }

  get values(): StoredValue[] {
    return this.blocks.flatMap(({ values }) => values);
  }

  get(key: Key): StoredValue | undefined {
    const block = this.blocks[blockIndex(this.blocks, key)];
    if (block === undefined) return undefined;
    const index = lowerBound(block.keys, key);
    return block.keys[index] === key ? block.values[index] : undefined;
  }

  /** The changes are in the order of their keys, each of which occurs once. */
  with(changes: readonly Change[]): Changed {
    const blocks: Block[] = [];
    let growth = 0;
    let next = 0;
    for (let start = 0; start < changes.length; ) {
      const index = blockIndex(this.blocks, (changes[start] as Change)[0]);
      const above = this.blocks[index + 1]?.first;
      let end = start + 1;
      while (end < changes.length && isBelow(changes[end] as Change, above)) end++;
      for (; next < index; next++) blocks.push(this.blocks[next] as Block);
      const change = end - start > FEW_CHANGES ? merged : edited;
      const changed = change(this.blocks[index] ?? NO_ENTRIES, changes.slice(start, end));
      growth += changed.growth;
      for (const block of EntryList.of(changed).blocks) addBlock(blocks, block);
      next = index + 1;
      start = end;
    }
    for (; next < this.blocks.length; next++) blocks.push(this.blocks[next] as Block);
    return { entries: new EntryList(blocks), growth };
  }

  /** All keys of the other list are above those of this one. */
  concat(other: EntryList): EntryList {
    return new EntryList([...this.blocks, ...other.blocks]);
  }
}

/** The block that may hold a key: the last one whose first key is not above it, or the first one. */
export function blockIndex(blocks: readonly Block[], key: Key): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle] as Block).first <= key) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** The index of the first key that is not below `key`. */
export function lowerBound(keys: readonly Key[], key: Key): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as Key) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function isBelow([key]: Change, bound: Key | undefined): boolean {
  return bound === undefined || key < bound;
}

/** Where the blocks for so many entries begin and end. */
export function partsOf(length: number): [start: number, end: number][] {
  const count = length <= BLOCK_KEYS_MAX ? 1 : Math.ceil(length / (BLOCK_KEYS_MAX * 0.75));
  if (length === 0) return [];
  return Array.from({ length: count }, (_, index) => [
    Math.floor((length * index) / count),
    Math.floor((length * (index + 1)) / count),
  ]);
}

interface ChangedBlock extends Entries {
  readonly growth: number;
}

function edited(block: Entries, changes: readonly Change[]): ChangedBlock {
  const keys = block.keys.slice();
  const values = block.values.slice();
  let growth = 0;
  for (const [key, value] of changes) {
    const index = lowerBound(keys, key);
    const isThere = keys[index] === key;
    if (isThere) growth -= sizeOf(key, values[index] as StoredValue);
    if (value === undefined) {
      keys.splice(index, isThere ? 1 : 0);
      values.splice(index, isThere ? 1 : 0);
      continue;
    }
    growth += sizeOf(key, value);
    if (isThere) values[index] = value;
    else {
      keys.splice(index, 0, key);
      values.splice(index, 0, value);
    }
  }
  return { keys, values, growth };
}

function merged(block: Entries, changes: readonly Change[]): ChangedBlock {
  const keys: Key[] = [];
  const values: StoredValue[] = [];
  let growth = 0;
  let at = 0;
  const keepBelow = (bound: Key | undefined): void => {
    for (; at < block.keys.length; at++) {
      const key = block.keys[at] as Key;
      if (bound !== undefined && key >= bound) return;
      keys.push(key);
      values.push(block.values[at] as StoredValue);
    }
  };
  for (const [key, value] of changes) {
    keepBelow(key);
    if (block.keys[at] === key) growth -= sizeOf(key, block.values[at++] as StoredValue);
    if (value === undefined) continue;
    growth += sizeOf(key, value);
    keys.push(key);
    values.push(value);
  }
  keepBelow(undefined);
  return { keys, values, growth };
}

function sizeOf(key: Key, value: StoredValue): number {
  return key.length + value.size;
}

function blockOf(keys: readonly Key[], values: readonly StoredValue[]): Block {
  return { first: keys[0] as Key, length: keys.length, keys, values };
}

/** Two small blocks become one. */
function addBlock(blocks: Block[], block: Block): void {
  const last = blocks.at(-1);
  if (last === undefined || last.length + block.length > BLOCK_KEYS_MAX / 2) {
    blocks.push(block);
    return;
  }
  const keys = [...last.keys, ...block.keys];
  blocks[blocks.length - 1] = blockOf(keys, [...last.values, ...block.values]);
}
