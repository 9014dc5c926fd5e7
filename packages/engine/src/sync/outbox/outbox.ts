/**
 * Outbox: sends frames to one session and tracks whether the session keeps up (S22).
 *
 * Frames go to the channel at once, and the channel counts the bytes that the network has not
 * taken. So the outbox holds no frames, and a session that does not read costs bounded memory.
 */

import { encodeMessage, type ServerMessage } from "@bigpeer/protocol";
import type { StreamLimits } from "./stream-limits.ts";

/** The connection of a session, as its outbox sees it. */
export interface OutboxChannel {
  /** Never throws. Keeps the order of the calls. */
  send(bytes: Uint8Array): void;
  /** Bytes passed to `send` that the network has not taken yet. */
  readonly queuedBytes: number;
}

/** Totals of all outboxes. */
export interface SentCount {
  frames: number;
  bytes: number;
}

/** Queued transactions whose positions are remembered; older ones get the position of the next. */
const MARKS_MAX = 256;

interface Mark {
  readonly txn: number;
  readonly position: number;
}

/** First pause of a session that falls behind again. */
const FIRST_PAUSE_MS = 500;

export class Outbox {
  readonly #channel: OutboxChannel;
  readonly #limits: StreamLimits;
  readonly #sent: SentCount;
  /** How often it fell behind without keeping up for long in between, and when it did last. */
  #falls = 0;
  #fellMs = 0;
  #pausedUntilMs = 0;
  /** Bytes sent so far. */
  #position = 0;
  /** End positions of transactions, while the queue is not empty. */
  #marks: Mark[] | undefined;

  constructor(channel: OutboxChannel, limits: StreamLimits, sent: SentCount) {
    this.#channel = channel;
    this.#limits = limits;
    this.#sent = sent;
  }

  get queuedBytes(): number {
    return this.#channel.queuedBytes;
  }

  /** Whether the next piece of a download may be sent. */
  get hasRoom(): boolean {
    return this.#channel.queuedBytes < this.#limits.roomBytes;
  }

  /** Whether this many more bytes stay within the limit of the queue. */
  fits(bytes: number): boolean {
    return this.#channel.queuedBytes + bytes <= this.#limits.queueBytes;
  }

  send(bytes: Uint8Array): void {
    this.#sent.frames++;
    this.#sent.bytes += bytes.length;
    this.#position += bytes.length;
    this.#channel.send(bytes);
  }

  say(message: ServerMessage): void {
    this.send(encodeMessage(message));
  }

  /** End position of the last frame. */
  get position(): number {
    return this.#position;
  }

  /** Everything up to a transaction has been sent. */
  mark(txn: number): void {
    if (this.#channel.queuedBytes === 0) {
      this.#marks = undefined;
      return;
    }
    this.#marks ??= [];
    this.#marks.push({ txn, position: this.#position });
    if (this.#marks.length > MARKS_MAX) this.#marks.shift();
  }

  /** End position of a transaction, at the latest; 0 if the network took it long ago. */
  positionOf(txn: number): number {
    return this.#marks?.find((mark) => mark.txn >= txn)?.position ?? 0;
  }

  /**
   * Whether the network has taken everything up to a position. Other messages share the queue and
   * have no positions. So the answer may come too late, never too early.
   */
  isTaken(position: number): boolean {
    const { queuedBytes } = this.#channel;
    return queuedBytes === 0 || position <= this.#position - queuedBytes;
  }

  /** The queue was full: from the second time on the session pauses, each time twice as long. */
  fall(nowMs: number): void {
    const { pauseMs, forgivenMs } = this.#limits;
    if (nowMs - this.#fellMs > forgivenMs + this.#pauseMs()) this.#falls = 0;
    this.#falls++;
    this.#fellMs = nowMs;
    this.#pausedUntilMs = nowMs + Math.min(pauseMs, this.#pauseMs());
  }

  /** Whether streams that are behind may continue: the queue is empty and the pause is over. */
  isReadyAt(nowMs: number): boolean {
    return this.#channel.queuedBytes === 0 && nowMs >= this.#pausedUntilMs;
  }

  #pauseMs(): number {
    return this.#falls < 2 ? 0 : FIRST_PAUSE_MS * 2 ** Math.min(this.#falls - 2, 16);
  }
}
