/**
 * Container count: how many lists, objects and binary values a message has, without making any of them.
 *
 * An empty one is a single byte on the wire and about a hundred in memory, and takes a hundred times as
 * long to read as to send. So a message has a bound for them that real ones stay far below: an
 * operation takes some twenty bytes for each. A peer keeps to it in what it writes.
 */

import { EFFORT_MAX, effortOf, effortOfBytes, isThing, type TurnLimits } from "../cbor-turns.ts";

/** What every message may have. */
const CONTAINERS_FREE = 65_536;

/** Beyond these, so many bytes for each. */
const BYTES_PER_CONTAINER = 16;

const BYTES = 2;
const TEXT = 3;
const MAP = 5;
const INDEFINITE = 31;

/** Bytes behind the head of an item, by its low bits from 24 on. */
const ARGUMENT_SIZES: readonly number[] = [1, 2, 4, 8];

/** Items of one list: far more than a document can have, since each is looked at in one piece. */
const LIST_LENGTH_MAX = 1_000_000;

/** Fields of one object: more than a document can have. It is put in order, and checked, in one piece. */
const FIELDS_MAX = 32_768;

/** What a message of so many bytes may have. */
export function turnLimits(size: number, around: number): TurnLimits {
  const things = containersMax(size);
  return { around, things, listLength: LIST_LENGTH_MAX, fields: FIELDS_MAX };
}

function containersMax(size: number): number {
  return CONTAINERS_FREE + size / BYTES_PER_CONTAINER;
}

/**
 * Whether a message has more of them than its size allows, or one that is too large. Of bytes that are
 * no CBOR: anything.
 */
export function hasTooManyContainers(bytes: Uint8Array): boolean {
  if (bytes.length <= CONTAINERS_FREE) return false;
  const max = containersMax(bytes.length);
  let count = 0;
  return someHead(bytes, (head, at) => {
    if (head >> 5 === MAP && fieldsAt(bytes, at) > FIELDS_MAX) return true;
    return isThing(head) && ++count > max;
  });
}

/** Whether it takes more than so much effort to read a message. Of bytes that are no CBOR: anything. */
export function takesMoreThan(effort: number, bytes: Uint8Array): boolean {
  if (bytes.length * EFFORT_MAX <= effort) return false;
  let left = effort - effortOfBytes(bytes.length);
  return left < 0 || someHead(bytes, (head) => (left -= effortOf(head)) < 0);
}

/** Whether one of the items of a message is what is looked for, by the byte that it begins with. */
function someHead(bytes: Uint8Array, isSought: (head: number, at: number) => boolean): boolean {
  let at = 0;
  while (at < bytes.length) {
    const head = bytes[at] as number;
    const major = head >> 5;
    const info = head & 0x1f;
    const size = info < 24 ? 0 : (ARGUMENT_SIZES[info - 24] ?? 0);
    if (isSought(head, at)) return true;
    at += 1 + size;
    // The content of bytes and text has no heads in it. Their chunks have, and are items here.
    if ((major === BYTES || major === TEXT) && info !== INDEFINITE) {
      at += size === 0 ? info : argument(bytes, at - size, size);
    }
  }
  return false;
}

/** Of the object that begins there; those of one without a length are counted when it is read. */
function fieldsAt(bytes: Uint8Array, at: number): number {
  const info = (bytes[at] as number) & 0x1f;
  if (info < 24) return info;
  const size = ARGUMENT_SIZES[info - 24];
  return size === undefined ? 0 : argument(bytes, at + 1, size);
}

function argument(bytes: Uint8Array, from: number, size: number): number {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + (bytes[from + i] ?? 0);
  return value;
}
