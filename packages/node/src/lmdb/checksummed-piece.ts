/**
 * ChecksummedPiece: adds checksums to older records that have none, as many as fit a small commit.
 */

import type { Key } from "@bigpeer/engine";
import type { EncodedWrite } from "./encoded-write.ts";
import { CHECK_SIZE, hasChecksum, RecordCheck } from "./record-check.ts";

export interface ChecksummedRecords {
  readonly records: EncodedWrite[];
  /** Where the next piece begins; undefined at the end. */
  readonly next: Key | undefined;
  /** Whether a record was unreadable: it gets no checksum, which would make it look valid. */
  readonly hasUnreadable: boolean;
}

/** Bounds of a piece: records examined, and bytes written. */
const LOOKED_AT_MAX = 2000;
const BYTES_MAX = 256 * 1024;

export class ChecksummedPiece {
  readonly #records: EncodedWrite[] = [];
  readonly #check = new RecordCheck(true);
  #lookedAt = 0;
  #bytes = 0;
  #hasUnreadable = false;

  get isFull(): boolean {
    return this.#lookedAt >= LOOKED_AT_MAX || this.#bytes >= BYTES_MAX;
  }

  /** `bytes` are lent; `read` throws when they are no record. */
  add(key: Key, bytes: Uint8Array, read: () => unknown): void {
    this.#lookedAt++;
    if (hasChecksum(bytes)) return;
    const size = CHECK_SIZE + bytes.length;
    const chunk = Buffer.allocUnsafeSlow(size);
    for (let i = 0; i < bytes.length; i++) chunk[CHECK_SIZE + i] = bytes[i] as number;
    try {
      read();
    } catch {
      this.#hasUnreadable = true;
      return;
    }
    this.#check.writeChecksum(chunk, 0, size, key);
    this.#records.push({ key, keySize: key.length, chunk, start: 0, size, place: "shared" });
    this.#bytes += size;
  }

  cutAt(next: Key | undefined): ChecksummedRecords {
    return { records: this.#records, next, hasUnreadable: this.#hasUnreadable };
  }
}
