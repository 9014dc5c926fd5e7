/**
 * LmdbKeyValue: the KeyValue storage on LMDB, in a folder with data.mdb and lock.mdb.
 *
 * Durable before visible: overlappingSync is off, so a commit is LMDB's own: write the pages,
 * fdatasync, write the meta page through a descriptor opened with O_DSYNC, and only then does
 * another reader see it. The promise of lmdb's `batch` resolves after that. All of it runs on a
 * thread of Node's pool: transactionSync has the same throughput (330 against 300 commits of 192
 * keys a second) but blocks the event loop for each commit, 3 ms there and more on slower disks.
 * Large commits are encoded in time slices, and a commit of many entries goes to a worker thread:
 * lmdb would take all of them at once, at some microseconds each (large-commit.ts).
 *
 * Snapshots share one read transaction until a commit succeeds. This file does not keep a second
 * process from writing: one process at a time may open a folder without `readOnly`.
 *
 * Properties of lmdb that shape this code:
 * - put() looks for a marker field inside the value, so it only gets bytes, or the position of
 *   bytes in a larger buffer: then the result of its encoder has a start and an end.
 * - After a failed write of the meta page its environment is dead, and the next commit would wait
 *   for ever. So after each failure inside LMDB everything is closed, and reopened when used.
 * - A cursor must be closed before its transaction; an iterator left half-way never closes its own.
 * - It handles a full disk badly, so space is reserved before: see file-reserve.ts. A write
 *   that the disk cuts short all the same fails with EIO, so after EIO we check for free space.
 * - When opening fails it often ends the process, so the possible causes are checked before.
 */

import { realpathSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Key, KeyEntry, KeyRange, KeyValue, Snapshot, Writes } from "@bigpeer/engine";
import { assert, PeerError, type Value } from "@bigpeer/protocol";
import { errorNumber, hasRoom, isFullError, makeFolder, placeCopy, syncFolder } from "../disk.ts";
import { NODE_CLOCK, type SliceClock } from "../slices.ts";
import { ChecksummedPiece, type ChecksummedRecords } from "./checksummed-piece.ts";
import { CommitEncoder, ENTRIES_AT_ONCE } from "./commit-encoder.ts";
import type { EncodedWrite } from "./encoded-write.ts";
import { EntryIterator, KeyIterator } from "./entry-iterator.ts";
import { type EndReason, SnapshotHolder, type View } from "./held-snapshot.ts";
import {
  beginRead,
  DATA_FILE,
  type Environment,
  foreignError,
  openDatabases,
  type PageStats,
  statsOf,
  storedShapes,
  type Transaction,
  type ValueDatabase,
} from "./lmdb-environment.ts";
import { checkLmdbFile } from "./lmdb-file.ts";
import { unpacked } from "./packed-entries.ts";
import { RecordCheck } from "./record-check.ts";
import { RecordReader } from "./record-reader.ts";
import { markRecord, type ShapeRecord, shapeRecords } from "./shape-records.ts";
import { ShapeTable } from "./shape-table.ts";
import { ValueDecoder } from "./value-decoder.ts";

export interface LmdbOptions {
  /** To read, or copy, beside a running server. Then commit() may not be called. */
  readonly readOnly?: boolean;
  /** How long a snapshot may be held. Meanwhile freed pages cannot be reused. */
  readonly snapshotLifeMs?: number;
  /** How large the file may grow before it is mapped again. */
  readonly mapSize?: number;
  /** Clock of the time slices of long work. */
  readonly clock?: SliceClock;
}

const SNAPSHOT_LIFE_MS = 60_000;

/**
 * Address space, not memory or disk: the largest file that needs no second mapping. LMDB maps again
 * by itself, but never frees the old mapping. A process has about 2^46 bytes of address space, and
 * one mapping for each open app.
 */
const MAP_SIZE = 2 ** 36;

/** Error numbers of LMDB itself. */
const MAP_FULL = -30792;

/** The key with which addChecksums() starts. */
export const FIRST_KEY: Key = "\x00";

/** Folders that this process has open for writing, as real paths. */
const writtenFolders = new Set<string>();

