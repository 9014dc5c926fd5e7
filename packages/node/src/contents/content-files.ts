/**
 * Content files: keeps the contents of attachments of a small peer as files, each named by its id.
 *
 *   attachments/uU/uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek    a content
 *   attachments/partial/                                         contents that are being created
 *   attachments/incoming/                                        downloads, by id
 *
 * A file gets its name when it is complete, synced and has the right digest. A download is not synced
 * before its end: if a power failure damages it, its digest is wrong, and it begins again.
 */

import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type {
  ContentHash,
  ContentPlace,
  CreatedContent,
  PartialContent,
  ReadyContent,
  RestingContent,
} from "@bigpeer/engine/peer";
import { PeerError } from "@bigpeer/protocol";
import { isFullError, makeFolder, syncFolder, tooManyFiles } from "../disk.ts";

/** Mode of its files: owner only. */
const MODE = 0o600;

const CONTENT_ID = /^[\w-]{43}$/;
const PREFIX = /^[\w-]{2}$/;

/** Bytes that are read at once. */
const PIECE_BYTES = 256 * 1024;

/** A download and the hash of its bytes so far, so that a cut does not read them again. */
interface Hashed {
  /**
   * Undefined if bytes came in an earlier life of the process. Then the file is read once, at the end:
   * a process that ends often would not get further if it read the file each time it begins.
   */
  readonly hash: ContentHash | undefined;
  size: number;
}

/** Downloads whose hash is kept. */
const HASHES_MAX = 16;

export class ContentFiles implements ContentPlace {
  readonly #folder: string;
  readonly #newHash: () => ContentHash;
  readonly #hashes = new Map<string, Hashed>();

  /** Removes contents that a crash interrupted. The folder must not be open elsewhere. */
  static async open(folder: string, newHash: () => ContentHash): Promise<ContentFiles> {
    await rm(join(folder, "partial"), { recursive: true, force: true });
    return new ContentFiles(folder, newHash);
  }

  private constructor(folder: string, newHash: () => ContentHash) {
    this.#folder = folder;
    this.#newHash = newHash;
  }

  async create(
    pieces: AsyncIterable<Uint8Array>,
    onReady: ReadyContent = (_, keep) => keep(),
  ): Promise<CreatedContent> {
    const path = join(this.#folder, "partial", randomBytes(12).toString("hex"));
    try {
      makeFolder(dirname(path));
      const created = await writeAll(path, pieces, this.#newHash());
      await onReady(created, () => this.#place(path, created.id));
      return created;
    } catch (error) {
      await rm(path, { force: true });
      throw this.#explained(error);
    }
  }

  async has(id: string): Promise<boolean> {
    return (await sizeOf(this.#path(id))) !== undefined;
  }

  async *read(id: string, len: number, offset: number): AsyncIterable<Uint8Array> {
    const path = this.#path(id);
    const size = await sizeOf(path);
    if (size !== len) {
      const found = size === undefined ? "none" : `${size}`;
      const message = `expected ${len} bytes of the attachment ${id} at ${path}, found ${found}`;
      throw new PeerError("store.corrupt", message);
    }
    try {
      yield* piecesOf(path, offset);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  async resume(id: string): Promise<PartialContent> {
    const path = this.#incoming(id);
    let file: FileHandle | undefined;
    try {
      makeFolder(dirname(path));
      file = await open(path, "a+", MODE);
      const { size } = await file.stat();
      return this.#partial(id, file, this.#hashOf(id, size));
    } catch (error) {
      await file?.close();
      throw this.#explained(error);
    }
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  async *ids(): AsyncIterable<string> {
    for (const prefix of await namesOf(this.#folder)) {
      if (!PREFIX.test(prefix)) continue;
      for (const id of await namesOf(join(this.#folder, prefix))) {
        if (CONTENT_ID.test(id)) yield id;
      }
    }
  }

  async partials(): Promise<readonly RestingContent[]> {
    const found: RestingContent[] = [];
    for (const id of await namesOf(join(this.#folder, "incoming"))) {
      if (!CONTENT_ID.test(id)) continue;
      const file = await stat(this.#incoming(id)).catch(() => undefined);
      if (file !== undefined) found.push({ id, size: file.size, atMs: file.mtimeMs });
    }
    return found.sort((a, b) => a.atMs - b.atMs);
  }

  async discard(id: string): Promise<void> {
    this.#hashes.delete(id);
    await rm(this.#incoming(id), { force: true });
  }

  #partial(id: string, file: FileHandle, hashed: Hashed): PartialContent {
    const path = this.#incoming(id);
    let isOpen = true;
    const close = async (): Promise<void> => {
      if (!isOpen) return;
      isOpen = false;
      await file.close();
    };
    return {
      get size(): number {
        return hashed.size;
      },
      append: async (bytes) => {
        try {
          await writePiece(file, bytes);
        } catch (error) {
          // Part of it may be in the file.
          this.#hashes.delete(id);
          throw this.#explained(error);
        }
        hashed.hash?.update(bytes);
        hashed.size += bytes.length;
      },
      finish: async () => {
        this.#hashes.delete(id);
        try {
          const hash = hashed.hash ?? (await this.#hashOfFile(path));
          const isRight = hash.digests().id === id;
          if (isRight) await file.sync();
          await close();
          if (isRight) await this.#place(path, id);
          else await rm(path, { force: true });
          return isRight;
        } catch (error) {
          throw this.#explained(error);
        }
      },
      close,
    };
  }

  #hashOf(id: string, size: number): Hashed {
    const known = this.#hashes.get(id);
    if (known?.size === size) return known;
    const hashed: Hashed = { hash: size === 0 ? this.#newHash() : undefined, size };
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size >= HASHES_MAX && oldest !== undefined) this.#hashes.delete(oldest);
    this.#hashes.set(id, hashed);
    return hashed;
  }

  async #hashOfFile(path: string): Promise<ContentHash> {
    const hash = this.#newHash();
    for await (const piece of piecesOf(path)) hash.update(piece);
    return hash;
  }

  async #place(from: string, id: string): Promise<void> {
    const path = this.#path(id);
    makeFolder(dirname(path));
    await rename(from, path);
    syncFolder(dirname(path));
  }

  #path(id: string): string {
    if (!CONTENT_ID.test(id)) throw notAnId(id);
    return join(this.#folder, id.slice(0, 2), id);
  }

  #incoming(id: string): string {
    if (!CONTENT_ID.test(id)) throw notAnId(id);
    return join(this.#folder, "incoming", id);
  }

  #explained(error: unknown): unknown {
    if (!isFullError(error)) return tooManyFiles("an attachment", error) ?? error;
    const message = `disk full: the attachment was not stored in ${this.#folder}; free space and retry`;
    return new PeerError("store.full", message, { cause: error });
  }
}

async function writeAll(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  hash: ContentHash,
): Promise<CreatedContent> {
  const file = await open(path, "wx", MODE);
  let len = 0;
  try {
    for await (const piece of pieces) {
      len += piece.length;
      hash.update(piece);
      await writePiece(file, piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { len, ...hash.digests() };
}

async function writePiece(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += (await file.write(bytes, written, bytes.length - written)).bytesWritten;
  }
}

function piecesOf(path: string, start = 0): AsyncIterable<Uint8Array> {
  return createReadStream(path, { start, highWaterMark: PIECE_BYTES });
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

async function namesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
}

function notAnId(id: string): PeerError {
  return new PeerError("attachment.invalid", `expected the id of an attachment, found "${id}"`);
}
