/**
 * Budget: time and memory quota of one statement; exceeding it stops the statement.
 *
 * Every loop whose length comes from outside calls `step`. Everything that grows calls `take`, or
 * `borrow` for memory that is garbage after its row. Reading the clock costs more than a step, so
 * the budget reads it once per many steps. It takes memory of the shared pool in pieces; small
 * statements do not touch the pool.
 *
 * The evaluation of one row cannot be paused, so it has a time limit of its own. The evaluator
 * marks where a row begins and where only the statement's limit counts, as for a sort or a large
 * write.
 */

import { PeerError } from "@bigpeer/protocol";
import { ROW_MS_MAX, ROW_STEPS_FREE } from "../../limits.ts";
import type { MemoryPool } from "./memory-pool.ts";

const STEPS_PER_LOOK = 512;

/** Memory that each statement has without the pool, so that many small ones can run at once. */
export const OWN_BYTES: number = 64 * 1024;

/** Least number of bytes taken from the pool at once. */
export const PIECE_BYTES: number = 16 * 1024;

/** Deadlines of a row: no row is being evaluated, or its time begins at the next clock reading. */
const NO_ROW = Infinity;
const NEW_ROW = -Infinity;

export interface BudgetOptions {
  /** Monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
  readonly timeMsMax: number;
  readonly bytesMax: number;
  /** Memory shared by all statements; undefined when it is not limited. */
  readonly pool?: MemoryPool | undefined;
}

/** An unfinished row whose evaluation is suspended. */
export interface HeldRow {
  readonly bytes: number;
  readonly endMs: number;
  /** Steps of the row so far. */
  readonly steps: number;
}

/** Whether an error is a timeout of a budget. */
export function isTimeout(error: unknown): boolean {
  return error instanceof PeerError && error.code === "query.timeout";
}

/** Runs `work`; undefined if it times out. */
export function inTime<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isTimeout(error)) return undefined;
    throw error;
  }
}

export class Budget {
  readonly #elapsed: () => number;
  readonly #timeMsMax: number;
  /** Start of the statement on its clock, in milliseconds. */
  readonly startMs: number;
  readonly #endMs: number;
  #rowEndMs: number = NO_ROW;
  /** Steps of the statement when the row began. */
  #rowStart = 0;
  readonly #bytesMax: number;
  #pool: MemoryPool | undefined;
  /** Bytes taken from the pool. */
  #pooled = 0;
  /** Bytes that may be used before the pool or the limit is checked again. */
  #room: number;
  #bytes = 0;
  #borrowed = 0;
  #steps = 0;
  #work = 0;
  #cancelled: string | undefined;

  constructor({ elapsed, timeMsMax, bytesMax, pool }: BudgetOptions) {
    this.#elapsed = elapsed;
    this.#timeMsMax = timeMsMax;
    this.startMs = elapsed();
    this.#endMs = this.startMs + timeMsMax;
    this.#bytesMax = bytesMax;
    this.#pool = pool;
    this.#room = this.#firstRoom();
  }

  /** Steps so far. */
  get work(): number {
    return this.#work;
  }

  /** Counts steps of work; one step is about as much as looking at one document. */
  step(steps: number = 1): void {
    this.#work += steps;
    this.#steps += steps;
    if (this.#steps >= STEPS_PER_LOOK) this.look();
  }

  /** Throws `query.timeout` when the time is over or the request was cancelled. */
  look(): void {
    this.#steps = 0;
    if (this.#cancelled !== undefined) throw new PeerError("query.timeout", this.#cancelled);
    const now = this.#elapsed();
    if (this.#rowEndMs === NEW_ROW) this.#rowEndMs = now + ROW_MS_MAX;
    if (now < this.#endMs && (now < this.#rowEndMs || this.#isRowShort())) return;
    const what =
      now < this.#endMs
        ? `the evaluation of one row took longer than ${ROW_MS_MAX} ms`
        : `the statement took longer than ${this.#timeMsMax} ms`;
    throw new PeerError("query.timeout", `${what} and was stopped`);
  }

  /** Whether the row has done so little work that only a stalled machine explains its time. */
  #isRowShort(): boolean {
    return this.#work - this.#rowStart <= ROW_STEPS_FREE;
  }

  /** Counts memory that stays in use until the statement ends. */
  take(bytes: number): void {
    this.#bytes += bytes;
    this.#checkBytes();
  }

  /** Counts memory that is free again when the current row is done. */
  borrow(bytes: number): void {
    this.#borrowed += bytes;
    this.#checkBytes();
  }

  /** Starts the next row; memory borrowed by the row before is free. */
  startRow(): void {
    this.#borrowed = 0;
    this.startPiece();
  }

  /**
   * Starts something else that is evaluated without pauses and has the time limit of a row. It does
   * not read the clock: the time begins at the next reading.
   */
  startPiece(): void {
    this.#rowEndMs = NEW_ROW;
    this.#rowStart = this.#work;
  }

  /** Ends the current row: only the time limit of the whole statement counts. */
  endPiece(): void {
    this.#rowEndMs = NO_ROW;
  }

  /** Bytes in use, without borrowed ones. */
  get taken(): number {
    return this.#bytes;
  }

  /** Returns memory that `take` counted. */
  give(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Suspends the current row while rows of another kind are evaluated. Its borrowed memory stays
   * counted. Returns the argument of `resume`.
   */
  hold(): HeldRow {
    const steps = this.#work - this.#rowStart;
    const held = { bytes: this.#borrowed, endMs: this.#rowEndMs, steps };
    this.#bytes += held.bytes;
    this.#borrowed = 0;
    this.#rowEndMs = NO_ROW;
    return held;
  }

  /** Continues a suspended row with the rest of its time. */
  resume({ bytes, endMs, steps }: HeldRow): void {
    this.#bytes -= bytes;
    this.#borrowed = bytes;
    this.#rowEndMs = endMs;
    this.#rowStart = this.#work - steps;
  }

  #checkBytes(): void {
    const bytes = this.#bytes + this.#borrowed;
    if (bytes <= this.#room) return;
    this.#grow(bytes);
  }

  /** Raises the allowance to so many bytes, or throws. */
  #grow(bytes: number): void {
    if (bytes > this.#bytesMax) {
      const message = `the statement needs more than ${this.#bytesMax} bytes of memory; narrow it with WHERE or LIMIT`;
      throw new PeerError("query.too_large", message);
    }
    const more = Math.ceil((bytes - this.#room) / PIECE_BYTES) * PIECE_BYTES;
    this.#pool?.take(more);
    this.#pooled += more;
    this.#room = Math.min(this.#room + more, this.#bytesMax);
  }

  /** Frees all memory, so that the statement can start again. Its time continues. */
  release(): void {
    this.#bytes = 0;
    this.#borrowed = 0;
    this.#rowEndMs = NO_ROW;
    if (this.#pooled === 0) return;
    this.#pool?.give(this.#pooled);
    this.#pooled = 0;
    this.#room = this.#firstRoom();
  }

  /** Frees all memory for good at the end of the statement. Idempotent. */
  end(): void {
    this.release();
    // Late callers may still count; the pool would never get back what they take.
    this.#pool = undefined;
    this.#room = this.#bytesMax;
  }

  #firstRoom(): number {
    return this.#pool === undefined ? this.#bytesMax : Math.min(OWN_BYTES, this.#bytesMax);
  }

  cancel(reason: string): void {
    this.#cancelled ??= reason;
  }
}