/**
 * Throws PeerError `store.foreign`, `store.corrupt` or `store.in_use`; `store.full` or
 * `store.write_failed` when the files cannot be created or opened.
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
  readonly #check: RecordCheck = new RecordCheck(false);
  readonly #reader: RecordReader = new RecordReader(
    new ValueDecoder(() => this.#allShapes()),
    this.#check,
  );
  /** Whether the pass that adds checksums met an unreadable record. */
  #hasUnreadable = false;
  /** Whether the storage itself records that every record has a checksum. */
  #isMarked = false;
  /** Undefined after a fatal error, until the next use, and after close(). */
  #environment: Environment | undefined;
  /** The newest state; this class holds one reference to it. Never set when read-only. */
  #current: LmdbView | undefined;
  readonly #snapshots: SnapshotHolder;
  readonly #work = new Set<Promise<void>>();
  #isCommitting = false;
  /** Set while records of format 1 get checksums; a commit waits for the piece. */
  #checksumming: Promise<void> | undefined;
  /** Set while an environment is being closed. */
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
    // Set at once, so that no checksums are added before this commit.
    this.#isCommitting = true;
    if (this.#checksumming !== undefined) await this.#checksumming;
    try {
      await this.#track(this.#write(writes));
    } finally {
      this.#isCommitting = false;
    }
  }

  /**
   * Makes a consistent copy, while commits continue, in a folder without a data file; the folder is
   * created when absent. Resolves after the copy is synced; until then it has another name.
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

  /**
   * Adds checksums to records that were written without, from the key `from` on, in one small
   * commit. Returns the key to continue at, and undefined at the end. Then, if every record was
   * readable, a record without a checksum is an error from now on (K71).
   */
  async addChecksums(from: Key): Promise<Key | undefined> {
    assert(!this.#readOnly, "records get checksums only where the storage is open for writing");
    while (this.#isCommitting || this.#checksumming !== undefined)
      await Promise.allSettled(this.#work);
    const environment = this.#use();
    if (this.#check.isStrict) return undefined;
    if (from === FIRST_KEY) this.#hasUnreadable = false;
    let next: Key | undefined;
    const checksumming = this.#track(
      this.#checksumPiece(environment, from).then((reached) => {
        next = reached;
      }),
    );
    this.#checksumming = checksumming.catch(() => {});
    try {
      await checksumming;
    } finally {
      this.#checksumming = undefined;
    }
    return next;
  }

  async #checksumPiece(environment: Environment, from: Key): Promise<Key | undefined> {
    this.#current ??= new LmdbView(environment, this.#reader);
    const { records, next, hasUnreadable } = this.#current.withoutChecksum(from);
    this.#hasUnreadable ||= hasUnreadable;
    const isEnd = next === undefined && !this.#hasUnreadable;
    if (records.length === 0 && !isEnd) return next;
    const shapes = this.#table.unsaved();
    const all = isEnd ? { first: 0, shapes: this.#table.shapes } : shapes;
    const beside = shapeRecords(all.first, all.shapes);
    if (isEnd) beside.push(markRecord());
    await this.#commitRecords(environment, records, beside);
    this.#table.markSaved(shapes.first + shapes.shapes.length);
    if (isEnd) {
      this.#isMarked = true;
      this.#check.isStrict = true;
    }
    return next;
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
    // lmdb finds environments by their path, and would return the one that is being closed.
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
    this.#learn(environment);
    return environment;
  }

  #learn(environment: Environment): void {
    const isEmpty = statsOf(environment.root, environment.values).entryCount === 0;
    const { isMarked, shapes } = storedShapes(environment, 0);
    // An empty storage will never hold a record without a checksum.
    this.#check.isStrict = isMarked || isEmpty;
    this.#isMarked = isMarked;
    if (this.#table.shapes.length === 0) this.#table.load(shapes);
  }

  /** Called by the decoder when it meets an unknown shape. */
  #allShapes(): readonly string[][] {
    const { shapes } = this.#table;
    // Only a read-only storage, beside a writing process, can have shapes that this table lacks.
    if (this.#readOnly) this.#table.load(storedShapes(this.#use(), shapes.length).shapes);
    return shapes;
  }

  /** Counts one reference for the caller. */
  #newestView(): View {
    const environment = this.#use();
    if (this.#readOnly) return new LmdbView(environment, this.#reader);
    this.#current ??= new LmdbView(environment, this.#reader);
    return this.#current.share();
  }

  async #write(writes: Writes): Promise<void> {
    const environment = this.#use();
    // Held during the commit, so that every snapshot taken meanwhile shows the state before it.
    this.#current ??= new LmdbView(environment, this.#reader);
    const encoded = this.#encoder.atOnce(writes) ?? (await this.#encoder.inSlices(writes));
    const unsaved = this.#table.unsaved();
    const isMarked = this.#check.isStrict;
    const beside = shapeRecords(unsaved.first, unsaved.shapes);
    if (isMarked && !this.#isMarked) beside.push(markRecord());
    await this.#commitRecords(environment, encoded, beside);
    this.#table.markSaved(unsaved.first + unsaved.shapes.length);
    this.#isMarked = isMarked;
  }

  async #commitRecords(
    environment: Environment,
    encoded: EncodedWrite[],
    beside: readonly ShapeRecord[],
  ): Promise<void> {
    try {
      // No promise if there is space, so that the commit starts before any other work.
      const growth = environment.room?.take(encoded);
      if (growth !== undefined) await growth;
      await writeAll(environment, encoded, beside);
    } catch (error) {
      throw error instanceof PeerError ? error : await this.#afterFailure(error);
    } finally {
      this.#encoder.release();
    }
    this.#current?.release();
    this.#current = undefined;
  }

  /** Makes the storage usable again, and returns the error that the commit rejects with. */
  async #afterFailure(failure: unknown): Promise<PeerError> {
    const cause = await commitErrorOf(failure);
    await this.#closeEnvironment("store.snapshot_expired");
    const number = errorNumber(cause);
    const isShortWrite = number === constants.errno.EIO && !hasRoom(this.#folder, DATA_FILE);
    return isFullError(cause) || number === MAP_FULL || isShortWrite
      ? new PeerError(
          "store.full",
          "disk full: the write was not committed; free space and retry",
          { cause },
        )
      : new PeerError("store.write_failed", "failed to commit a write", { cause });
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

/** One read transaction, shared with a reference count. */
class LmdbView implements View {
  readonly #values: ValueDatabase;
  readonly #reader: RecordReader;
  readonly #options: { readonly transaction: Transaction };
  #referenceCount = 1;

  constructor({ root, values }: Environment, reader: RecordReader) {
    this.#values = values;
    this.#reader = reader;
    this.#options = { transaction: beginRead(root) };
  }

  share(): this {
    this.#referenceCount++;
    return this;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const bytes = this.#values.get(key, this.#options);
    if (bytes === undefined) return undefined;
    return this.#reader.read(bytes, key, this.#reader.fieldSet(fields));
  }

  *getInSteps(key: Key): Generator<void, Value | undefined, void> {
    const bytes = this.#values.get(key, this.#options);
    if (bytes === undefined) return undefined;
    return yield* this.#reader.readInSteps(bytes, key);
  }

  has(key: Key): boolean {
    return this.#values.doesExist(key, undefined, this.#options);
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterator<KeyEntry> {
    const source = this.#iterate(range, (options) => this.#values.getRange(options));
    const wanted = this.#reader.fieldSet(fields);
    return new EntryIterator(source, this.#reader, { range, wanted });
  }

  /** The records without a checksum from a key on, with one added, as many as fit one piece. */
  withoutChecksum(from: Key): ChecksummedRecords {
    const piece = new ChecksummedPiece();
    const source = this.#iterate({ from, to: "\xff" }, (options) => this.#values.getRange(options));
    try {
      for (let step = source.next(); step.done !== true; step = source.next()) {
        const { key, value } = step.value;
        if (piece.isFull) return piece.cutAt(key);
        piece.add(key, value as Uint8Array, () =>
          this.#reader.read(value as Uint8Array, key, undefined),
        );
      }
    } finally {
      source.return?.();
    }
    return piece.cutAt(undefined);
  }

  keys(range: KeyRange): Iterator<Key> {
    const source = this.#iterate(range, (options) => this.#values.getKeys(options));
    return new KeyIterator(source, range);
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

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (cause) {
    throw foreignError(folder, cause);
  }
}

function writeAll(
  environment: Environment,
  encoded: EncodedWrite[],
  beside: readonly ShapeRecord[],
): Promise<unknown> {
  if (encoded.length <= ENTRIES_AT_ONCE) return queueWrites(environment, encoded, beside);
  return environment.large.write({ values: unpacked(encoded), shapes: beside });
}

function queueWrites(
  { values, shapes }: Environment,
  encoded: readonly EncodedWrite[],
  beside: readonly ShapeRecord[],
): Promise<unknown> {
  // Nothing in here may throw: lmdb would commit the writes queued before.
  return values.batch(() => {
    for (const each of encoded) {
      if (each.chunk === undefined) void values.remove(each.key);
      else void values.put(each.key, each as unknown as Uint8Array);
    }
    for (const { key, value } of beside) void shapes.put(key, value);
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

function pageBytes(stats: PageStats): number {
  const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = stats;
  return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
}
