/**
 * Budget: what one statement may use of time and memory.
 *
 * Every loop whose length comes from outside calls `step`, everything that grows calls `take`, or
 * `borrow` when it is garbage after its row.
 * Looking at the clock costs more than a step, so it is looked at once for many of them. So it is with
 * the memory that all statements share: it is asked for in pieces, and not at all by small statements.
 *
 * The evaluation of one row cannot be paused, so it has a time of its own. Whoever evaluates says
 * where a row begins and where only the statement as a whole counts, as for a sort or a large write.
 */

import { PeerError } from "@bigpeer/protocol";
import { ROW_MS_MAX, ROW_STEPS_FREE } from "../../limits.ts";
import type { MemoryPool } from "./memory-pool.ts";

const STEPS_PER_LOOK = 512;

/** Memory that a statement has without asking the pool: there may be many statements at once. */
export const OWN_BYTES: number = 64 * 1024;

/** What is taken from the pool at once, at least. */
export const PIECE_BYTES: number = 16 * 1024;

/** Ends of the time of a row: there is none, or it begins with the next look at the clock. */
const NO_ROW = Infinity;
const NEW_ROW = -Infinity;

export interface BudgetOptions {
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number;
  readonly timeMsMax: number;
  readonly bytesMax: number;
  /** What all statements together may use; undefined when nobody counts it. */
  readonly pool?: MemoryPool | undefined;
}

/** A row that is not done yet. */
export interface HeldRow {
  readonly bytes: number;
  readonly endMs: number;
  /** Steps that it has taken so far. */
  readonly steps: number;
}

/** Whether a budget has ended the work because of its time. */
export function isTimeout(error: unknown): boolean {
  return error instanceof PeerError && error.code === "query.timeout";
}

/** Undefined for what ran out of time. */
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
  /** When it began, by its clock. */
  readonly startMs: number;
  readonly #endMs: number;
  #rowEndMs: number = NO_ROW;
  /** Steps of the statement when the row began. */
  #rowStart = 0;
  readonly #bytesMax: number;
  #pool: MemoryPool | undefined;
  /** Taken from the pool. */
  #pooled = 0;
  /** Memory that may be used before anybody must be asked. */
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

  /** Counts a piece of work, about as much as looking at one document. */
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

  /** Whether the row has done so little that only a machine that stalls can have taken its time. */
  #isRowShort(): boolean {
    return this.#work - this.#rowStart <= ROW_STEPS_FREE;
  }

  /** Counts memory that stays taken until the statement ends. */
  take(bytes: number): void {
    this.#bytes += bytes;
    this.#checkBytes();
  }

  /** Counts memory that is free again when the row at hand is done. */
  borrow(bytes: number): void {
    this.#borrowed += bytes;
    this.#checkBytes();
  }

  /** The next row is at hand: what the one before borrowed is garbage. */
  startRow(): void {
    this.#borrowed = 0;
    this.startPiece();
  }

  /**
   * Something else begins that is evaluated in one piece, and has the time of a row. It costs no look
   * at the clock: the time begins with the next one that there is.
   */
  startPiece(): void {
    this.#rowEndMs = NEW_ROW;
    this.#rowStart = this.#work;
  }

  /** No row is at hand: only the time of the whole statement counts. */
  endPiece(): void {
    this.#rowEndMs = NO_ROW;
  }

  /** Memory that was taken, without what is borrowed. */
  get taken(): number {
    return this.#bytes;
  }

  /** Memory that was taken and is free again. */
  give(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Rows of another kind are at work before the row at hand is done: what it borrowed stays counted.
   * Answers with what `resume` needs.
   */
  hold(): HeldRow {
    const steps = this.#work - this.#rowStart;
    const held = { bytes: this.#borrowed, endMs: this.#rowEndMs, steps };
    this.#bytes += held.bytes;
    this.#borrowed = 0;
    this.#rowEndMs = NO_ROW;
    return held;
  }

  /** Goes on with the row that was held, and with its time. */
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

  /** Makes room for so many bytes, or refuses them. */
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

  /** What was taken is free again: the statement begins anew. The time goes on. */
  release(): void {
    this.#bytes = 0;
    this.#borrowed = 0;
    this.#rowEndMs = NO_ROW;
    if (this.#pooled === 0) return;
    this.#pool?.give(this.#pooled);
    this.#pooled = 0;
    this.#room = this.#firstRoom();
  }

  /** The statement is over and nothing of it is held any more. May be called again. */
  end(): void {
    this.release();
    // A straggler may still count; what it takes would never be given back.
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
