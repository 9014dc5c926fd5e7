/**
 * FileReserve: preallocates disk space at the end of a file before it is needed.
 *
 * LMDB must not meet a full disk: when a write of its pages fails, it writes an error message past
 * the end of a buffer, and the process may crash later. So the space for a commit is taken first,
 * by writing zeros after the end of the file, which LMDB then overwrites. It is also faster,
 * because a sync that changes neither the size nor the blocks of a file has less to do.
 *
 * It does not help on file systems that never overwrite in place, such as btrfs and ZFS.
 */

import { closeSync, fstatSync, ftruncateSync, openSync, write } from "node:fs";
import { promisify } from "node:util";
import { assert } from "@bigpeer/protocol";
import { isFullError } from "../disk.ts";

const CHUNK = new Uint8Array(2 * 1024 * 1024);

const writeAsync = promisify(write);

export class FileReserve {
  #descriptor: number | undefined;
  /** The growth under way. */
  #growing: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#descriptor = openSync(path, "r+");
  }

  /**
   * Makes the file at least `sizeMin` bytes long, and `size` when it must grow anyway. Returns its
   * length, or undefined when the disk is full; then the file is as long as before. Rejects on any
   * other write error.
   */
  grow(sizeMin: number, size: number): Promise<number | undefined> {
    const descriptor = this.#descriptor;
    assert(descriptor !== undefined, "a file that is open");
    const growth = this.#grow(descriptor, sizeMin, size);
    this.#growing = growth.catch(() => {});
    return growth;
  }

  async #grow(descriptor: number, sizeMin: number, size: number): Promise<number | undefined> {
    const sizeBefore = fstatSync(descriptor).size;
    if (sizeBefore >= sizeMin) return sizeBefore;
    let end = sizeBefore;
    try {
      while (end < size) {
        const length = Math.min(CHUNK.length, size - end);
        const { bytesWritten } = await writeAsync(descriptor, CHUNK, 0, length, end);
        if (bytesWritten === 0) break;
        end += bytesWritten;
      }
    } catch (error) {
      if (!isFullError(error)) throw error;
    }
    if (end >= sizeMin) return end;
    ftruncateSync(descriptor, sizeBefore);
    return undefined;
  }

  /** Waits for a growth under way: its descriptor could be that of another file afterwards. */
  async close(): Promise<void> {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    await this.#growing;
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
