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
    this.#session.send(bytes);
  }

  say(message: ServerMessage): void {
    this.send(encodeMessage(message));
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
