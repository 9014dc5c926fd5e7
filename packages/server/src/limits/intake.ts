/**
 * Intake: limits how much received input is processed in one pass of the event loop, over all
 * connections of HTTP, sync and links (H52).
 *
 * Node delivers up to two megabytes of each connection in a pass, and processing them may take a
 * hundred times as long as receiving. It accepts one new connection in a pass, so long passes keep
 * newcomers out. Input beyond the time budget waits, and its connection receives nothing more until
 * then. Credentials take turns, and so do addresses without one; the two kinds alternate.
 */

import { LoopShare } from "./loop-share.ts";
import { Rotation } from "./rotation.ts";

/** Connection with input that waits. */
export interface LateReader {
  /** Owner of its turns: its credential, or its address without one. */
  readonly payer: string;
  /** Whether the payer is a credential. */
  readonly isKnown: boolean;
  /** Processes a piece of the input. Returns whether more waits. */
  readLate(): boolean;
}

/** Time per pass for input that is processed as it arrives. */
const INTAKE_MS = 10;

/** Time per pass for input that waits: short, so that new connections are accepted. */
const LATE_MS = 3;

/**
 * Readers in a row, and rows in a pass. Work that they start runs in between, so its time counts.
 */
const ROW_LENGTH = 8;
const ROWS = 16;

export class Intake {
  readonly #lateMs: number;
  readonly #share: LoopShare;
  readonly #known = new Rotation<LateReader>();
  readonly #newcomers = new Rotation<LateReader>();
  #isNewcomersTurn = false;
  /** Remaining rows of this pass. */
  #rowsLeft = 0;
  /** When the time of this pass ends. */
  #endMs = 0;
  #isUsedUp = false;

  constructor(intakeMs: number = INTAKE_MS) {
    this.#lateMs = Math.min(intakeMs, LATE_MS);
    this.#share = new LoopShare(intakeMs);
  }

  /** Whether input may be processed now: none waits, and there is time. */
  isOpen(): boolean {
    return this.#lateCount === 0 && this.#share.hasTime();
  }

  /** Queues `reader`, which was not waiting before. */
  wait(reader: LateReader): void {
    this.#add(reader);
    if (this.#rowsLeft === 0) this.#beginPass();
  }

  /** Resolves when there is time for other work that many may start at once. */
  async turn(owner: string): Promise<void> {
    if (this.isOpen()) return;
    await new Promise<void>((resolve) => {
      const readLate = (): boolean => {
        resolve();
        return false;
      };
      this.wait({ payer: owner, isKnown: true, readLate });
    });
  }

  get #lateCount(): number {
    return this.#known.size + this.#newcomers.size;
  }

  #add(reader: LateReader): void {
    const rotation = reader.isKnown ? this.#known : this.#newcomers;
    rotation.add(reader.payer, reader);
  }

  #beginPass(): void {
    this.#rowsLeft = ROWS;
    this.#isUsedUp = false;
    for (let i = 0; i < ROWS; i++) setImmediate(this.#readRow);
  }

  readonly #readRow = (): void => {
    if (this.#rowsLeft === ROWS) this.#endMs = performance.now() + this.#lateMs;
    for (let i = 0; i < ROW_LENGTH && !this.#isUsedUp; i++) {
      const reader = this.#next();
      if (reader === undefined) break;
      if (reader.readLate()) this.#add(reader);
      this.#isUsedUp = performance.now() >= this.#endMs;
    }
    this.#rowsLeft--;
    if (this.#rowsLeft === 0 && this.#lateCount > 0) this.#beginPass();
  };

  #next(): LateReader | undefined {
    this.#isNewcomersTurn = !this.#isNewcomersTurn;
    return this.#isNewcomersTurn
      ? (this.#newcomers.next() ?? this.#known.next())
      : (this.#known.next() ?? this.#newcomers.next());
  }
}

/** Shared by all listeners: there is one event loop. */
export const INTAKE: Intake = new Intake();
