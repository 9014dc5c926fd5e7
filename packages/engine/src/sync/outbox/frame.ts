/**
 * Frames: encodes `documents` messages from entries that are already encoded.
 *
 * A frame for many sessions is encoded once, on first use. The last frame of a transaction may
 * carry its `committed` mark or not.
 */

import { ByteWriter, encodeCbor } from "@bigpeer/protocol";

/** Number of encoded frames. */
export interface FrameCount {
  encoded: number;
}

const MAP = 0xa0;
const ARRAY = 0x80;
const HEAD = join(encodeCbor("t"), encodeCbor("documents"), encodeCbor("filter"));
const ENTRIES = encodeCbor("entries");
const COMMITTED = encodeCbor("committed");

/** Shared by all, because encoding is synchronous. */
const scratch = new ByteWriter(64 * 1024);

/** Approximate bytes of a frame beside its entries. */
const AROUND_BYTES = 64;

export interface FrameOptions {
  /** Target size of a frame. */
  readonly frameBytes: number;
  readonly count: FrameCount;
}

/** The `documents` of one filter in one round, in frames of bounded size. */
export class FrameSet {
  readonly #filter: Uint8Array;
  readonly #parts: (readonly Uint8Array[])[] = [];
  readonly #plain: (Uint8Array | undefined)[] = [];
  readonly #count: FrameCount;
  #marked: Uint8Array | undefined;
  /** Approximate bytes of all frames. */
  readonly bytes: number;

  constructor(filter: Uint8Array, entries: readonly Uint8Array[], options: FrameOptions) {
    this.#filter = filter;
    this.#count = options.count;
    let from = 0;
    let size = 0;
    let bytes = 0;
    for (let i = 0; i < entries.length; i++) {
      size += entries[i]?.length ?? 0;
      const next = entries[i + 1]?.length;
      if (next !== undefined && size + next <= options.frameBytes) continue;
      this.#parts.push(entries.slice(from, i + 1));
      bytes += size + AROUND_BYTES;
      from = i + 1;
      size = 0;
    }
    this.bytes = bytes;
  }

  /** Frames without a mark. */
  *plain(): Iterable<Uint8Array> {
    for (let i = 0; i < this.#parts.length; i++) yield this.#frame(i);
  }

  /** Frames with `committed` in the last one. `txn` must be the same in all calls. */
  *marked(txn: number): Iterable<Uint8Array> {
    const last = this.#parts.length - 1;
    if (last < 0) return;
    for (let i = 0; i < last; i++) yield this.#frame(i);
    const marked = this.#marked ?? this.#encode(last, txn);
    this.#marked = marked;
    yield marked;
  }

  #frame(part: number): Uint8Array {
    return (this.#plain[part] ??= this.#encode(part));
  }

  #encode(part: number, txn?: number): Uint8Array {
    const entries = this.#parts[part] ?? [];
    this.#count.encoded++;
    scratch.reset();
    scratch.byte(MAP | (txn === undefined ? 3 : 4));
    scratch.raw(HEAD);
    scratch.raw(encodeCbor(this.#filter));
    scratch.raw(ENTRIES);
    writeArrayHead(scratch, entries.length);
    for (const entry of entries) scratch.raw(entry);
    if (txn !== undefined) {
      scratch.raw(COMMITTED);
      scratch.raw(encodeCbor(txn));
    }
    return scratch.finish();
  }
}

export function writeArrayHead(writer: ByteWriter, length: number): void {
  if (length < 24) return writer.byte(ARRAY | length);
  if (length < 0x10000) {
    writer.byte(ARRAY | 25);
    return writer.uint16(length);
  }
  writer.byte(ARRAY | 26);
  writer.uint32(length);
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const BEGINNING = join(HEAD, encodeCbor(new Uint8Array(16)).subarray(0, 1));
const ENTRIES_AT = 1 + BEGINNING.length + 16 + ENTRIES.length;

/** Number of entries of a `documents` frame; 0 for any other message. */
export function entryCount(frame: Uint8Array): number {
  for (const [i, byte] of BEGINNING.entries()) if (frame[i + 1] !== byte) return 0;
  const head = (frame[ENTRIES_AT] ?? 0) & 31;
  if (head < 24) return head;
  let count = 0;
  for (let i = 1; i <= 1 << (head - 24); i++) count = count * 256 + (frame[ENTRIES_AT + i] ?? 0);
  return count;
}
