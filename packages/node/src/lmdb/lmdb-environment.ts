/**
 * LMDB environment of a folder: opens it, and reads its statistics and shapes. This file and the
 * commit thread are the only ones that import lmdb.
 */

import { accessSync, constants as fileConstants } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Key } from "@bigpeer/engine";
import { PeerError } from "@bigpeer/protocol";
import { type Database, open, type RootDatabase, type Transaction } from "lmdb";
import { closeToOthers, errorNumber, hasRoom, isFullError, reserveFile } from "../disk.ts";
import type { SliceClock } from "../slices.ts";
import { CommitSpace, type StorageSize } from "./commit-space.ts";
import type { LentBytes } from "./encoded-write.ts";
import { FileReserve } from "./file-reserve.ts";
import { LargeCommits } from "./large-commit.ts";
import { DATA_FILE } from "./lmdb-file.ts";
import { ALL_CHECKED_KEY, readShapes, SHAPES_END, shapeKey } from "./shape-records.ts";

export type { Transaction } from "lmdb";

const { R_OK, W_OK } = fileConstants;

/** Each snapshot of a different state takes a slot of 64 bytes in the lock file, after a header. */
const READER_COUNT_MAX = 1000;
const LOCK_FILE_SIZE = 65_536;

/** An error number of LMDB itself. */
const READERS_FULL = -30790;

/**
 * Number of queued writes after which lmdb starts a commit while others are still queued, which is
 * faster. With fewer it starts when the event loop has finished its turn.
 */
const BATCH_START = 32;

const LOCK_FILE = "lock.mdb";
const VALUES = "bigpeer.values";
const SHAPES = "bigpeer.shapes";

/** The values are lent: they are valid until the next read of anything. */
export type ValueDatabase = Database<Uint8Array | undefined, Key>;
export type ShapeDatabase = Database<Uint8Array, Key>;

export interface Environment {
  readonly root: RootDatabase;
  readonly values: ValueDatabase;
  readonly shapes: ShapeDatabase;
  /** Undefined when read-only. */
  readonly room: CommitSpace | undefined;
  readonly large: LargeCommits;
}

/** A read transaction on the newest state, which the caller owns until its done(). */
export function beginRead(root: RootDatabase): Transaction {
  // lmdb keeps a read transaction of its own and renews it at will. Reset before, so that this one
  // sees the newest state; and after, so that it is not shared.
  root.resetReadTxn();
  try {
    return root.useReadTransaction();
  } catch (cause) {
    if (errorNumber(cause) !== READERS_FULL) throw cause;
    const message = `expected snapshots of at most ${READER_COUNT_MAX} different states at a time`;
    throw new PeerError("store.busy", message, { cause });
  } finally {
    root.resetReadTxn();
  }
}

export interface OpenOptions {
  readonly readOnly: boolean;
  readonly mapSize: number;
  readonly clock: SliceClock;
  readonly create: boolean;
}

export function openDatabases(folder: string, options: OpenOptions): Environment {
  const { readOnly, create } = options;
  let root: RootDatabase | undefined;
  try {
    prepareFiles(folder, { readOnly, create });
    root = openRoot(folder, options);
    if (create) closeToOthers(join(folder, DATA_FILE));
    const values = openNamed(root, VALUES, { create, decode: (bytes) => bytes });
    // They are created one after the other: a process killed in between leaves the first one empty.
    const isBegun = !readOnly && values !== undefined && statsOf(root, values).entryCount === 0;
    const shapes = openNamed(root, SHAPES, { create: create || isBegun, decode: copyOf });
    if (values === undefined || shapes === undefined) throw foreignError(folder);
    const room = readOnly ? undefined : openRoom(folder, root, values);
    const thread = { root: rootOptions(folder, options), values: VALUES, shapes: SHAPES };
    return { root, values, shapes, room, large: new LargeCommits(thread, options.clock) };
  } catch (cause) {
    void root?.close();
    if (cause instanceof PeerError) throw cause;
    const code = isFullError(cause) ? "store.full" : "store.write_failed";
    throw new PeerError(code, `failed to open the store in ${folder}`, { cause });
  }
}

function openRoom(folder: string, root: RootDatabase, values: ValueDatabase): CommitSpace {
  return new CommitSpace(new FileReserve(join(folder, DATA_FILE)), () => statsOf(root, values));
}

