/**
 * Partial uploads: the uploads of an app that can be continued by offset, also after a restart
 * (H58). Each belongs to one caller and one content, so no caller can spoil that of another.
 *
 * One request at a time works on an upload. A new request ends the one before it, whose connection
 * may be half open, and waits until its last bytes are written.
 *
 *   none ──append──> partial ──append──> complete ──digest is the id──> kept
 *                       │                    └──────another digest────> none
 *                       └──no progress for the grace period, or too many──> none
 */

import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { isFullError, makeFolder } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { PARTIAL_UPLOADS_MAX, PARTIAL_UPLOADS_PER_CREDENTIAL_MAX } from "../limits/limits.ts";
import { until } from "./abortable-source.ts";
import { type Attachment, sizeOf } from "./attachment-files.ts";
import type { ContentSpace } from "./content-space.ts";
import { KeyedMutex } from "./keyed-mutex.ts";
import { PartialUpload } from "./partial-upload.ts";
import type { Digests } from "./possession-proofs.ts";

export interface PartialUploadsOptions {
  readonly folder: string;
  readonly space: ContentSpace;
  /** Stores the content of a complete, synced file, which stays where it is. */
  readonly keep: (path: string, content: Attachment, by: string) => Promise<void>;
  /** Called with the digests of each content that was kept. */
  readonly onKept: (digests: Digests) => void;
  /** Maximum number of uploads, and of those of one caller. */
  readonly max?: number;
  readonly perCallerMax?: number;
}

/**
 * `more`: the upload continues at `offset`. `kept`: the content is stored. `conflict`: another offset
 * is expected. `replaced`: a later request ended this one before its last byte. `refused`: the content does not match its
 * id, and nothing of it remains.
 */
export interface UploadOutcome {
  readonly kind: "more" | "kept" | "conflict" | "replaced" | "refused";
  /** Bytes of the upload that are here. */
  readonly offset: number;
}

/** Name of a file: the id of the content, and a digest of the caller. */
const FILE_NAME = /^[\w-]{43}\.([\w-]{22})$/;

/** Reason why a request on an upload ends: there is a later one. */
const REPLACED = new Error("a later request continues this upload");

const NOTHING: UploadOutcome = { kind: "more", offset: 0 };

export class PartialUploads {
  readonly #options: PartialUploadsOptions;
  /** By key, those without progress for the longest time first. */
  readonly #uploads = new Map<string, PartialUpload>();
  readonly #mutex = new KeyedMutex();
  /** The last request on each upload that is worked on. */
  readonly #requests = new Map<string, AbortController>();
  #closed: PeerError | undefined;

  /** Finds the uploads in the folder. */
  constructor(options: PartialUploadsOptions) {
    this.#options = options;
    for (const upload of uploadsIn(options.folder)) this.#uploads.set(upload.key, upload);
  }

  /** Number of uploads that are not complete. */
  get count(): number {
    return this.#uploads.size;
  }

