/**
 * Intake: how much of what came is read in one pass of the event loop, of all connections together,
 * whatever is spoken on them.
 *
 * Node hands out as many as two megabytes of each connection in a pass, and reading them may take a
 * hundred times as long as it took to receive them; and it accepts one new connection in a pass, so
 * long passes keep newcomers out. So there is a share for it. What comes when that is used up waits,
 * and nothing more of its connection is received until it was read. Credentials take turns, and so do
 * addresses without one; between the two kinds it is every other turn.
 */

import { LoopShare } from "./loop-share.ts";
import { Rotation } from "./rotation.ts";

/** A connection with something that waits. */
export interface LateReader {
  /** Whose turn it takes: its credential, or its address while it has none. */
  readonly payer: string;
  /** Whether that is a credential. */
  readonly isKnown: boolean;
  /** Reads a piece of it. Returns whether there are more. */
  readLate(): boolean;
}

/** What is read as it comes. */
const INTAKE_MS = 10;

/** What is read of those that wait: short passes, so that new connections are accepted. */
const LATE_MS = 3;

/**
 * How many are read in a row, and how often in a pass. What they have begun goes on in between, so
 * that the time it takes is seen.
 */
const ROW_LENGTH = 8;
const ROWS = 16;

export class Intake {
  readonly #lateMs: number;
  readonly #share: LoopShare;
  readonly #known = new Rotation<LateReader>();
  readonly #newcomers = new Rotation<LateReader>();
  #isNewcomersTurn = false;
  /** Rows of this pass that are still to come. */
  #rowsLeft = 0;
  /** When the share of this pass is used up. */
  #endMs = 0;
  #isUsedUp = false;

  constructor(intakeMs: number = INTAKE_MS) {
    this.#lateMs = Math.min(intakeMs, LATE_MS);
    this.#share = new LoopShare(intakeMs);
  }

  /** Whether something may be read now: nobody waits, and there is time. */
  isOpen(): boolean {
    return this.#lateCount === 0 && this.#share.hasTime();
  }

  /** `reader` has something that waits, and had nothing before. */
  wait(reader: LateReader): void {
    this.#add(reader);
    if (this.#rowsLeft === 0) this.#beginPass();
  }

  /** Resolves when there is time for something else that many may begin at once. */
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

/** For all listeners: there is one event loop. */
export const INTAKE: Intake = new Intake();
