/**
 * IndexedKeyValue: the KeyValue of a browser, on IndexedDB.
 *
 * The keys of the whole store are in memory, and the values encoded until they are read. IndexedDB
 * holds the same as pages and a log: a commit is one record of the log, and a checkpoint moves many
 * of them into pages. Reads never touch IndexedDB.
 *
 * One IndexedKeyValue at a time may have a database open: the caller holds a lock.
 */

import type { KeyValue, Snapshot, Writes } from "@bigpeer/engine";
import { assert, PeerError } from "@bigpeer/protocol";
import { Checkpoint } from "./checkpoint.ts";
import { CommitLog } from "./commit-log.ts";
import { type ConnectionEnd, type Durability, IndexedConnection } from "./indexed-connection.ts";
import { isTransient, openDatabase } from "./indexed-database.ts";
import type { IndexedDatabase, IndexedDb } from "./indexed-db.ts";
import { closedError, IndexedSnapshot } from "./indexed-snapshot.ts";
import { encodeCommit } from "./log-record.ts";
import type { PageTable } from "./page-table.ts";
import { type RecoveredStore, recoverStore } from "./recovery.ts";
import { assertKey, DECODED_SIZE_MAX, DecodedValues } from "./stored-value.ts";

export interface IndexedStorageOptions {
  /** The name of the database. */
  readonly name: string;
  /** The IndexedDB of the browser; undefined where there is none. */
  readonly db: IndexedDb | undefined;
  /** The identity of the database if it is new: random text. */
  readonly id: string;
  /**
   * Called once if the database is deleted or taken over while it is open. Commits are then refused
   * with `store.closed`; reads go on until close().
   */
  readonly onEnd?: (end: ConnectionEnd) => void;
  /** Waits for milliseconds; a simulation has a clock of its own. */
  readonly wait?: (ms: number) => Promise<void>;
  /** When a checkpoint begins, and the size of its transactions; for tests. */
  readonly checkpoint?: CheckpointPolicy;
}

export interface CheckpointPolicy {
  /** Bytes and number of log records that start a checkpoint. */
  readonly size: number;
  readonly count: number;
  readonly batchSize?: number;
}

export type OpenedStorage =
  | { readonly kind: "opened"; readonly storage: IndexedKeyValue }
  /** The browser has no IndexedDB for this page, or failed to open it. Nothing was read. */
  | { readonly kind: "unavailable"; readonly cause: unknown };

const CHECKPOINT_SIZE_MIN: number = 4 * 1024 * 1024;
const CHECKPOINT_SIZE_MAX: number = 16 * 1024 * 1024;
const CHECKPOINT_COUNT = 4096;
const BATCH_SIZE: number = 4 * 1024 * 1024;

/**
 * A log of at least this size is moved into pages when no commit came for a while, because opening
 * reads pages several times faster. Not if its changes are so scattered that this would write more
 * than a multiple of the log.
 */
const IDLE_MS = 1_000;
const IDLE_SIZE_MIN: number = 256 * 1024;
const IDLE_WRITES_MAX = 8;

/** Openings until IndexedDB counts as unavailable, and the wait between them. */
const OPEN_ATTEMPTS = 3;
const OPEN_WAIT_MS = 100;

/** Throws `store.format_newer`, `store.foreign` or `store.corrupt`; then nothing was changed. */
export async function openIndexedKeyValue(options: IndexedStorageOptions): Promise<OpenedStorage> {
  const { db, wait = waitMs } = options;
  if (db === undefined) return { kind: "unavailable", cause: "the browser has no IndexedDB" };
  for (let attempt = 1; ; attempt++) {
    try {
      return { kind: "opened", storage: await openOnce(db, options) };
    } catch (error) {
      const isLast = attempt === OPEN_ATTEMPTS;
      if (error instanceof PeerError && (isLast || !isTransient(error.cause))) throw error;
      if (isLast) return { kind: "unavailable", cause: error };
    }
    await wait(OPEN_WAIT_MS);
  }
}

async function openOnce(db: IndexedDb, options: IndexedStorageOptions): Promise<IndexedKeyValue> {
  const database = await openDatabase(db, options);
  try {
    const recovered = await recoverStore(database, db, options.name);
    return new IndexedKeyValue(database, recovered, { ...options, db });
  } catch (error) {
    database.close();
    throw error;
  }
}

export class IndexedKeyValue implements KeyValue {
  readonly #connection: IndexedConnection;
  readonly #log: CommitLog;
  readonly #checkpoint: Checkpoint;
  readonly #options: IndexedStorageOptions;
  readonly #owner: { isClosed: boolean; decoded: DecodedValues };
  #table: PageTable;
  #commit: Promise<void> | undefined;
  #checkpointing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #isAwaitingIdle = false;
  /** Bytes and records of the log when the last checkpoint failed: it is tried again well after. */
  #failedAt = { size: 0, count: 0 };

