/**
 * OutputFile: the file of `--output`. It gets its name when all of it is written, so a file that is
 * there is whole. A device or a pipe is written to directly, and so is a file that is streamed.
 */

import { once } from "node:events";
import { constants } from "node:fs";
import { access, type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip, type Gzip } from "node:zlib";
import { CommandFailure } from "../program/failure.ts";

export interface OutputFileOptions {
  /** Whether each piece is in the file at once, and stays there when the command fails. */
  readonly isStreamed?: boolean;
  readonly isPacked?: boolean;
}

/** Small pieces are collected. */
const BLOCK_LENGTH = 64 * 1024;

export class OutputFile {
  readonly #path: string;
  /** Where the content goes until it is whole; undefined if it has its name already. */
  readonly #draft: string | undefined;
  readonly #handle: FileHandle;
  readonly #isStreamed: boolean;
  readonly #gzip: Gzip | undefined;
  /** Settles when all packed bytes are written. */
  #packed: Promise<void> | undefined;
  /** Aborted when they cannot be written: the stream would not say so to a write after that. */
  readonly #broken = new AbortController();
  #parts: Buffer[] = [];
  #length = 0;
  #isUsed = false;

  /** Whether anything was written. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  private constructor(
    path: string,
    draft: string | undefined,
    handle: FileHandle,
    { isStreamed = false, isPacked = false }: OutputFileOptions,
  ) {
    this.#path = path;
    this.#draft = draft;
    this.#handle = handle;
    this.#isStreamed = isStreamed;
    if (!isPacked) return;
    this.#gzip = createGzip();
    this.#packed = pipeline(this.#gzip, async (bytes: AsyncIterable<Buffer>) => {
      for await (const part of bytes) await this.#handle.writeFile(part);
    });
    // Read by the next write, or when the file is finished.
    this.#packed.catch(() => this.#broken.abort());
  }

  /** Throws CommandFailure when the file cannot be written, before the command does anything. */
  static async open(path: string, options: OutputFileOptions = {}): Promise<OutputFile> {
    try {
      const found = await stat(path).catch(ignoreAbsent);
      if (found?.isDirectory() === true) throw new Error("it is a folder");
      const isDirect = options.isStreamed === true || (found !== undefined && !found.isFile());
      if (isDirect) return new OutputFile(path, undefined, await open(path, "w", 0o600), options);
      // A link stays one, and a file keeps its rights.
      const target = found === undefined ? path : await realpath(path);
      if (found !== undefined) await access(target, constants.W_OK);
      const draft = `${target}.part`;
      const handle = await open(draft, "w", 0o600);
      if (found !== undefined) await handle.chmod(found.mode & 0o777).catch(() => {});
      return new OutputFile(target, draft, handle, options);
    } catch (error) {
      throw failure(path, error);
    }
  }

  async write(content: string | Uint8Array): Promise<void> {
    this.#isUsed = true;
    try {
      if (this.#gzip === undefined) await this.#collect(Buffer.from(content));
      else await this.#pack(this.#gzip, content);
    } catch (error) {
      throw failure(this.#path, error);
    }
  }

  /** Gives the file its name, also if it is empty: nothing is the content then. */
  async finish(): Promise<void> {
    try {
      this.#gzip?.end();
      await this.#packed;
      await this.#flush();
      await this.#handle.close();
      if (this.#draft !== undefined) await rename(this.#draft, this.#path);
    } catch (error) {
      await this.abandon();
      throw failure(this.#path, error);
    }
  }

  /** Leaves no half file. */
  async abandon(): Promise<void> {
    this.#gzip?.destroy();
    await this.#packed?.catch(() => {});
    await this.#handle.close().catch(() => {});
    if (this.#draft !== undefined) await rm(this.#draft, { force: true });
  }

  async #pack(gzip: Gzip, content: string | Uint8Array): Promise<void> {
    try {
      if (!gzip.write(content)) await once(gzip, "drain", { signal: this.#broken.signal });
    } catch (error) {
      // It has the reason.
      await this.#packed;
      throw error;
    }
  }

  async #collect(content: Buffer): Promise<void> {
    this.#parts.push(content);
    this.#length += content.length;
    if (this.#isStreamed || this.#length >= BLOCK_LENGTH) await this.#flush();
  }

  async #flush(): Promise<void> {
    const block = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    if (block.length > 0) await this.#handle.writeFile(block);
  }
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

function failure(path: string, error: unknown): CommandFailure {
  return new CommandFailure(`failed to write ${path}: ${(error as Error).message}`);
}
