/**
 * KeyValue over LMDB, in a folder with data.mdb and lock.mdb. The only file that imports lmdb.
 *
 * Durable before visible: overlappingSync is off, so a commit is LMDB's own: write the pages,
 * fdatasync, write the meta page through a descriptor opened with O_DSYNC, and only then does
 * another reader find it. The promise of lmdb's `batch` resolves after that. All of it runs on a
 * thread of Node's pool: transactionSync has the same throughput (330 against 300 commits of 192
 * keys a second) but stops the event loop for each commit, 3 ms there and more on slower disks.
 * What is large is encoded in slices, and a commit of many entries is handed to a thread of ours:
 * lmdb would take all of them at once, at some microseconds each (large-commit.ts).
 *
 * Snapshots share one read transaction until a commit succeeds. What this file does not do: keep a
 * second process from writing. One process at a time may open a folder without `readOnly`.
 *
 * Habits of lmdb that shape this code:
 * - put() looks for a marker field inside the value, so it is only ever given bytes, or the place
 *   of bytes in a larger buffer: then what its encoder returns has a start and an end.
 * - After a failed write of the meta page its environment is dead, and the next commit would wait
 *   for ever. So after each failure inside LMDB everything is closed, and opened again when used.
 * - A cursor must be closed before its transaction, and an iterator that is left half-way never is.
 * - It survives a full disk badly, so room is taken before: see file-reserve.ts. A write that the
 *   disk cuts short all the same is reported as EIO, so after EIO we ask whether there is room.
 * - When opening fails it often ends the process, so what can fail is looked for before.
 */

