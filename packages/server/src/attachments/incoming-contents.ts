/**
 * Incoming contents: resumable transfers of attachment contents from another Big Peer, piece by
 * piece. A partial content is a file named by its id. When it is complete and its digest equals the
 * id, it is kept like an upload. Before that it is not visible.
 *
 * A transfer that was interrupted resumes, also after a restart. Partial files are not synced:
 * content damaged by a power failure has another digest and is transferred again.
 */

import { createHash } from "node:crypto";
import { createReadStream, type Stats, statSync } from "node:fs";
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isFullError, makeFolder } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { CONTENT_MODE, isAttachmentId, syncPath } from "./attachment-files.ts";
import type { ContentSpace } from "./content-space.ts";
import { KeyedMutex } from "./keyed-mutex.ts";

/** Piece of a content. */
export interface IncomingPiece {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Size of the whole content. */
  readonly size: number;
}

export type IncomingOutcome = "more" | "kept" | "refused";

/** Moves the file of a content that is complete, synced and verified to its place. */
export type KeepContent = (path: string, len: number) => Promise<void>;

/** Maximum number of partial contents; the one that was idle longest is dropped. */
const PARTS_MAX = 64;

export class IncomingContents {
  readonly #folder: string;
  readonly #sizeMax: number;
  readonly #space: ContentSpace;
  readonly #slicer = new KeyedMutex();

  /** `sizeMax` is the maximum bytes of one content. */
  constructor(folder: string, sizeMax: number, space: ContentSpace) {
    this.#folder = folder;
    this.#sizeMax = sizeMax;
    this.#space = space;
  }

  /** Bytes received so far of a content. */
  sizeOf(id: string): number {
    return isAttachmentId(id) ? (this.#find(id)?.size ?? 0) : 0;
  }

  /**
   * Takes the next piece. `kept`: the content is complete and durable. `refused`: it does not match
   * its id, is too large, or is not the next piece. Throws PeerError `store.full`.
   */
  take(id: string, piece: IncomingPiece, keep: KeepContent): Promise<IncomingOutcome> {
    return this.#slicer.run([id], () => this.#take(id, piece, keep));
  }

  /** Removes partial contents that got no piece since `beforeMs`. */
  async removeOld(beforeMs: number): Promise<void> {
    await this.#space.whenCounted();
    for (const { id, mtimeMs } of await this.#parts()) {
      if (mtimeMs < beforeMs) await this.#slicer.run([id], () => this.#drop(id));
    }
  }

  async #take(
    id: string,
    { offset, bytes, size }: IncomingPiece,
    keep: KeepContent,
  ): Promise<IncomingOutcome> {
    if (!isAttachmentId(id) || this.sizeOf(id) !== offset) return "refused";
    if (size > this.#sizeMax || offset + bytes.length > size) return this.#refuse(id);
    await this.#space.whenCounted();
    try {
      await this.#append(id, offset, bytes);
      if (offset + bytes.length < size) return "more";
      if ((await this.#digest(id)) !== id) return await this.#refuse(id);
      await syncPath(this.#path(id));
      await keep(this.#path(id), size);
      return "kept";
    } catch (error) {
      await this.#drop(id).catch(() => {});
      if (!isFullError(error)) throw error;
      const message = `disk full: the attachment was not stored in ${this.#folder}; free space and retry`;
      throw new PeerError("store.full", message, { cause: error });
    }
  }

  async #append(id: string, offset: number, bytes: Uint8Array): Promise<void> {
    if (offset === 0) {
      makeFolder(this.#folder);
      await this.#makeRoom(id);
    }
    this.#space.take(bytes.length);
    try {
      await this.#write(id, offset, bytes);
    } catch (error) {
      // The bytes of a file count while it is there, and this one may have any number.
      await rm(this.#path(id), { force: true });
      this.#space.give(offset + bytes.length);
      throw error;
    }
  }

  async #write(id: string, offset: number, bytes: Uint8Array): Promise<void> {
    const file = await open(this.#path(id), offset === 0 ? "w" : "r+", CONTENT_MODE);
    try {
      let written = 0;
      while (written < bytes.length) {
        const rest = bytes.subarray(written);
        written += (await file.write(rest, 0, rest.length, offset + written)).bytesWritten;
      }
    } finally {
      await file.close();
    }
  }

  async #digest(id: string): Promise<string> {
    const hash = createHash("sha256");
    const content: AsyncIterable<Uint8Array> = createReadStream(this.#path(id));
    for await (const chunk of content) hash.update(chunk);
    return hash.digest("base64url");
  }

  async #refuse(id: string): Promise<"refused"> {
    await this.#drop(id);
    return "refused";
  }

  async #drop(id: string): Promise<void> {
    await this.#space.remove(this.#path(id));
  }

  async #makeRoom(id: string): Promise<void> {
    const parts = (await this.#parts()).filter((part) => part.id !== id);
    const oldest = parts.toSorted((a, b) => a.mtimeMs - b.mtimeMs);
    for (const part of oldest.slice(0, Math.max(0, parts.length - PARTS_MAX + 1))) {
      await this.#drop(part.id);
    }
  }

  async #parts(): Promise<{ readonly id: string; readonly mtimeMs: number }[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    });
    const parts = [];
    for (const id of names.filter(isAttachmentId)) {
      const found = await stat(this.#path(id)).catch(() => undefined);
      if (found !== undefined) parts.push({ id, mtimeMs: found.mtimeMs });
    }
    return parts;
  }

  #find(id: string): Stats | undefined {
    return statSync(this.#path(id), { throwIfNoEntry: false });
  }

  #path(id: string): string {
    return join(this.#folder, id);
  }
}
