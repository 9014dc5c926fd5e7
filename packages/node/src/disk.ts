/**
 * Disk helpers: durable creation of files and folders, checks for free space, and copies that are
 * either whole or absent.
 *
 * After a power loss a new file is found again only if its folder was synced too, and a new folder
 * only if its parent was. Files and folders made here are for the owner of the process alone.
 */

import {
  accessSync,
  chmodSync,
  closeSync,
  existsSync,
  constants as fileConstants,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import { PeerError } from "@bigpeer/protocol";

/** Documents, and hashes of keys, are readable by their owner alone. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const OTHERS = 0o077;

/** More than a disk that has just cut a write short would still take. */
const PROBE_SIZE = 64 * 1024;

const { R_OK, W_OK } = fileConstants;
const { EDQUOT, EFBIG, EMFILE, ENFILE, ENOSPC } = constants.errno;
const FULL_ERRORS: readonly number[] = [EDQUOT, EFBIG, ENOSPC];
const FILES_ERRORS: readonly number[] = [EMFILE, ENFILE];

/** The number in an error: of the system, as Node (`errno`) or lmdb (`code`) has it, or LMDB's. */
export function errorNumber(error: unknown): number {
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  if (typeof code === "number") return code;
  return typeof errno === "number" ? -errno : 0;
}

/** Whether an error says that the disk, the quota or the file size limit is exhausted. */
export function isFullError(error: unknown): boolean {
  return FULL_ERRORS.includes(errorNumber(error));
}

/** Says that the process or the machine has too many open files; undefined for another error. */
export function tooManyFiles(what: string, cause: unknown): PeerError | undefined {
  if (!FILES_ERRORS.includes(errorNumber(cause))) return undefined;
  const message = `too many open files: failed to open ${what}; retry, or raise the limit (ulimit -n)`;
  return new PeerError("store.busy", message, { cause });
}

/**
 * Creates the folder, and its parents, when absent, durably. It works level by level, because
 * Node's recursive mkdir never returns where a folder cannot be made, as in `/proc`.
 */
export function makeFolder(folder: string): void {
  const missing: string[] = [];
  for (let above = resolve(folder); !existsSync(above); above = dirname(above)) {
    missing.unshift(above);
  }
  for (const level of missing) {
    makeLevel(level);
    syncFolder(dirname(level));
  }
  // A file in its place gives the error of the system.
  if (!statSync(folder).isDirectory()) mkdirSync(folder);
}

/** Undefined when there is no such folder. */
export function namesIn(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ENOTDIR") throw notFolder(folder);
    throw error;
  }
}

export function notFolder(path: string): PeerError {
  return new PeerError("store.foreign", `expected a folder at ${path}, found a file`);
}

/** Another process may create it at the same time. */
function makeLevel(folder: string): void {
  try {
    mkdirSync(folder, { mode: FOLDER_MODE });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Restricts a file that other code created to its owner. A file system may have no modes. */
export function closeToOthers(file: string): void {
  try {
    chmodSync(file, FILE_MODE);
  } catch {
    // The check at the opening warns if others can read the folder.
  }
}

/** The warning about a folder that others can read; undefined when they cannot. */
export function openToOthers(folder: string): string | undefined {
  if (process.platform === "win32") return undefined;
  const mode = statSync(folder).mode & 0o777;
  if ((mode & OTHERS) === 0) return undefined;
  const shown = mode.toString(8).padStart(4, "0");
  return `${folder} is open to others (mode ${shown}); close it: chmod -R go-rwx ${folder}`;
}

/** Makes the names of the files in `folder` durable. Windows cannot, and does it by itself. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates the file with `size` bytes on the disk when it is absent or empty. A file with content is
 * not opened: closing it again would release all locks that this process has on it.
 */
export function reserveFile(path: string, size: number): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === false) {
    throw new PeerError("store.foreign", `expected a file at ${path}, found something else`);
  }
  if (found !== undefined && found.size > 0) return accessSync(path, R_OK | W_OK);
  if (writeZeros(path, size)) return;
  rmSync(path, { force: true });
  throw new PeerError(
    "store.full",
    `disk full: ${path} needs ${size} more bytes; free space and retry`,
  );
}

/** False when the disk is full. */
function writeZeros(path: string, size: number, start = 0): boolean {
  try {
    const descriptor = openSync(path, "w", FILE_MODE);
    try {
      return writeSync(descriptor, new Uint8Array(size), 0, size, start) === size;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (isFullError(error)) return false;
    throw error;
  }
}

/** Whether a file can grow: tested by writing another file in its folder. */
export function hasRoom(folder: string, file: string): boolean {
  const end = statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0;
  const probe = join(folder, "room.probe");
  try {
    return writeZeros(probe, PROBE_SIZE, end);
  } catch {
    // Any other error does not say that the disk is full.
    return true;
  } finally {
    rmSync(probe, { force: true });
  }
}

/**
 * Calls `copy` to write the file `name` into a temporary folder, syncs it, and then moves it to
 * `folder`. Rejects with `store.not_empty` when `folder` has such a file, else `store.full` or
 * `store.write_failed`; no part of the file is left then.
 */
export async function placeCopy(
  folder: string,
  name: string,
  copy: (target: string) => Promise<void>,
): Promise<void> {
  const target = join(folder, name);
  if (existsSync(target)) {
    throw new PeerError("store.not_empty", `expected a folder without ${name}, found ${target}`);
  }
  const partial = join(folder, "copy.partial");
  try {
    makeFolder(folder);
    rmSync(partial, { recursive: true, force: true });
    makeFolder(partial);
    await copy(partial);
    closeToOthers(join(partial, name));
    await syncFile(join(partial, name));
    renameSync(join(partial, name), target);
    rmSync(partial, { recursive: true });
    syncFolder(folder);
  } catch (cause) {
    const isFull = isFullError(cause) || !hasRoom(partial, name);
    rmSync(partial, { recursive: true, force: true });
    throw isFull
      ? new PeerError(
          "store.full",
          `disk full: the copy in ${folder} is not whole; free space and retry`,
          { cause },
        )
      : new PeerError("store.write_failed", `failed to write a copy to ${folder}`, { cause });
  }
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
