/**
 * LmdbTree: the B+tree of a storage: an LMDB environment in a folder with data.mdb and lock.mdb,
 * with the table of shapes. It reads one state at a time, and writes encoded records in commits,
 * one after the other.
 *
 * Durable before visible: overlappingSync is off, so a commit is LMDB's own: write the pages,
 * fdatasync, write the meta page through a descriptor opened with O_DSYNC, and only then does
 * another reader see it. The promise of lmdb's `batch` resolves after that. All of it runs on a
 * thread of Node's pool: transactionSync has the same throughput (330 against 300 commits of 192
 * keys a second) but blocks the event loop for each commit, 3 ms there and more on slower disks. A
 * commit of many entries goes to a worker thread: lmdb would take all of them at once, at some
 * microseconds each (large-commit.ts).
 *
 * This file does not keep a second process from writing: one process at a time may open a folder
 * without `readOnly`.
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
import type { Key } from "@bigpeer/engine";
import { assert, PeerError } from "@bigpeer/protocol";
import { errorNumber, hasRoom, isFullError, makeFolder, placeCopy, syncFolder } from "../disk.ts";
import { NODE_CLOCK, type SliceClock } from "../slices.ts";
import type { ChecksummedRecords } from "./checksummed-piece.ts";
import { ENTRIES_AT_ONCE } from "./commit-encoder.ts";
import { type EncodedWrite, encodedAs } from "./encoded-write.ts";
import type { EndReason } from "./held-snapshot.ts";
import {
  type Environment,
  foreignError,
  openDatabases,
  type PageStats,
  statsOf,
  storedShapes,
} from "./lmdb-environment.ts";
import { checkLmdbFile, DATA_FILE } from "./lmdb-file.ts";
import { LmdbView } from "./lmdb-view.ts";
import type { PageEstimate } from "./page-estimate.ts";
import { RecordCheck } from "./record-check.ts";
import { RecordReader } from "./record-reader.ts";
import { markRecord, type ShapeRecord, shapeRecords } from "./shape-records.ts";
import { ShapeTable } from "./shape-table.ts";
import type { TreeView } from "./tree-view.ts";
import { ValueDecoder } from "./value-decoder.ts";

export interface TreeOptions {
  /** To read, or copy, beside a running server. Then nothing can be written. */
  readonly readOnly?: boolean;
  /** How large the file may grow before it is mapped again. */
  readonly mapSize?: number;
  /** Clock of the time slices of long work. */
  readonly clock?: SliceClock;
}

/** Called before the views of the tree end, because its environment is closed. */
export type OnEnd = (reason: EndReason) => void;

/** One commit. */
export interface TreeCommit {
  /** The list is emptied. */
  readonly values: EncodedWrite[];
  /** Records of the tree of shapes. */
  readonly beside: readonly ShapeRecord[];
  /** More values than this go to the worker thread. */
  readonly atOnceMax?: number;
  /** Whether the space in the file was reserved before, with `reserve`. */
  readonly isReserved?: boolean;
}

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

