/**
 * FolderSegments: the segment files of a journal in the folder of its store:
 *
 *   journal-<number>.seg    a segment; it always has a valid header
 *   journal-spare.seg       a file with its space on the disk, for the next segment
 *
 * Files are written through O_DSYNC: one system call instead of a write and an fdatasync. Their
 * space is on the disk before they are used, so a write changes neither size nor blocks, and its
 * sync is one write to the device.
 *
 * A segment gets its name when its header is synced. So a crash leaves no segment without one, and
 * a segment whose header cannot be read is damaged.
 */

import {
  closeSync,
  constants,
  fdatasync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  write,
} from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { constants as osConstants } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { PeerError } from "@bigpeer/protocol";
import { isFullError, syncFolder } from "../disk.ts";
import type { SegmentFile, SegmentFiles } from "./segment-files.ts";
import { HEADER_SIZE } from "./segment-format.ts";

const { O_CREAT, O_RDWR } = constants;

/** Elsewhere it is unknown, or does not reach the disk itself. */
const O_DSYNC = process.platform === "linux" ? constants.O_DSYNC : 0;

const FILE_MODE = 0o600;
const SPARE = "journal-spare.seg";
const NAME = /^journal-(\d+)\.seg$/;

const syncAsync = promisify(fdatasync);

const ZEROS = new Uint8Array(1024 * 1024);

export class FolderSegments implements SegmentFiles {
  readonly #folder: string;
  /** The spare file, when it is known to exist, with its size. */
  #spare: { readonly size: number } | undefined;
  /** The last work on the files: one after the other, because all of it uses the spare file. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  describe(number: number): string {
    return this.#path(number);
  }

  list(): number[] {
    const numbers: number[] = [];
    for (const name of readdirSync(this.#folder)) {
      const found = NAME.exec(name)?.[1];
      if (found !== undefined) numbers.push(Number(found));
    }
    return numbers.sort((a, b) => a - b);
  }

  read(number: number): Buffer | undefined {
    let file: number;
    try {
      file = openSync(this.#path(number), "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      const bytes = readFileSync(file);
      const header = Buffer.alloc(HEADER_SIZE);
      readSync(file, header, 0, HEADER_SIZE, 0);
      // Another process may have used the file again meanwhile: it writes the new header first.
      return bytes.subarray(0, HEADER_SIZE).equals(header) ? bytes : undefined;
    } finally {
      closeSync(file);
    }
  }

  create(number: number, size: number, header: Uint8Array): Promise<SegmentFile> {
    return this.#inTurn(() => this.#create(number, size, header));
  }

  prepare(size: number): Promise<void> {
    return this.#inTurn(() => this.#prepare(size));
  }

  recycle(number: number): Promise<void> {
    return this.#inTurn(() => this.#recycle(number));
  }

  async settled(): Promise<void> {
    await this.#last;
  }

  removeAll(): Promise<void> {
    return this.#inTurn(() => this.#removeAll());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #create(number: number, size: number, header: Uint8Array): Promise<SegmentFile> {
    await this.#prepare(size);
    const spare = this.#spare;
    this.#spare = undefined;
    const path = this.#path(number);
    let file: FolderSegment | undefined;
    try {
      const handle = await open(join(this.#folder, SPARE), O_RDWR | O_DSYNC);
      file = new FolderSegment(handle, spare?.size ?? size);
      await file.write(header, 0);
      await rename(join(this.#folder, SPARE), path);
      syncFolder(this.#folder);
      return file;
    } catch (cause) {
      await file?.close();
      throw failed(`the journal segment ${path}`, cause);
    }
  }

  async #prepare(size: number): Promise<void> {
    if (this.#spare !== undefined && this.#spare.size >= size) return;
    try {
      const handle = await open(join(this.#folder, SPARE), O_RDWR | O_CREAT, FILE_MODE);
      try {
        this.#spare = { size: await fill(handle, size) };
      } finally {
        await handle.close();
      }
    } catch (cause) {
      throw failed(`the space for a journal segment in ${this.#folder}`, cause);
    }
  }

  async #recycle(number: number): Promise<void> {
    if (this.#spare !== undefined) return rm(this.#path(number), { force: true });
    const spare = join(this.#folder, SPARE);
    await rename(this.#path(number), spare);
    const handle = await open(spare, "r");
    try {
      this.#spare = { size: (await handle.stat()).size };
    } finally {
      await handle.close();
    }
  }

  async #removeAll(): Promise<void> {
    this.#spare = undefined;
    for (const number of this.list()) await rm(this.#path(number), { force: true });
    await rm(join(this.#folder, SPARE), { force: true });
    syncFolder(this.#folder);
  }

  #path(number: number): string {
    return join(this.#folder, `journal-${String(number).padStart(8, "0")}.seg`);
  }
}

class FolderSegment implements SegmentFile {
  readonly size: number;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, size: number) {
    this.#handle = handle;
    this.size = size;
  }

  write(bytes: Uint8Array, at: number): Promise<void> {
    const written = writeAll(this.#handle, bytes, at);
    return O_DSYNC === 0 ? written.then(() => syncAsync(this.#handle.fd)) : written;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Makes a file at least `size` bytes long, on the disk. If it fails, the file is as long as before. */
async function fill(handle: FileHandle, size: number): Promise<number> {
  const { size: found } = await handle.stat();
  try {
    await handle.chmod(FILE_MODE);
    for (let at = found; at < size; at += ZEROS.length) {
      await writeAll(handle, ZEROS.subarray(0, Math.min(ZEROS.length, size - at)), at);
    }
    await handle.sync();
    return Math.max(found, size);
  } catch (error) {
    await handle.truncate(found);
    throw error;
  }
}

async function writeAll({ fd }: FileHandle, bytes: Uint8Array, from: number): Promise<void> {
  let at = 0;
  // Mostly one call, and without the promises of a FileHandle.
  while (at < bytes.length) at += await writeSome(fd, bytes.subarray(at), from + at);
}

function writeSome(fd: number, bytes: Uint8Array, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, at, (error, count) => {
      if (error !== null) reject(error);
      // A full disk that does not say so.
      else if (count === 0)
        reject(Object.assign(new Error("ENOSPC: nothing was written"), NO_SPACE));
      else resolve(count);
    });
  });
}

const NO_SPACE = { code: "ENOSPC", errno: -osConstants.errno.ENOSPC };

function failed(what: string, cause: unknown): PeerError {
  if (cause instanceof PeerError) return cause;
  return isFullError(cause)
    ? new PeerError("store.full", `disk full: failed to make ${what}; free space and retry`, {
        cause,
      })
    : new PeerError("store.write_failed", `failed to make ${what}`, { cause });
}