import { accessSync, constants as fileConstants, realpathSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import {
  type Key,
  type KeyEntry,
  type KeyRange,
  type KeyValue,
  type Snapshot,
  type Writes,
} from "@bigpeer/engine";
import { assert, decodeCbor, encodeCbor, PeerError, type Value } from "@bigpeer/protocol";
import { type Database, open, type RootDatabase, type Transaction } from "lmdb";
import {
  errorNumber,
  hasRoom,
  isFullError,
  makeFolder,
  placeCopy,
  reserveFile,
  syncFolder,
} from "../disk.ts";
import { NODE_CLOCK, type SliceClock } from "../slices.ts";
import { CommitEncoder, ENTRIES_AT_ONCE, type EncodedWrite } from "./commit-encoder.ts";
import { CommitRoom, type StorageSize } from "./commit-room.ts";
import { EntryIterator } from "./entry-iterator.ts";
import { FileReserve } from "./file-reserve.ts";
import { type EndReason, SnapshotHolder, type View } from "./held-snapshot.ts";
import { LargeCommits } from "./large-commit.ts";
import { checkLmdbFile } from "./lmdb-file.ts";
import type { UnpackedEntry } from "./packed-entries.ts";
import { ShapeTable } from "./shape-table.ts";
import type { LentBytes } from "./stored-value.ts";
import { ValueDecoder } from "./value-decoder.ts";

export interface LmdbOptions {
  /** To read, or copy, beside a running server. Then commit() may not be called. */
  readonly readOnly?: boolean;
  /** How long a snapshot may be held. While it is, space that is freed cannot be used again. */
  readonly snapshotLifeMs?: number;
  /** How large the file may grow before it is mapped again. */
  readonly mapSize?: number;
  /** What slices of long work are measured and parted by. */
  readonly clock?: SliceClock;
}

const SNAPSHOT_LIFE_MS = 60_000;
const { R_OK, W_OK } = fileConstants;

/**
 * Address space, not memory or disk: the largest file that needs no second mapping. Mapping again
 * happens by itself, but never frees the old mapping. A process has room for about 2^46 bytes, and
 * one for each app that is open.
 */
const MAP_SIZE = 2 ** 36;

/** Each snapshot of a different state takes a place of 64 bytes in the lock file, behind a head. */
const READER_COUNT_MAX = 1000;
const LOCK_FILE_SIZE = 65_536;

/** Error numbers of LMDB itself. */
const MAP_FULL = -30792;
const READERS_FULL = -30790;

/**
 * Writes after which lmdb begins with a commit, while the others are still queued, which is quicker
 * than writing them. Else it begins when the event loop has done all else in its turn.
 */
const BATCH_START = 32;

export const DATA_FILE = "data.mdb";
const LOCK_FILE = "lock.mdb";
const VALUES = "bigpeer.values";
const SHAPES = "bigpeer.shapes";

/** Folders that this process has open for writing, as real paths. */
const writtenFolders = new Set<string>();

/** What it gives is lent: it stays as it is until the next read of anything. */
type ValueDatabase = Database<Uint8Array | undefined, Key>;
type ShapeDatabase = Database<readonly string[], Key>;

interface Environment {
  readonly root: RootDatabase;
  readonly values: ValueDatabase;
  readonly shapes: ShapeDatabase;
  /** Undefined when read-only. */
  readonly room: CommitRoom | undefined;
  readonly large: LargeCommits;
}

/**
 * Throws PeerError `store.foreign`, `store.corrupt` or `store.in_use`; `store.full` or
 * `store.write_failed` when the files cannot be made or opened.
 */
export function openLmdb(folder: string, options: LmdbOptions = {}): LmdbKeyValue {
  return new LmdbKeyValue(folder, options);
}

export class LmdbKeyValue implements KeyValue {
  readonly #folder: string;
  readonly #readOnly: boolean;
  readonly #mapSize: number;
  readonly #clock: SliceClock;
  readonly #table = new ShapeTable();
  readonly #encoder: CommitEncoder;
  readonly #decoder: ValueDecoder = new ValueDecoder(() => this.#allShapes());
  /** Undefined after a fatal error, until the next use, and after close(). */
  #environment: Environment | undefined;
  /** The newest state; this class holds one reference to it. Never set when read-only. */
  #current: LmdbView | undefined;
  readonly #snapshots: SnapshotHolder;
  readonly #work = new Set<Promise<void>>();
  #isCommitting = false;
  /** While an environment is being closed. */
  #isEnding = false;
  #closing: Promise<void> | undefined;

  constructor(folder: string, options: LmdbOptions) {
    this.#readOnly = options.readOnly ?? false;
    this.#mapSize = options.mapSize ?? MAP_SIZE;
    this.#clock = options.clock ?? NODE_CLOCK;
    this.#encoder = new CommitEncoder(this.#table, this.#clock);
    this.#snapshots = new SnapshotHolder(options.snapshotLifeMs ?? SNAPSHOT_LIFE_MS);
    if (!this.#readOnly) makeFolder(folder);
    this.#folder = realFolder(folder);
    if (!this.#readOnly && writtenFolders.has(this.#folder)) {
      throw new PeerError("store.in_use", `expected a free folder, found ${folder} open already`);
    }
    this.#environment = this.#openEnvironment();
    if (!this.#readOnly) writtenFolders.add(this.#folder);
  }

  snapshot(): Snapshot {
    return this.#snapshots.hold(this.#newestView());
  }

  async commit(writes: Writes): Promise<void> {
    assert(!this.#readOnly, "a commit only where the storage is open for writing");
    assert(!this.#isCommitting, "one commit at a time");
    this.#checkOpen();
    if (writes.size === 0) return;
    this.#isCommitting = true;
    try {
      await this.#track(this.#write(writes));
    } finally {
      this.#isCommitting = false;
    }
  }

  /**
   * A consistent copy, while commits go on, in a folder that has no data file yet; created when it
   * is absent. Resolves after the copy is synced, and until then the copy has another name.
   */
  async copyTo(folder: string): Promise<void> {
    const { root } = this.#use();
    await this.#track(placeCopy(folder, DATA_FILE, (target) => root.backup(target, false)));
  }

  /** Bytes in pages that hold data; free pages inside the file are not counted. */
  usedBytes(): number {
    const { root, values, shapes } = this.#use();
    return pageBytes(statsOf(root, values)) + pageBytes(statsOf(root, shapes));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#work);
    await this.#closeEnvironment("store.closed");
    writtenFolders.delete(this.#folder);
  }

  #track(work: Promise<void>): Promise<void> {
    this.#work.add(work);
    return work.finally(() => this.#work.delete(work));
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return;
    throw new PeerError("store.closed", `expected an open storage, found ${this.#folder} closed`);
  }

  #use(): Environment {
    this.#checkOpen();
    // lmdb would hand out the environment that is being closed: it finds it by its path.
    if (this.#isEnding) {
      throw new PeerError("store.busy", "the storage is being opened again after a failed write");
    }
    this.#environment ??= this.#openEnvironment();
    return this.#environment;
  }

  #openEnvironment(): Environment {
    const state = checkLmdbFile(join(this.#folder, DATA_FILE));
    if (state === "absent" && this.#readOnly) throw foreignError(this.#folder);
    const environment = openDatabases(this.#folder, {
      readOnly: this.#readOnly,
      mapSize: this.#mapSize,
      clock: this.#clock,
      create: state !== "used",
    });
    if (state !== "used") syncFolder(this.#folder);
    if (this.#table.shapes.length === 0) this.#table.load(storedShapes(environment, 0));
    return environment;
  }

  /** What the decoder asks for when it meets an unknown shape. */
  #allShapes(): readonly string[][] {
    const { shapes } = this.#table;
    // Only beside another process can the storage have shapes that this table has not.
    if (this.#readOnly) this.#table.load(storedShapes(this.#use(), shapes.length));
    return shapes;
  }

  /** Counts one reference for the caller. */
  #newestView(): View {
    const environment = this.#use();
    if (this.#readOnly) return new LmdbView(environment, this.#decoder);
    this.#current ??= new LmdbView(environment, this.#decoder);
    return this.#current.share();
  }

  async #write(writes: Writes): Promise<void> {
    const environment = this.#use();
    // Held during the commit, so that every snapshot taken meanwhile shows the state before it.
    this.#current ??= new LmdbView(environment, this.#decoder);
    const encoded = this.#encoder.atOnce(writes) ?? (await this.#encoder.inSlices(writes));
    const unsaved = this.#table.unsaved();
    try {
      // Without a promise where there is room, so that the commit begins before anything else does.
      const growth = environment.room?.take(encoded);
      if (growth !== undefined) await growth;
      await writeAll(environment, encoded, unsaved);
    } catch (error) {
      throw error instanceof PeerError ? error : await this.#afterFailure(error);
    } finally {
      this.#encoder.release();
    }
    this.#table.markSaved(unsaved.first + unsaved.shapes.length);
    this.#current?.release();
    this.#current = undefined;
  }

  /** Makes sure that the storage can go on, and returns what the commit rejects with. */
  async #afterFailure(failure: unknown): Promise<PeerError> {
    const cause = await commitErrorOf(failure);
    await this.#closeEnvironment("store.snapshot_expired");
    const number = errorNumber(cause);
    const isShortWrite = number === constants.errno.EIO && !hasRoom(this.#folder, DATA_FILE);
    return isFullError(cause) || number === MAP_FULL || isShortWrite
      ? new PeerError("store.full", "expected room for a commit", { cause })
      : new PeerError("store.write_failed", "expected to write a commit", { cause });
  }

  async #closeEnvironment(reason: EndReason): Promise<void> {
    this.#snapshots.endAll(reason);
    this.#current?.release();
    this.#current = undefined;
    const environment = this.#environment;
    this.#environment = undefined;
    environment?.room?.close();
    this.#isEnding = true;
    try {
      await environment?.large.close();
      await environment?.root.close();
    } finally {
      this.#isEnding = false;
    }
  }
}

/** One read transaction, shared and counted. */
class LmdbView implements View {
  readonly #values: ValueDatabase;
  readonly #decoder: ValueDecoder;
  readonly #options: { readonly transaction: Transaction };
  #referenceCount = 1;

  constructor({ root, values }: Environment, decoder: ValueDecoder) {
    this.#values = values;
    this.#decoder = decoder;
    this.#options = { transaction: beginRead(root) };
  }

  share(): this {
    this.#referenceCount++;
    return this;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const bytes = this.#values.get(key, this.#options);
    if (bytes === undefined) return undefined;
    const decoder = this.#decoder;
    return fields === undefined
      ? decoder.decode(bytes, bytes.length)
      : decoder.decodePart(bytes, bytes.length, decoder.fieldSet(fields));
  }

  has(key: Key): boolean {
    return this.#values.doesExist(key, undefined, this.#options);
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterator<KeyEntry> {
    const source = this.#iterate(range, (options) => this.#values.getRange(options));
    const wanted = fields && this.#decoder.fieldSet(fields);
    return new EntryIterator(source, this.#decoder, wanted);
  }

  keys(range: KeyRange): Iterator<Key> {
    return this.#iterate(range, (options) => this.#values.getKeys(options));
  }

  release(): void {
    this.#referenceCount--;
    if (this.#referenceCount === 0) this.#options.transaction.done();
  }

  #iterate<T>(range: KeyRange, read: (options: RangeOptions) => Iterable<T>): Iterator<T> {
    const { from, to, reverse } = range;
    if (to <= from) return [][Symbol.iterator]();
    const { transaction } = this.#options;
    // lmdb goes from start to end in the direction of the walk.
    const options =
      reverse === true
        ? { transaction, start: to, end: from, reverse, exclusiveStart: true, inclusiveEnd: true }
        : { transaction, start: from, end: to };
    return read(options)[Symbol.iterator]();
  }
}

/** The options of lmdb's own type that are used here. */
interface RangeOptions {
  readonly transaction: Transaction;
  readonly start: Key;
  readonly end: Key;
  readonly reverse?: boolean;
  readonly exclusiveStart?: boolean;
  readonly inclusiveEnd?: boolean;
}

/** A read transaction on the newest state, which is the caller's until its done(). */
function beginRead(root: RootDatabase): Transaction {
  // lmdb keeps a transaction of its own, and puts it back to the newest state when it likes.
  // Reset before, so that we get the newest state; and after, so that this one is ours alone.
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

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (cause) {
    throw foreignError(folder, cause);
  }
}

interface OpenOptions {
  readonly readOnly: boolean;
  readonly mapSize: number;
  readonly clock: SliceClock;
  readonly create: boolean;
}

function openDatabases(folder: string, options: OpenOptions): Environment {
  const { readOnly, create } = options;
  let root: RootDatabase | undefined;
  try {
    prepareFiles(folder, { readOnly, create });
    root = openRoot(folder, options);
    const values = openNamed(root, VALUES, { create, decode: (bytes) => bytes });
    // They are made one after the other: who was killed in between has left the first, and empty.
    const isBegun = !readOnly && values !== undefined && statsOf(root, values).entryCount === 0;
    const shapes = openNamed(root, SHAPES, { create: create || isBegun, decode: decodeShape });
    if (values === undefined || shapes === undefined) throw foreignError(folder);
    const room = readOnly ? undefined : openRoom(folder, root, values);
    const thread = { root: rootOptions(folder, options), values: VALUES, shapes: SHAPES };
    return { root, values, shapes, room, large: new LargeCommits(thread, options.clock) };
  } catch (cause) {
    void root?.close();
    if (cause instanceof PeerError) throw cause;
    const code = isFullError(cause) ? "store.full" : "store.write_failed";
    throw new PeerError(code, `expected to open the storage in ${folder}`, { cause });
  }
}

function openRoom(folder: string, root: RootDatabase, values: ValueDatabase): CommitRoom {
  return new CommitRoom(new FileReserve(join(folder, DATA_FILE)), () => statsOf(root, values));
}

/** `decode` is given bytes that are lent. */
function openNamed<T>(
  root: RootDatabase,
  name: string,
  { create, decode }: { readonly create: boolean; readonly decode: (bytes: Uint8Array) => T },
): Database<T, Key> | undefined {
  const encoder = {
    // Values come as bytes already.
    encode: (bytes: Uint8Array | LentBytes): Uint8Array =>
      bytes instanceof Uint8Array ? bytes : partOf(bytes),
    // What lmdb lends lies in a longer buffer, whose `length` it sets to that of the value.
    decode,
  };
  // lmdb's types know neither `create` nor that openDB then may give undefined.
  const options = { name, create, keyEncoder, encoder, encoding: "msgpack" as const };
  return root.openDB<T, Key>(options);
}

/** lmdb takes a part of a buffer when it has a start and an end. */
function partOf({ chunk, start, size }: LentBytes): Uint8Array {
  const part: Buffer & { start?: number; end?: number } = chunk;
  part.start = start;
  part.end = start + size;
  return part;
}

/** Finds what would make lmdb's open fail, because then it often takes the process with it. */
function prepareFiles(
  folder: string,
  { readOnly, create }: Pick<OpenOptions, "create" | "readOnly">,
): void {
  if (!create) accessSync(join(folder, DATA_FILE), readOnly ? R_OK : R_OK | W_OK);
  if (create && !hasRoom(folder, DATA_FILE)) {
    throw new PeerError("store.full", `expected room for a new storage in ${folder}`);
  }
  try {
    // lmdb writes to the lock file through memory. Where the disk has no room for that the process
    // ends, so the file gets its full size first.
    reserveFile(join(folder, LOCK_FILE), LOCK_FILE_SIZE);
  } catch (error) {
    // On a disk that cannot be written to, lmdb does without the file.
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

/** Methods of every buffer that Node's types do not know: with the name of an encoding they are slower. */
interface Latin1Buffer {
  latin1Write(text: string, start: number): number;
  latin1Slice(start: number, end: number): string;
}

/** Keys are byte strings, and lie in LMDB as these bytes: so its order is theirs. */
const keyEncoder = {
  writeKey: (key: Key, target: Buffer & Latin1Buffer, start: number): number =>
    start + target.latin1Write(key, start),
  readKey: (source: Buffer & Latin1Buffer, start: number, end: number): Key =>
    source.latin1Slice(start, end),
};

function decodeShape(bytes: Uint8Array): readonly string[] {
  return decodeCbor(Uint8Array.prototype.slice.call(bytes, 0, bytes.length)) as readonly string[];
}

function storedShapes({ root, shapes }: Environment, first: number): string[][] {
  const transaction = beginRead(root);
  try {
    const entries = shapes.getRange({ transaction, start: shapeKey(first) });
    return Array.from(entries, ({ value }) => [...value]);
  } finally {
    transaction.done();
  }
}

function shapeKey(number: number): Key {
  return String.fromCharCode(number >> 8, number & 0xff);
}

function writeAll(
  environment: Environment,
  encoded: readonly EncodedWrite[],
  unsaved: { readonly first: number; readonly shapes: readonly string[][] },
): Promise<unknown> {
  if (encoded.length <= ENTRIES_AT_ONCE) return queueWrites(environment, encoded, unsaved);
  const shapes = unsaved.shapes.map((shape, i): UnpackedEntry => {
    return { key: shapeKey(unsaved.first + i), value: encodeCbor(shape) };
  });
  return environment.large.write({ values: unpacked(encoded), shapes });
}

function* unpacked(encoded: readonly EncodedWrite[]): Generator<UnpackedEntry> {
  for (const { key, chunk, start, size } of encoded) {
    yield { key, value: chunk?.subarray(start, start + size) };
  }
}

function queueWrites(
  { values, shapes }: Environment,
  encoded: readonly EncodedWrite[],
  unsaved: { readonly first: number; readonly shapes: readonly string[][] },
): Promise<unknown> {
  const shapeBytes = unsaved.shapes.map(encodeCbor);
  // Nothing in here may throw: lmdb would commit what was queued before.
  return values.batch(() => {
    for (const each of encoded) {
      if (each.chunk === undefined) void values.remove(each.key);
      else void values.put(each.key, each as unknown as Uint8Array);
    }
    for (const [i, bytes] of shapeBytes.entries()) {
      void shapes.put(shapeKey(unsaved.first + i), bytes as unknown as string[]);
    }
  });
}

/** lmdb rejects with a general error, which has a promise that rejects with the real one. */
async function commitErrorOf(failure: unknown): Promise<unknown> {
  try {
    await (failure as { commitError?: Promise<never> }).commitError;
    return failure;
  } catch (error) {
    return error;
  }
}

/** The part of lmdb's statistics that is used here; its own type is empty. */
interface PageStats extends StorageSize {
  readonly entryCount: number;
  readonly overflowPages: number;
  readonly lastPageNumber: number;
}

/** lmdb takes them from a transaction of its own, which otherwise stays at an old state. */
function statsOf(root: RootDatabase, database: ValueDatabase | ShapeDatabase): PageStats {
  root.resetReadTxn();
  const stats = database.getStats();
  root.resetReadTxn();
  return stats as PageStats;
}

function pageBytes(stats: PageStats): number {
  const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = stats;
  return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
}

function foreignError(folder: string, cause?: unknown): PeerError {
  const message = `expected the storage of Big Peer in ${folder}, found something else or nothing`;
  return new PeerError("store.foreign", message, { cause });
}