export class LmdbTree {
  readonly folder: string;
  readonly readOnly: boolean;
  readonly clock: SliceClock;
  readonly shapes: ShapeTable = new ShapeTable();
  readonly #mapSize: number;
  readonly #onEnd: OnEnd;
  readonly #check: RecordCheck = new RecordCheck(false);
  readonly reader: RecordReader = new RecordReader(
    new ValueDecoder(() => this.#allShapes()),
    this.#check,
  );
  /** Whether the pass that adds checksums met an unreadable record. */
  #hasUnreadable = false;
  /** Whether the storage itself records that every record has a checksum. */
  #isMarked = false;
  /** Undefined after a fatal error, until the next use, and after close(). */
  #environment: Environment | undefined;
  /** Set while an environment is being closed. */
  #isEnding = false;
  /** Whether LMDB writes to the file. */
  #isWriting = false;
  #isClosed = false;

  /**
   * Throws PeerError `store.foreign`, `store.corrupt` or `store.in_use`; `store.full` or
   * `store.write_failed` when the files cannot be created or opened.
   */
  constructor(folder: string, options: TreeOptions, onEnd: OnEnd) {
    this.readOnly = options.readOnly ?? false;
    this.#mapSize = options.mapSize ?? MAP_SIZE;
    this.clock = options.clock ?? NODE_CLOCK;
    this.#onEnd = onEnd;
    if (!this.readOnly) makeFolder(folder);
    this.folder = realFolder(folder);
    if (!this.readOnly && writtenFolders.has(this.folder)) {
      throw new PeerError("store.in_use", `expected a free folder, found ${folder} open already`);
    }
    this.#environment = this.#openEnvironment();
    if (!this.readOnly) writtenFolders.add(this.folder);
  }

  get pageSize(): number {
    const { root, values } = this.#use();
    return statsOf(root, values).pageSize;
  }

  /** The newest state, with one reference, which the caller gives back. */
  view(): TreeView {
    return new LmdbView(this.#use(), this.reader);
  }

  /** Adds shapes that commits have brought which this process did not make. */
  loadShapes(): void {
    this.shapes.load(storedShapes(this.#use(), this.shapes.shapes.length).shapes);
  }

  /** Whether the file has space for commits that are written later, in this order. */
  isReserved(commits: readonly PageEstimate[]): boolean {
    return this.#use().room?.hasFor(commits) ?? true;
  }

  /** Reserves that space, also while a commit is under way. Rejects with `store.full`. */
  async reserve(commits: readonly PageEstimate[]): Promise<void> {
    await this.#use().room?.takeFor(commits, { isWritten: this.#isWriting });
  }

  /**
   * Resolves after the sync. Rejects with `store.full` or `store.write_failed` when nothing was
   * written; then all views have ended, unless only the space was missing. One at a time.
   */
  async write(commit: TreeCommit): Promise<void> {
    assert(!this.readOnly, "a commit only where the storage is open for writing");
    const environment = this.#use();
    const isMarked = this.#check.isStrict;
    const beside = isMarked && !this.#isMarked ? [...commit.beside, markRecord()] : commit.beside;
    await this.#commit(environment, { ...commit, beside });
    this.#isMarked = isMarked;
  }

  /**
   * Adds checksums to records that were written without, from the key `from` on, in one small
   * commit. Returns the key to continue at, and undefined at the end. Then, if every record was
   * readable, a record without a checksum is an error from now on (K71). No commit may be under way.
   */
  async addChecksums(from: Key): Promise<Key | undefined> {
    const environment = this.#use();
    if (this.#check.isStrict) return undefined;
    if (from === FIRST_KEY) this.#hasUnreadable = false;
    const { records, next, hasUnreadable } = this.#withoutChecksum(from);
    this.#hasUnreadable ||= hasUnreadable;
    const isEnd = next === undefined && !this.#hasUnreadable;
    if (records.length === 0 && !isEnd) return next;
    const unsaved = this.shapes.unsaved();
    const { first, shapes } = isEnd ? { first: 0, shapes: this.shapes.shapes } : unsaved;
    const beside = shapeRecords(first, shapes);
    if (isEnd) beside.push(markRecord());
    await this.#commit(environment, { values: records, beside });
    this.shapes.markSaved(unsaved.first + unsaved.shapes.length);
    if (isEnd) {
      this.#isMarked = true;
      this.#check.isStrict = true;
    }
    return next;
  }

  /**
   * Makes a consistent copy, while commits continue, in a folder without a data file; the folder is
   * created when absent. Resolves after the copy is synced; until then it has another name, and
   * `complete` may change it, in the folder where it lies.
   */
  async copyTo(folder: string, complete?: (folder: string) => Promise<void>): Promise<void> {
    const { root } = this.#use();
    await placeCopy(folder, DATA_FILE, async (target) => {
      await root.backup(target, false);
      await complete?.(target);
    });
  }

  /** Bytes in pages that hold data; free pages inside the file are not counted. */
  usedBytes(): number {
    const { root, values, shapes } = this.#use();
    return pageBytes(statsOf(root, values)) + pageBytes(statsOf(root, shapes));
  }

  /** Throws what a use of a closed storage throws. */
  refuse(): never {
    throw new PeerError("store.closed", `expected an open storage, found ${this.folder} closed`);
  }

  /** No commit may be under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#closeEnvironment("store.closed");
    writtenFolders.delete(this.folder);
  }

  #withoutChecksum(from: Key): ChecksummedRecords {
    const view = this.view();
    try {
      return view.withoutChecksum(from);
    } finally {
      view.release();
    }
  }

  #use(): Environment {
    if (this.#isClosed) this.refuse();
    // lmdb finds environments by their path, and would return the one that is being closed.
    if (this.#isEnding) {
      throw new PeerError("store.busy", "the storage is being opened again after a failed write");
    }
    this.#environment ??= this.#openEnvironment();
    return this.#environment;
  }

  #openEnvironment(): Environment {
    const state = checkLmdbFile(join(this.folder, DATA_FILE));
    if (state === "absent" && this.readOnly) throw foreignError(this.folder);
    const environment = openDatabases(this.folder, {
      readOnly: this.readOnly,
      mapSize: this.#mapSize,
      clock: this.clock,
      create: state !== "used",
    });
    if (state !== "used") syncFolder(this.folder);
    this.#learn(environment);
    return environment;
  }

  #learn(environment: Environment): void {
    const isEmpty = statsOf(environment.root, environment.values).entryCount === 0;
    const { isMarked, shapes } = storedShapes(environment, 0);
    // An empty storage will never hold a record without a checksum.
    this.#check.isStrict = isMarked || isEmpty;
    this.#isMarked = isMarked;
    if (this.shapes.shapes.length === 0) this.shapes.load(shapes);
  }

  /** Called by the decoder when it meets an unknown shape. */
  #allShapes(): readonly string[][] {
    const { shapes } = this.shapes;
    // Only a read-only storage, beside a writing process, can have shapes that this table lacks.
    if (this.readOnly) this.loadShapes();
    return shapes;
  }

  async #commit(environment: Environment, commit: TreeCommit): Promise<void> {
    this.#isWriting = true;
    try {
      if (commit.isReserved !== true) {
        // No promise if there is space, so that the commit starts before any other work.
        const growth = environment.room?.take(commit.values);
        if (growth !== undefined) await growth;
      }
      await writeAll(environment, commit);
      environment.room?.forget({ isReserved: commit.isReserved === true });
    } catch (error) {
      throw error instanceof PeerError ? error : await this.#afterFailure(error);
    } finally {
      this.#isWriting = false;
    }
  }

  /** Makes the tree usable again, and returns the error that the commit rejects with. */
  async #afterFailure(failure: unknown): Promise<PeerError> {
    const cause = await commitErrorOf(failure);
    await this.#closeEnvironment("store.snapshot_expired");
    const number = errorNumber(cause);
    const isShortWrite = number === constants.errno.EIO && !hasRoom(this.folder, DATA_FILE);
    return isFullError(cause) || number === MAP_FULL || isShortWrite
      ? new PeerError(
          "store.full",
          "disk full: the write was not committed; free space and retry",
          { cause },
        )
      : new PeerError("store.write_failed", "failed to commit a write", { cause });
  }

  async #closeEnvironment(reason: EndReason): Promise<void> {
    this.#onEnd(reason);
    const environment = this.#environment;
    this.#environment = undefined;
    this.#isEnding = true;
    try {
      await environment?.room?.close();
      await environment?.large.close();
      await environment?.root.close();
    } finally {
      this.#isEnding = false;
    }
  }
}

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (cause) {
    throw foreignError(folder, cause);
  }
}

function writeAll(environment: Environment, commit: TreeCommit): Promise<unknown> {
  const { values, beside, atOnceMax = ENTRIES_AT_ONCE } = commit;
  if (values.length <= atOnceMax) return queueWrites(environment, values, beside);
  const shapes = beside.map(({ key, value }) => encodedAs(key, value));
  return environment.large.write({ values, shapes });
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
