/**
 * Outbox: what goes to one session, and whether it keeps up (S22).
 *
 * Frames are handed on at once; what the network has not taken is counted there. So nothing is held
 * here, and a session that does not read costs what is bounded there.
 */

import { encodeMessage, type ServerMessage } from "@bigpeer/protocol";
import type { StreamSession } from "./session-streams.ts";
import type { StreamLimits } from "./stream-limits.ts";

/** What all outboxes together have sent. */
export interface SentCount {
  frames: number;
  bytes: number;
}

/** Transactions in a queue whose places are remembered: of more, the oldest count as the next one. */
const MARKS_MAX = 256;

interface Mark {
  readonly txn: number;
  readonly position: number;
}

/** The first pause of a session that fell behind again. */
const FIRST_PAUSE_MS = 500;

export class Outbox {
  readonly #session: StreamSession;
  readonly #limits: StreamLimits;
  readonly #sent: SentCount;
  /** How often it fell behind without keeping up for long between, and when it did last. */
  #falls = 0;
  #fellMs = 0;
  #pausedUntilMs = 0;
  /** Bytes of all that was sent. */
  #position = 0;
  /** Where transactions end, while something is queued. */
  #marks: Mark[] | undefined;

  constructor(session: StreamSession, limits: StreamLimits, sent: SentCount) {
    this.#session = session;
    this.#limits = limits;
    this.#sent = sent;
  }

  get queuedBytes(): number {
    return this.#session.queuedBytes;
  }

  /** Whether the next piece of a download may go. */
  get hasRoom(): boolean {
    return this.#session.queuedBytes < this.#limits.roomBytes;
  }

  /** Whether so much more stays within the bound. */
  fits(bytes: number): boolean {
    return this.#session.queuedBytes + bytes <= this.#limits.queueBytes;
  }

  send(bytes: Uint8Array): void {
    this.#sent.frames++;
    this.#sent.bytes += bytes.length;
    this.#position += bytes.length;
    this.#session.send(bytes);
  }

  say(message: ServerMessage): void {
    this.send(encodeMessage(message));
  }

  /** Where the last that was sent ends. */
  get position(): number {
    return this.#position;
  }

  /** What was sent until now is all up to a transaction. */
  mark(txn: number): void {
    if (this.#session.queuedBytes === 0) {
      this.#marks = undefined;
      return;
    }
    this.#marks ??= [];
    this.#marks.push({ txn, position: this.#position });
    if (this.#marks.length > MARKS_MAX) this.#marks.shift();
  }

  /** Where a transaction ends at the latest; 0 when it was taken long ago. */
  positionOf(txn: number): number {
    return this.#marks?.find((mark) => mark.txn >= txn)?.position ?? 0;
  }

  /**
   * Whether the network has taken all up to a position. Others queue here too, and their bytes are not
   * counted: so it may say too late that something was taken, never too early.
   */
  isTaken(position: number): boolean {
    const { queuedBytes } = this.#session;
    return queuedBytes === 0 || position <= this.#position - queuedBytes;
  }

  /** Its queue was full: the more often, the longer it waits. */
  fall(nowMs: number): void {
    const { pauseMs, forgivenMs } = this.#limits;
    if (nowMs - this.#fellMs > forgivenMs + this.#pauseMs()) this.#falls = 0;
    this.#falls++;
    this.#fellMs = nowMs;
    this.#pausedUntilMs = nowMs + Math.min(pauseMs, this.#pauseMs());
  }

  /** Whether what was behind may go on: all was taken, and the pause is over. */
  isReadyAt(nowMs: number): boolean {
    return this.#session.queuedBytes === 0 && nowMs >= this.#pausedUntilMs;
  }

  #pauseMs(): number {
    return this.#falls < 2 ? 0 : FIRST_PAUSE_MS * 2 ** Math.min(this.#falls - 2, 16);
  }
}
