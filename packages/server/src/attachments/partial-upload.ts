/**
 * Partial upload: the bytes of one upload that have arrived so far, in a file that grows while they
 * arrive (H56).
 *
 * The digest is computed while bytes arrive. Only for bytes from before a restart the file is read,
 * when it is complete. The file is not synced before that: content that a power failure damaged has
 * another digest.
 */

import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { CONTENT_MODE, syncPath } from "./attachment-files.ts";
import type { ContentSpace } from "./content-space.ts";
import { type Digests, digestsOf, digestsOfFile } from "./possession-proofs.ts";

export interface PartialUploadOptions {
  /** Identifies the content and its caller. */
  readonly key: string;
  /** The caller. */
  readonly owner: string;
  readonly path: string;
  /** Bytes in the file. */
  readonly size: number;
}

export class PartialUpload {
  readonly key: string;
  readonly owner: string;
  readonly path: string;
  #size: number;
  /** Of the first `size` bytes; undefined when they must be read from the file. */
  #hash: Hash | undefined;

  constructor({ key, owner, path, size }: PartialUploadOptions) {
    this.key = key;
    this.owner = owner;
    this.path = path;
    this.#size = size;
    this.#hash = size === 0 ? createHash("sha256") : undefined;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Appends bytes as they arrive. If `chunks` or a write fails, what was written before stays. Throws
   * PeerError `store.full`.
   */
  async append(chunks: AsyncIterable<Uint8Array>, space: ContentSpace): Promise<void> {
    const file = await open(this.path, this.#size === 0 ? "w" : "r+", CONTENT_MODE);
    try {
      for await (const chunk of chunks) {
        space.take(chunk.length);
        await this.#write(file, chunk).catch(async (error: unknown) => {
          space.give(chunk.length);
          // The count of bytes on disk stays that of the files.
          await file.truncate(this.#size).catch(() => {});
          throw error;
        });
      }
    } finally {
      await file.close();
    }
  }

  /** The digests of all bytes. */
  digests(): Promise<Digests> {
    const hash = this.#hash;
    return hash === undefined ? digestsOfFile(this.path) : Promise.resolve(digestsOf(hash));
  }

  sync(): Promise<void> {
    return syncPath(this.path);
  }

  async #write(file: FileHandle, chunk: Uint8Array): Promise<void> {
    const hash = this.#hash;
    // If the write fails, the digest is ahead of the file.
    this.#hash = undefined;
    const writing = writeAll(file, chunk, this.#size);
    hash?.update(chunk);
    await writing;
    this.#size += chunk.length;
    this.#hash = hash;
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.subarray(written);
    written += (await file.write(rest, 0, rest.length, offset + written)).bytesWritten;
  }
}
