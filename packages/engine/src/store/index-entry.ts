/**
 * Index entry: the key of a document in a secondary index, and the key range of a range of values.
 *
 * An entry is a key alone: the number of the index, a position, the document's id. The position is
 * the ordered keys of the indexed values, one after the other, those of descending keys inverted. A
 * position that would be too long is cut. Cut positions are still in order, but documents of
 * different values may share one: such an entry is not exact, and the reader must look at the
 * document.
 */

import {
  assert,
  getField,
  type IndexKey,
  idOfKey,
  invertedKey,
  isObject,
  orderedKey,
  type Path,
  PeerError,
  readOrderedKey,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Key, KeyRange } from "../platform.ts";
import { type Bound, entryKey, entryPrefix, prefixRange, readEntryKey } from "./keys.ts";
import type { IndexRecord } from "./records.ts";

/** Longest position in bytes: together with the longest id it fits a storage key. */
export const POSITION_SIZE_MAX = 768;

export interface IndexDefinition extends IndexRecord {
  readonly collection: string;
}

/**
 * Which entries to read. Bounds are in the order of values, whatever the direction of the key;
 * `reverse` walks against the order of the index.
 */
export interface IndexRange {
  /** Values that the first keys equal; undefined is MISSING. */
  readonly equal?: readonly (Value | undefined)[];
  /** Bounds of the key after those. */
  readonly low?: Bound;
  readonly high?: Bound;
  /** Prefix of the text at the key after those; instead of bounds. */
  readonly startsWith?: string;
  readonly reverse?: boolean;
}

/** An entry that a scan found. It is decoded on demand. */
export class IndexEntry {
  readonly #keys: readonly IndexKey[];
  /** The ordered key of the document's id: ids are equal, and sort, as these are. */
  readonly idKey: string;
  /** Entries of equal values have equal positions. */
  readonly position: string;

  constructor(index: IndexRecord, key: Key) {
    const { position, idKey } = readEntryKey(key);
    this.#keys = index.keys;
    this.position = position;
    this.idKey = idKey;
  }

  get id(): Value {
    return idOfKey(this.idKey);
  }

  /**
   * False if the values were too long to be kept whole: the document may lie outside the range, and
   * entries at the same position are in the order of ids, not of values.
   */
  get isExact(): boolean {
    return this.position.length < POSITION_SIZE_MAX;
  }

  /**
   * Prefix of the position that entries share if they agree in their first keys. It is the whole
   * position where the end of those keys is unknown: then entries that share it may differ.
   */
  tie(keyCount: number): Tie {
    if (keyCount >= this.#keys.length) return { text: this.position, isExact: this.isExact };
    let end = 0;
    for (let i = 0; i < keyCount; i++) {
      const rest = this.position.slice(end);
      const key = this.#keys[i]?.isDescending === true ? invertedKey(rest) : rest;
      const size = this.isExact ? readOrderedKey(key, 0).end : sizeOfCut(key);
      if (size === undefined || end + size >= POSITION_SIZE_MAX) {
        return { text: this.position, isExact: false };
      }
      end += size;
    }
    return { text: this.position.slice(0, end), isExact: true };
  }

  /** The indexed values (-0 as 0), MISSING as undefined; undefined unless the entry is exact. */
  values(): (Value | undefined)[] | undefined {
    if (!this.isExact) return undefined;
    let rest = this.position;
    return this.#keys.map(({ isDescending }) => {
      const { value, end } = readOrderedKey(isDescending ? invertedKey(rest) : rest, 0);
      rest = rest.slice(end);
      return value;
    });
  }
}

/** Whether the index covers this document yet. */
export function isWithin({ building }: IndexRecord, idKey: string): boolean {
  return building === undefined || idKey <= building.after;
}

export interface Tie {
  readonly text: string;
  /** Whether equal ties mean equal values. */
  readonly isExact: boolean;
}

/** The size of the first key in a cut position; undefined when the cut goes through it. */
function sizeOfCut(position: string): number | undefined {
  try {
    return readOrderedKey(position, 0).end;
  } catch (error) {
    if (error instanceof PeerError) return undefined;
    throw error;
  }
}

