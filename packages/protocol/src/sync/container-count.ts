/**
 * Container count: how many lists and objects a message has, without making any of them.
 *
 * An empty one is a single byte on the wire and about a hundred in memory, and takes a hundred times as
 * long to read as to send. So a message has a bound for them that real ones stay far below: an
 * operation takes some twenty bytes for each.
 */

/** What every message may have. */
const CONTAINERS_FREE = 65_536;

/** Beyond these, so many bytes for each. */
const BYTES_PER_CONTAINER = 16;

const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const INDEFINITE = 31;

/** Bytes behind the head of an item, by its low bits from 24 on. */
const ARGUMENT_SIZES: readonly number[] = [1, 2, 4, 8];

/** Whether a message has more of them than its size allows. Of bytes that are no CBOR: anything. */
export function hasTooManyContainers(bytes: Uint8Array): boolean {
  if (bytes.length <= CONTAINERS_FREE) return false;
  const max = CONTAINERS_FREE + bytes.length / BYTES_PER_CONTAINER;
  let count = 0;
  let at = 0;
  while (at < bytes.length) {
    const head = bytes[at] as number;
    const major = head >> 5;
    const info = head & 0x1f;
    const size = info < 24 ? 0 : (ARGUMENT_SIZES[info - 24] ?? 0);
    if ((major === ARRAY || major === MAP) && ++count > max) return true;
    at += 1 + size;
    // The content of bytes and text has no heads in it. Their chunks have, and are items here.
    if ((major === BYTES || major === TEXT) && info !== INDEFINITE) {
      at += size === 0 ? info : argument(bytes, at - size, size);
    }
  }
  return false;
}

function argument(bytes: Uint8Array, from: number, size: number): number {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + (bytes[from + i] ?? 0);
  return value;
}
