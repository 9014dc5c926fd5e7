/**
 * Intake: how much of what came is read in one pass of the event loop, of all connections together.
 *
 * Node hands out as many as two megabytes of each connection in a pass, and reading them may take a
 * hundred times as long as it took to receive them. So there is a share for it; what comes when that
 * is used up waits, in its order, and nothing more of its connection is received until it was read.
 */

import { LoopShare } from "../loop-share.ts";

/** A connection with messages that wait. */
export interface LateReader {
  /** Reads one of them. Returns whether there are more. */
  readLate(): boolean;
}

const INTAKE_MS = 10;

export class Intake {
  readonly #share: LoopShare;
  /** In the order in which it is their turn. */
  readonly #late = new Set<LateReader>();
  readonly #read = (endMs: number): void => {
    // Who has more goes to the end.
    for (const reader of this.#late) {
      this.#late.delete(reader);
      if (reader.readLate()) this.#late.add(reader);
      if (performance.now() >= endMs) break;
    }
    if (this.#late.size > 0) this.#share.wait(this.#read);
  };

  constructor(intakeMs: number = INTAKE_MS) {
    this.#share = new LoopShare(intakeMs);
  }

  /** Whether a message may be read now: nobody waits, and there is time. */
  isOpen(): boolean {
    return this.#late.size === 0 && this.#share.hasTime();
  }

  /** `reader` has a message that waits, and had none before. */
  wait(reader: LateReader): void {
    this.#late.add(reader);
    if (this.#late.size === 1) this.#share.wait(this.#read);
  }
}