/** The key of a document's entry. */
export function entryKeyOf(index: IndexRecord, fields: ValueObject, idKey: string): Key {
  return entryKey(index.number, positionOf(index.keys, fields, idKey), idKey);
}

function positionOf(keys: readonly IndexKey[], fields: ValueObject, idKey: string): string {
  let position = "";
  for (const { path, isDescending } of keys) {
    position += directedKey(valueAt(path, fields, idKey), isDescending);
    if (position.length >= POSITION_SIZE_MAX) return cut(position);
  }
  return position;
}

/** The value at a path of a document; undefined when there is none. */
export function valueAt(path: Path, fields: ValueObject, idKey: string): Value | undefined {
  const isId = path[0] === "_id";
  let value: Value | undefined = isId ? idOfKey(idKey) : fields;
  for (let i = isId ? 1 : 0; i < path.length; i++) {
    if (!isObject(value)) return undefined;
    value = getField(value, path[i] as string);
  }
  return value;
}

function directedKey(value: Value | undefined, isDescending: boolean): string {
  // Only the beginning of long text fits a position. A cut surrogate pair lies behind it.
  const isLong = typeof value === "string" && value.length > POSITION_SIZE_MAX;
  const key = orderedKey(isLong ? value.slice(0, POSITION_SIZE_MAX) : value);
  return isDescending ? invertedKey(key) : key;
}

/**
 * The key range of a range of values.
 *
 * After the key of a value comes the next key or the id, whose first byte is neither 00 nor ff. If
 * one of these follows, the text is longer: it continues with a zero byte, and sorts beyond all
 * that equals the shorter text. So entries equal to a value lie from its key plus 01 to plus ff.
 */
export function entryRange(index: IndexRecord, range: IndexRange): KeyRange {
  const { equal = [], startsWith, reverse = false } = range;
  const [first, last] = boundsInOrder(index, range);
  const isOpen = first === undefined && last === undefined && startsWith === undefined;
  assert(equal.length + (isOpen ? 0 : 1) <= index.keys.length, "a range of keys of the index");
  const prefix = entryPrefix(index.number);
  const place = equal.map((value, i) => directedKey(value, isDown(index, i))).join("");
  const next = (value: Value | undefined): string =>
    place + directedKey(value, isDown(index, equal.length));
  if (startsWith !== undefined) {
    return { ...prefixRange(prefix + cut(withoutEnd(next(startsWith)))), reverse };
  }
  return {
    from: first ? startAt(prefix, next(first.value), first) : startAt(prefix, place),
    to: last ? endAt(prefix, next(last.value), last) : endAt(prefix, place),
    reverse,
  };
}

/** The bounds in the order of the index. */
function boundsInOrder(
  index: IndexRecord,
  { equal = [], low, high }: IndexRange,
): readonly [Bound | undefined, Bound | undefined] {
  return isDown(index, equal.length) ? [high, low] : [low, high];
}

function isDown(index: IndexRecord, key: number): boolean {
  return index.keys[key]?.isDescending === true;
}

/** Entries with a cut position may lie on either side of a cut bound: all are included. */
function startAt(prefix: string, place: string, { isIncluded } = INCLUDED): Key {
  if (place.length >= POSITION_SIZE_MAX) return prefix + cut(place);
  return `${prefix}${place}${isIncluded ? "\x01" : "\xff"}`;
}

function endAt(prefix: string, place: string, { isIncluded } = INCLUDED): Key {
  if (place.length >= POSITION_SIZE_MAX) return prefixRange(prefix + cut(place)).to;
  return `${prefix}${place}${isIncluded ? "\xff" : "\x01"}`;
}

const INCLUDED = { isIncluded: true };

function cut(place: string): string {
  return place.slice(0, POSITION_SIZE_MAX);
}

/** Longer text shares the key of its prefix, except for the end, which is one byte. */
function withoutEnd(key: string): string {
  return key.slice(0, -1);
}
