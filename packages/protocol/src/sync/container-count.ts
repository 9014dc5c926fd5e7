/**
 * Container count: counts the lists, objects and binary values of a message without decoding it.
 *
 * An empty container is a single byte on the wire and about a hundred in memory, and takes a
 * hundred times as long to read as to send. So a message with too many is refused (S61). Real
 * messages stay far below the bound: an operation takes some twenty bytes for each. A peer keeps to
 * it in the messages that it writes.
 */

import {
  DECODE_COST_MAX,
  type DecodeLimits,
  decodeCost,
  decodeCostOfBytes,
  isThing,
} from "../cbor-incremental.ts";

/** Containers that every message may have. */
const CONTAINERS_FREE = 65_536;

/** Beyond these, one more for each of this many bytes. */
const BYTES_PER_CONTAINER = 16;

const BYTES = 2;
const TEXT = 3;
const MAP = 5;
const INDEFINITE = 31;

/** Bytes after the head of an item, by its low bits from 24 on. */
const ARGUMENT_SIZES: readonly number[] = [1, 2, 4, 8];

/** Items of one list: far more than a document can have, since it is checked at once. */
const LIST_LENGTH_MAX = 1_000_000;

/** Fields of one object: more than a document can have, since they are sorted at once. */
const FIELDS_MAX = 32_768;

/** The limits of a message of this many bytes. */
export function decodeLimits(size: number, around: number): DecodeLimits {
  const things = containersMax(size);
  return { around, things, listLength: LIST_LENGTH_MAX, fields: FIELDS_MAX };
}

function containersMax(size: number): number {
  return CONTAINERS_FREE + size / BYTES_PER_CONTAINER;
}

/**
 * Whether a message has more containers than its size allows, or an object with too many fields.
 * The result for bytes that are no CBOR is arbitrary.
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

/** Whether a message costs more than `effort` to decode. Arbitrary for bytes that are no CBOR. */
export function takesMoreThan(cost: number, bytes: Uint8Array): boolean {
  if (bytes.length * DECODE_COST_MAX <= cost) return false;
  let left = cost - decodeCostOfBytes(bytes.length);
  return left < 0 || someHead(bytes, (head) => (left -= decodeCost(head)) < 0);
}

/** Whether a predicate holds for the first byte of any item of a message. */
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

/** The field count of the object there; that of an indefinite one is checked when it is read. */
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
