/**
 * FileReserve: preallocates disk space at the end of a file before it is needed.
 *
 * LMDB must not meet a full disk: when a write of its pages fails, it writes an error message past
 * the end of a buffer, and the process may crash later. So the space for a commit is taken first,
 * by writing zeros after the end of the file, which LMDB then overwrites. It is also faster,
 * because a sync that changes neither the size nor the blocks of a file has less to do.
 *
 * The zeros are appended, wherever the end is: even if LMDB wrote past the reserved space at the same
 * time, none of its pages would be overwritten.
 *
 * It does not help on file systems that never overwrite in place, such as btrfs and ZFS.
 */

import { closeSync, constants, fstatSync, ftruncateSync, openSync, write } from "node:fs";
import { promisify } from "node:util";
import { assert } from "@bigpeer/protocol";
import { isFullError } from "../disk.ts";

const { O_APPEND, O_RDWR } = constants;

const CHUNK = new Uint8Array(2 * 1024 * 1024);

const writeAsync = promisify(write);

interface Growth {
  readonly sizeMin: number;
  readonly size: number;
  readonly isWritten: boolean;
}

export class FileReserve {
  #descriptor: number | undefined;
  /** The growth under way. */
  #growing: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#descriptor = openSync(path, O_RDWR | O_APPEND);
  }

  /**
   * Makes the file at least `sizeMin` bytes long, and `size` when it must grow anyway. Returns its
   * length, or undefined when the disk is full. Then the file is cut to its length before, but not
   * if `isWritten`, because LMDB writes to it. Rejects on any other write error.
   */
  grow(
    sizeMin: number,
    size: number,
    { isWritten = false }: { readonly isWritten?: boolean } = {},
  ): Promise<number | undefined> {
    const descriptor = this.#descriptor;
    assert(descriptor !== undefined, "a file that is open");
    const growth = this.#growing.then(() => this.#grow(descriptor, { sizeMin, size, isWritten }));
    this.#growing = growth.catch(() => {});
    return growth;
  }

  async #grow(
    descriptor: number,
    { sizeMin, size, isWritten }: Growth,
  ): Promise<number | undefined> {
    const sizeBefore = fstatSync(descriptor).size;
    if (sizeBefore >= sizeMin) return sizeBefore;
    let end = sizeBefore;
    try {
      while (end < size) {
        const length = Math.min(CHUNK.length, size - end);
        const { bytesWritten } = await writeAsync(descriptor, CHUNK, 0, length, null);
        if (bytesWritten === 0) break;
        end = fstatSync(descriptor).size;
      }
    } catch (error) {
      if (!isFullError(error)) throw error;
    }
    if (end >= sizeMin) return end;
    if (!isWritten) ftruncateSync(descriptor, sizeBefore);
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
