/**
 * Segment format: the bytes of a journal segment: a header, then entries, then anything.
 *
 *   header   "BPJ1" · journal id₁₆ · number₆ · first position₆ · CRC-32 of these₄
 *   entry    "BPJe" · size of the payload₄ · position₆ · kind₂ · CRC-32₄ · CRC-32 of the head₄ · payload · zeros to 8
 *
 * Numbers are little-endian. The checksum of a head covers what stands before both checksums, and
 * starts from that of the segment's header; the checksum of the entry starts from that of its head.
 * So what an earlier use of the file left behind is never taken for an entry. Nor is a document that
 * looks like one: the journal id is random, so no user can compute the checksum of a head.
 */

import { crc32 } from "node:zlib";

const MAGIC = 0x314a5042;
const ENTRY_MAGIC = 0x654a5042;

export const JOURNAL_ID_SIZE = 16;
export const HEADER_SIZE = 40;
export const ENTRY_HEAD_SIZE = 24;

/** Entries begin at multiples of this. */
const ALIGNMENT = 8;

const HEADER_CRC_AT = 32;
const CRC_AT = 16;
const HEAD_CRC_AT = 20;

/** The identity of a segment. */
export interface SegmentHeader {
  /** The journal that it belongs to: 16 random bytes. */
  readonly journalId: Uint8Array;
  /** Its number in the journal, from 1 on. */
  readonly number: number;
  /** Position of its first entry: entries of earlier segments from here on are void. */
  readonly first: number;
}

/** Writes of a commit, or the statement that the next segment exists. */
export type EntryKind = "writes" | "continued";

const KINDS: readonly EntryKind[] = ["writes", "continued"];

export interface Entry {
  readonly position: number;
  readonly kind: EntryKind;
  readonly payload: Buffer;
}

export function encodeHeader({ journalId, number, first }: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(HEADER_SIZE);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes.set(journalId, 4);
  bytes.writeUIntLE(number, 20, 6);
  bytes.writeUIntLE(first, 26, 6);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, HEADER_CRC_AT)), HEADER_CRC_AT);
  return bytes;
}

/** Undefined when the bytes are no header. */
export function decodeHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < HEADER_SIZE || bytes.readUInt32LE(0) !== MAGIC) return undefined;
  const crc = crc32(bytes.subarray(0, HEADER_CRC_AT));
  if (bytes.readUInt32LE(HEADER_CRC_AT) !== crc) return undefined;
  return {
    journalId: Uint8Array.from(bytes.subarray(4, 4 + JOURNAL_ID_SIZE)),
    number: bytes.readUIntLE(20, 6),
    first: bytes.readUIntLE(26, 6),
  };
}

/** Where the checksums of the entries of a segment start: at the checksum of its header. */
export function seedOf(header: SegmentHeader): number {
  return encodeHeader(header).readUInt32LE(HEADER_CRC_AT);
}

/** The size of an entry in its file. */
export function entrySize(payloadSize: number): number {
  return ENTRY_HEAD_SIZE + Math.ceil(payloadSize / ALIGNMENT) * ALIGNMENT;
}

/** Completes an entry whose payload is already behind the head; `bytes` are those of the entry. */
export function writeEntryHead(
  bytes: Buffer,
  payloadSize: number,
  { position, kind, seed }: { position: number; kind: EntryKind; seed: number },
): void {
  bytes.writeUInt32LE(ENTRY_MAGIC, 0);
  bytes.writeUInt32LE(payloadSize, 4);
  bytes.writeUIntLE(position, 8, 6);
  bytes.writeUInt16LE(KINDS.indexOf(kind) + 1, 14);
  bytes.fill(0, ENTRY_HEAD_SIZE + payloadSize);
  const headCrc = crc32(bytes.subarray(0, CRC_AT), seed);
  bytes.writeUInt32LE(headCrc, HEAD_CRC_AT);
  bytes.writeUInt32LE(crc32(bytes.subarray(ENTRY_HEAD_SIZE), headCrc), CRC_AT);
}

/** The entry at `at`; undefined when there is none that is whole. Its payload is not copied. */
export function readEntry(bytes: Buffer, at: number, seed: number): Entry | undefined {
  if (at + ENTRY_HEAD_SIZE > bytes.length || bytes.readUInt32LE(at) !== ENTRY_MAGIC)
    return undefined;
  const headCrc = crc32(bytes.subarray(at, at + CRC_AT), seed);
  if (headCrc !== bytes.readUInt32LE(at + HEAD_CRC_AT)) return undefined;
  const payloadSize = bytes.readUInt32LE(at + 4);
  const end = at + entrySize(payloadSize);
  const kind = KINDS[bytes.readUInt16LE(at + 14) - 1];
  if (end > bytes.length || kind === undefined) return undefined;
  const crc = crc32(bytes.subarray(at + ENTRY_HEAD_SIZE, end), headCrc);
  if (crc !== bytes.readUInt32LE(at + CRC_AT)) return undefined;
  const payloadAt = at + ENTRY_HEAD_SIZE;
  return {
    position: bytes.readUIntLE(at + 8, 6),
    kind,
    payload: bytes.subarray(payloadAt, payloadAt + payloadSize),
  };
}

/** The entries of a segment up to the first that is not whole. */
export interface ScannedSegment {
  readonly entries: readonly Entry[];
  /** Where the last of them ends. */
  readonly end: number;
  /** Where a whole entry follows behind one that is not: then something in the middle is damaged. */
  readonly laterEntry: number | undefined;
}

/** Throws nothing: `bytes` may be anything. Positions must be consecutive from `first` on. */
export function scanSegment(bytes: Buffer, header: SegmentHeader): ScannedSegment {
  const seed = seedOf(header);
  const entries: Entry[] = [];
  let end = HEADER_SIZE;
  for (;;) {
    const entry = readEntry(bytes, end, seed);
    if (entry?.position !== header.first + entries.length) break;
    entries.push(entry);
    end += entrySize(entry.payload.length);
  }
  return { entries, end, laterEntry: findEntry(bytes, end + ALIGNMENT, seed) };
}

function findEntry(bytes: Buffer, from: number, seed: number): number | undefined {
  for (let at = from; at + ENTRY_HEAD_SIZE <= bytes.length; at += ALIGNMENT) {
    if (bytes.readUInt32LE(at) === ENTRY_MAGIC && readEntry(bytes, at, seed) !== undefined)
      return at;
  }
  return undefined;
}
