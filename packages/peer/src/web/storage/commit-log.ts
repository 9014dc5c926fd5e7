/**
 * CommitLog: writes commits to the log of IndexedDB in their order, several relaxed ones in one
 * transaction.
 *
 * A relaxed commit is only queued; it is written soon. A strict one is written at once, together with
 * everything that is queued before it. So after a crash only a suffix of the relaxed commits can be
 * missing. If a queued commit cannot be written, it stays queued, and the next commit meets the same
 * error or writes both.
 */

import type { Durability, IndexedConnection } from "./indexed-connection.ts";
import { STORES } from "./indexed-database.ts";
import type { IndexedTransaction } from "./indexed-db.ts";
import type { EncodedCommit, LogRecord } from "./log-record.ts";
import type { PageTable } from "./page-table.ts";

/** A commit, and the state after it. */
export interface LogEntry {
  readonly commit: EncodedCommit;
  readonly table: PageTable;
}

/** A state whose commits are all in the log or in the pages. */
export interface WrittenState {
  readonly sequence: number;
  readonly table: PageTable;
}

/** Queued bytes up to which a relaxed commit does not wait. */
const QUEUE_SIZE_MAX: number = 4 * 1024 * 1024;

const NO_RECORD: Uint8Array = new Uint8Array(0);

export class CommitLog {
  readonly #connection: IndexedConnection;
  #written: WrittenState;
  #queue: LogEntry[] = [];
  #queueSize = 0;
  /** Bytes and records in `log`. */
  #size: number;
  #count: number;
  /** Why the queue could not be written. */
  #fault: unknown;
  /** Settles after the last write that was asked for. One runs at a time. */
  #tail: Promise<void> = Promise.resolve();
  #isDrainDue = false;
  #isAppendDue = false;
  /** Whether `log` may have records of a write that was reported as failed. */
  #hasRejected = false;
  /** The number of the last record that no strict transaction followed; 0 if there is none. */
  #unsynced = 0;

  constructor(connection: IndexedConnection, written: WrittenState, size: number, count: number) {
    this.#connection = connection;
    this.#written = written;
    this.#size = size;
    this.#count = count;
  }

  get written(): WrittenState {
    return this.#written;
  }

  get size(): number {
    return this.#size;
  }

  /** Bytes that are in the log or wait for it. */
  get sizeSoon(): number {
    return this.#size + this.#queueSize;
  }

  get count(): number {
    return this.#count;
  }

  /** The number of the first record of the next commit. */
  get nextSequence(): number {
    return (this.#queue.at(-1)?.commit.records.at(-1)?.sequence ?? this.#written.sequence) + 1;
  }

  /** Whether a relaxed commit can be queued; otherwise it is appended like a strict one. */
  get hasRoom(): boolean {
    return this.#fault === undefined && this.#queueSize < QUEUE_SIZE_MAX;
  }

  enqueue(entry: LogEntry): void {
    this.#queue.push(entry);
    this.#queueSize += entry.commit.size;
    if (this.#isDrainDue) return;
    this.#isDrainDue = true;
    void this.#inTurn(() => this.#drain());
  }

  /** Resolves when the entry and all before it are written. If it rejects, the entry is not. */
  append(entry: LogEntry, durability: Durability): Promise<void> {
    this.#isAppendDue = true;
    return this.#inTurn(async () => {
      this.#isAppendDue = false;
      try {
        await this.#write([...this.#queue, entry], durability);
      } catch (error) {
        if (this.#queue.length > 0) this.#fault = error;
        throw error;
      }
    });
  }

  /** Makes everything durable that was queued or written. */
  flush(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#queue.length > 0) return this.#write([...this.#queue], "strict");
      if (this.#unsynced === 0 && !this.#hasRejected) return;
      await this.#transact([], "strict");
      this.#unsynced = 0;
    });
  }

  /** A strict transaction has removed the records up to this number. */
  trimmed(sequence: number, size: number, count: number): void {
    this.#size -= size;
    this.#count -= count;
    if (this.#unsynced <= sequence) this.#unsynced = 0;
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const run = this.#tail.then(task);
    this.#tail = run.catch(() => {});
    return run;
  }

  async #drain(): Promise<void> {
    this.#isDrainDue = false;
    // An append that waits writes the queue as well.
    if (this.#queue.length === 0 || this.#fault !== undefined || this.#isAppendDue) return;
    try {
      await this.#write([...this.#queue], "relaxed");
    } catch (error) {
      this.#fault = error;
    }
  }

  /** `entries` begin with the queued ones. */
  async #write(entries: readonly LogEntry[], durability: Durability): Promise<void> {
    const records = entries.flatMap(({ commit }) => commit.records);
    await this.#transact(records, durability);
    this.#fault = undefined;
    const last = entries.at(-1);
    const sequence = records.at(-1)?.sequence ?? this.#written.sequence;
    if (last !== undefined) this.#written = { sequence, table: last.table };
    this.#unsynced = durability === "strict" ? 0 : sequence;
    this.#size += records.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#count += records.length;
    this.#queue.splice(0, entries.length);
    this.#queueSize = this.#queue.reduce((sum, { commit }) => sum + commit.size, 0);
  }

  /** Without records, it only syncs what was written before. */
  async #transact(records: readonly LogRecord[], durability: Durability): Promise<void> {
    const next = this.#written.sequence + 1;
    const isEmpty = records.length === 0;
    const write = (transaction: IndexedTransaction, isRetry: boolean): void => {
      const log = transaction.objectStore(STORES.log);
      // It is removed again. But a transaction without a write syncs nothing.
      if (isEmpty) log.put(NO_RECORD, next);
      if (isEmpty || isRetry || this.#hasRejected) {
        log.delete(this.#connection.keyRanges.lowerBound(next));
      }
      // A record of that number that is already there is by another writer.
      for (const { sequence, bytes } of records) log.add(bytes, sequence);
    };
    try {
      await this.#connection.write([STORES.log], durability, write);
      this.#hasRejected = false;
    } catch (error) {
      this.#hasRejected = true;
      throw error;
    }
  }
}