/** `decode` gets bytes that are lent. */
function openNamed<T>(
  root: RootDatabase,
  name: string,
  { create, decode }: { readonly create: boolean; readonly decode: (bytes: Uint8Array) => T },
): Database<T, Key> | undefined {
  const encoder = {
    // Values come as bytes already.
    encode: (bytes: Uint8Array | LentBytes): Uint8Array =>
      bytes instanceof Uint8Array ? bytes : partOf(bytes),
    // Lent bytes are in a longer buffer, whose `length` lmdb sets to that of the value.
    decode,
  };
  // lmdb's types know neither `create` nor that openDB then may return undefined.
  const options = { name, create, keyEncoder, encoder, encoding: "msgpack" as const };
  return root.openDB<T, Key>(options);
}

/** lmdb takes a part of a buffer that has a start and an end. */
function partOf({ chunk, start, size }: LentBytes): Uint8Array {
  const part: Buffer & { start?: number; end?: number } = chunk;
  part.start = start;
  part.end = start + size;
  return part;
}

/** Finds the causes for which lmdb's open would fail, because then it often ends the process. */
function prepareFiles(
  folder: string,
  { readOnly, create }: Pick<OpenOptions, "create" | "readOnly">,
): void {
  if (!create) accessSync(join(folder, DATA_FILE), readOnly ? R_OK : R_OK | W_OK);
  if (create && !hasRoom(folder, DATA_FILE)) {
    throw new PeerError(
      "store.full",
      `disk full: no store was made in ${folder}; free space and retry`,
    );
  }
  try {
    // lmdb writes to the lock file through memory. If the disk has no space for that, the process
    // crashes, so the file gets its full size first.
    reserveFile(join(folder, LOCK_FILE), LOCK_FILE_SIZE);
  } catch (error) {
    // On a read-only disk lmdb works without the file.
    if (!readOnly || errorNumber(error) !== constants.errno.EROFS) throw error;
  }
}

function openRoot(folder: string, options: OpenOptions): RootDatabase {
  return open(rootOptions(folder, options));
}

/** lmdb's types do not know the threshold. */
type RootOptions = Parameters<typeof open>[0] & {
  readonly path: string;
  readonly batchStartThreshold: number;
};

/** The same for all threads that open it. */
function rootOptions(folder: string, { readOnly, mapSize }: OpenOptions): RootOptions {
  return {
    path: folder,
    noSubdir: false,
    readOnly,
    encoding: "binary" as const,
    overlappingSync: false,
    eventTurnBatching: false,
    batchStartThreshold: BATCH_START,
    mapSize,
    maxDbs: 2,
    maxReaders: READER_COUNT_MAX,
  };
}

/** Buffer methods that Node's types lack; passing the name of an encoding would be slower. */
interface Latin1Buffer {
  latin1Write(text: string, start: number): number;
  latin1Slice(start: number, end: number): string;
}

/** Keys are byte strings and are stored as these bytes, so LMDB has the same order. */
const keyEncoder = {
  writeKey: (key: Key, target: Buffer & Latin1Buffer, start: number): number =>
    start + target.latin1Write(key, start),
  readKey: (source: Buffer & Latin1Buffer, start: number, end: number): Key =>
    source.latin1Slice(start, end),
};

function copyOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(bytes, 0, bytes.length);
}

export interface StoredShapes {
  /** Whether every record has a checksum. */
  readonly isMarked: boolean;
  readonly shapes: readonly (readonly string[])[];
}

export function storedShapes({ root, shapes }: Environment, first: number): StoredShapes {
  const transaction = beginRead(root);
  try {
    const mark = shapes.get(ALL_CHECKED_KEY, { transaction });
    const range = { transaction, start: shapeKey(first), end: SHAPES_END };
    const found = readShapes(mark, first, shapes.getRange(range));
    return { isMarked: mark !== undefined, shapes: found };
  } finally {
    transaction.done();
  }
}

/** The part of lmdb's statistics that is used here; its own type is empty. */
export interface PageStats extends StorageSize {
  readonly entryCount: number;
  readonly overflowPages: number;
  readonly lastPageNumber: number;
}

/** lmdb reads them in a transaction of its own, which otherwise stays at an old state. */
export function statsOf(root: RootDatabase, database: ValueDatabase | ShapeDatabase): PageStats {
  root.resetReadTxn();
  const stats = database.getStats();
  root.resetReadTxn();
  return stats as PageStats;
}

export function foreignError(folder: string, cause?: unknown): PeerError {
  const message = `expected the storage of Big Peer in ${folder}, found something else or nothing`;
  return new PeerError("store.foreign", message, { cause });
}