  /** Ends the request that works on an upload; resolves when its last bytes are written. */
  async end(id: string, by: string): Promise<void> {
    const key = keyOf(id, by);
    const request = this.#requests.get(key);
    if (request === undefined) return;
    request.abort(REPLACED);
    await this.#mutex.run([key], async () => {});
    // Its caller gives back what it holds before the next one needs it.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /**
   * Says where an upload continues. If all bytes are here, it is completed. Throws PeerError
   * `store.full` if the rest does not fit.
   */
  begin(content: Attachment, by: string): Promise<UploadOutcome> {
    return this.#run(keyOf(content.id, by), async (key) => {
      const upload = this.#uploads.get(key);
      const size = upload?.size ?? 0;
      if (size < content.len) {
        this.#options.space.check(content.len - size);
        return { kind: "more", offset: size };
      }
      if (upload !== undefined && size > content.len) {
        await this.#drop(upload);
        return NOTHING;
      }
      const outcome = await this.#finish(upload ?? (await this.#createEmpty(key)), content, by);
      // Nothing is left of it: it can begin again, unless there is nothing to send.
      return outcome.kind === "refused" && content.len > 0 ? NOTHING : outcome;
    });
  }

  /**
   * Appends what `chunks` yields at `offset`, and completes the upload when all bytes are here. If
   * `chunks` fails, what arrived before stays. Throws PeerError `store.full`.
   */
  append(
    content: Attachment,
    { offset, chunks }: { offset: number; chunks: AsyncIterable<Uint8Array> },
    by: string,
  ): Promise<UploadOutcome> {
    return this.#run(keyOf(content.id, by), async (key, signal) => {
      const known = this.#uploads.get(key);
      const size = known?.size ?? 0;
      if (known !== undefined && size === content.len && size !== offset) {
        // A caller takes an offset at the end for a content that is stored.
        return this.#finish(known, content, by);
      }
      if (size !== offset) return { kind: "conflict", offset: size };
      this.#options.space.check(Math.max(0, content.len - size));
      const upload = known ?? (await this.#create(key));
      try {
        await this.#write(upload, until(signal, chunks), content.len);
      } catch (error) {
        if (error !== REPLACED) throw error;
        // With all bytes it is completed: the later request may have nothing to send any more.
        if (upload.size < content.len) return { kind: "replaced", offset: upload.size };
      }
      if (upload.size < content.len) return { kind: "more", offset: upload.size };
      return this.#finish(upload, content, by);
    });
  }

  /** Removes the upload of a content that is stored already. */
  remove(id: string, by: string): Promise<void> {
    return this.#run(keyOf(id, by), async (key) => {
      const upload = this.#uploads.get(key);
      if (upload !== undefined) await this.#drop(upload);
    });
  }

  /** Removes uploads without progress since `beforeMs`. */
  async removeOld(beforeMs: number): Promise<void> {
    await this.#options.space.whenCounted();
    const idle = [...this.#uploads.values()].filter(({ key }) => !this.#requests.has(key));
    for (const upload of idle) {
      await this.#mutex.run([upload.key], async () => {
        const found = await stat(upload.path).catch(() => undefined);
        if (this.#isHere(upload) && (found?.mtimeMs ?? 0) < beforeMs) await this.#drop(upload);
      });
    }
  }

  /** Ends all requests with `reason`, which is also that of later ones, and waits for them. */
  async close(reason: PeerError): Promise<void> {
    this.#closed = reason;
    for (const request of this.#requests.values()) request.abort(reason);
    await this.#mutex.run([...this.#requests.keys()], async () => {});
  }

  async #run<T>(key: string, work: (key: string, signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw this.#closed;
    this.#requests.get(key)?.abort(REPLACED);
    const request = new AbortController();
    this.#requests.set(key, request);
    try {
      return await this.#mutex.run([key], async () => {
        await this.#options.space.whenCounted();
        return await work(key, request.signal);
      });
    } catch (error) {
      if (!isFullError(error)) throw error;
      const { folder } = this.#options;
      const message = `disk full: the attachment was not stored in ${folder}; free space and retry`;
      throw new PeerError("store.full", message, { cause: error });
    } finally {
      if (this.#requests.get(key) === request) this.#requests.delete(key);
    }
  }

  async #write(
    upload: PartialUpload,
    chunks: AsyncIterable<Uint8Array>,
    len: number,
  ): Promise<void> {
    try {
      await upload.append(chunks, this.#options.space);
    } finally {
      // Behind those that made progress before.
      this.#uploads.delete(upload.key);
      this.#uploads.set(upload.key, upload);
      if (upload.size === 0 && len > 0) await this.#drop(upload);
    }
  }

  /** If the content cannot be stored now, the upload stays as it is. */
  async #finish(upload: PartialUpload, content: Attachment, by: string): Promise<UploadOutcome> {
    const digests = await upload.digests();
    if (digests.id !== content.id) {
      await this.#drop(upload);
      return { kind: "refused", offset: 0 };
    }
    await upload.sync();
    try {
      await this.#options.keep(upload.path, content, by);
    } catch (error) {
      // Without hard links it was moved.
      if ((await sizeOf(upload.path)) === undefined) this.#uploads.delete(upload.key);
      throw error;
    }
    await this.#drop(upload);
    this.#options.onKept(digests);
    return { kind: "kept", offset: content.len };
  }

  async #create(key: string): Promise<PartialUpload> {
    const { folder } = this.#options;
    const owner = ownerIn(key);
    await this.#makeRoom(owner);
    makeFolder(folder);
    const upload = new PartialUpload({ key, owner, path: join(folder, key), size: 0 });
    this.#uploads.set(key, upload);
    return upload;
  }

  /** An upload with its file: an empty content is complete from the start. */
  async #createEmpty(key: string): Promise<PartialUpload> {
    const upload = await this.#create(key);
    await this.#write(upload, NO_CHUNKS, 0);
    return upload;
  }

  async #makeRoom(owner: string): Promise<void> {
    const { max = PARTIAL_UPLOADS_MAX, perCallerMax = PARTIAL_UPLOADS_PER_CREDENTIAL_MAX } =
      this.#options;
    const ofOwner = [...this.#uploads.values()].filter((upload) => upload.owner === owner);
    if (ofOwner.length >= perCallerMax) await this.#dropFirst(ofOwner);
    else if (this.#uploads.size >= max) await this.#dropFirst([...this.#uploads.values()]);
  }

  async #dropFirst(uploads: readonly PartialUpload[]): Promise<void> {
    const idle = uploads.find(({ key }) => !this.#requests.has(key));
    if (idle === undefined) return;
    await this.#mutex.run([idle.key], async () => {
      if (this.#isHere(idle)) await this.#drop(idle);
    });
  }

  #isHere(upload: PartialUpload): boolean {
    return this.#uploads.get(upload.key) === upload;
  }

  async #drop(upload: PartialUpload): Promise<void> {
    this.#uploads.delete(upload.key);
    await this.#options.space.remove(upload.path);
  }
}

const NO_CHUNKS: AsyncIterable<Uint8Array> = {
  async *[Symbol.asyncIterator]() {},
};

function keyOf(id: string, by: string): string {
  return `${id}.${createHash("sha256").update(by).digest("base64url").slice(0, 22)}`;
}

function ownerIn(key: string): string {
  return FILE_NAME.exec(key)?.[1] ?? "";
}

/** Those without progress for the longest time first. */
function uploadsIn(folder: string): PartialUpload[] {
  const found: { upload: PartialUpload; mtimeMs: number }[] = [];
  for (const key of namesIn(folder)) {
    const path = join(folder, key);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    const { size, mtimeMs } = stats;
    found.push({ upload: new PartialUpload({ key, owner: ownerIn(key), path, size }), mtimeMs });
  }
  return found.toSorted((a, b) => a.mtimeMs - b.mtimeMs).map(({ upload }) => upload);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => FILE_NAME.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