  constructor(
    database: IndexedDatabase,
    recovered: RecoveredStore,
    options: IndexedStorageOptions & { readonly db: IndexedDb },
  ) {
    const { table, sequence, pages, meta, logSize, logCount } = recovered;
    const { onEnd = () => {}, wait = waitMs } = options;
    this.#options = options;
    this.#table = table;
    this.#owner = { isClosed: false, decoded: new DecodedValues(DECODED_SIZE_MAX) };
    this.#connection = new IndexedConnection(database, { ...options, id: meta.id, onEnd, wait });
    this.#log = new CommitLog(this.#connection, { sequence, table }, logSize, logCount);
    const { batchSize = BATCH_SIZE } = options.checkpoint ?? {};
    this.#checkpoint = new Checkpoint(this.#connection, pages, { id: meta.id, batchSize });
    void this.#checkpointWhenIdle();
  }

  snapshot(): Snapshot {
    if (this.#owner.isClosed) throw closedError("storage");
    return new IndexedSnapshot(this.#owner, this.#table);
  }

  /**
   * `strict` (default) resolves when the commit and all before it are durable. `relaxed` resolves at
   * once: the commit is visible, and a crash may lose it, with all after it.
   */
  async commit(
    writes: Writes,
    { durability = "strict" }: { readonly durability?: Durability } = {},
  ): Promise<void> {
    assert(this.#commit === undefined, "one commit at a time");
    if (this.#owner.isClosed) throw closedError("storage");
    for (const key of writes.keys()) assertKey(key);
    this.#commit = this.#write(writes, durability);
    try {
      await this.#commit;
    } finally {
      this.#commit = undefined;
    }
    this.#checkpointIfDue();
    void this.#checkpointWhenIdle();
  }

  /** Makes all commits durable, the relaxed ones included. */
  async flush(): Promise<void> {
    await this.#commit?.catch(() => {});
    await this.#log.flush();
  }

  close(): Promise<void> {
    this.#owner.isClosed = true;
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.#commit?.catch(() => {});
    await this.#checkpointing;
    // What cannot be written now is a suffix of relaxed commits, which may be lost.
    await this.#log.flush().catch(() => {});
    this.#connection.close();
  }

  async #write(writes: Writes, durability: Durability): Promise<void> {
    // Nothing is visible before the caller has continued.
    await Promise.resolve();
    const { decoded } = this.#owner;
    const commit = encodeCommit(writes, this.#log.nextSequence, (stored, value) =>
      decoded.keep(stored, value),
    );
    if (commit.records.length === 0) return durability === "strict" ? this.#log.flush() : undefined;
    const entry = { commit, table: this.#table.with(commit.changes) };
    if (durability === "relaxed" && this.#log.hasRoom) this.#log.enqueue(entry);
    else await this.#log.append(entry, durability);
    this.#table = entry.table;
  }

  #checkpointIfDue(): void {
    const { size, count } = this.#options.checkpoint ?? this.#usualPolicy();
    const { size: failedSize, count: failedCount } = this.#failedAt;
    if (this.#log.size - failedSize < size && this.#log.count - failedCount < count) return;
    this.#beginCheckpoint();
  }

  async #checkpointWhenIdle(): Promise<void> {
    if (this.#isAwaitingIdle || this.#log.sizeSoon < IDLE_SIZE_MIN) return;
    const { wait = waitMs } = this.#options;
    this.#isAwaitingIdle = true;
    let sequence: number;
    do {
      sequence = this.#log.nextSequence;
      await wait(IDLE_MS);
    } while (sequence !== this.#log.nextSequence && !this.#owner.isClosed);
    this.#isAwaitingIdle = false;
    const { written, size } = this.#log;
    const isWorthIt = this.#checkpoint.sizeOf(written) <= size * IDLE_WRITES_MAX;
    if (size >= IDLE_SIZE_MIN && size > this.#failedAt.size && isWorthIt) this.#beginCheckpoint();
  }

  #beginCheckpoint(): void {
    if (this.#checkpointing !== undefined || this.#owner.isClosed) return;
    this.#checkpointing = this.#runCheckpoint().finally(() => {
      this.#checkpointing = undefined;
    });
  }

  /** A larger store has more pages to write, so its checkpoints are rarer. */
  #usualPolicy(): CheckpointPolicy {
    const total = this.#table.pages.reduce((sum, page) => sum + page.size, 0);
    const size = Math.min(Math.max(total / 4, CHECKPOINT_SIZE_MIN), CHECKPOINT_SIZE_MAX);
    return { size, count: CHECKPOINT_COUNT };
  }

  async #runCheckpoint(): Promise<void> {
    const { written, size, count } = this.#log;
    try {
      await this.#checkpoint.run(written);
      this.#log.trimmed(written.sequence, size, count);
      this.#failedAt = { size: 0, count: 0 };
    } catch {
      // All commits are in the log still. The next ones report what is wrong, if it lasts.
      this.#failedAt = { size: this.#log.size, count: this.#log.count };
    }
  }
}

function waitMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
