/**
 * Downloads: the scheduler of all streams that are not live. It sends their next pieces in turns.
 *
 * Each piece is a short read of its own, and only for sessions with room in their queue. A stream
 * that lacks little joins the next round. A stream whose sent ranges become too old catches up
 * before it reads on, so that the change log always reaches back to it.
 */

import { SLICE_MS } from "../../limits.ts";
import type { StreamChanges } from "../change/matching.ts";
import type { OutgoingChanges } from "../change/outgoing-changes.ts";
import { isTransient } from "../log/transient-error.ts";
import { FrameSet } from "../outbox/frame.ts";
import { exhaustion } from "../outbox/rate-limiter.ts";
import type { ServedSession, Stream } from "../stream/stream.ts";
import type { StreamHost } from "../stream/stream-host.ts";
import { emptyPiece, readPiece } from "./back-fill.ts";
import { readCatchUp } from "./catch-up.ts";
import { readWanted } from "./comparison.ts";

export class Downloads {
  readonly #host: StreamHost;
  /** Streams with a piece to read or requested documents to send. */
  readonly #ready = new Set<Stream>();
  /** Streams that lack many transactions. */
  readonly #catching = new Set<Stream>();
  #isGoing = false;
  #isClosed = false;

  constructor(host: StreamHost) {
    this.#host = host;
  }

  /** Queues a stream according to its phase, at the end. */
  place(stream: Stream): void {
    const { session } = stream;
    this.#ready.delete(stream);
    this.#catching.delete(stream);
    session.unblock(stream);
    const queue = this.#queueOf(stream);
    if (queue === undefined) return;
    if (!session.outbox.hasRoom) {
      session.block(stream);
      this.#host.wait(session);
      return;
    }
    queue.add(stream);
    this.wake();
  }

  /** Requests come first: the peer waits for them. */
  #queueOf({ phase, hasWants }: Stream): Set<Stream> | undefined {
    if (phase === "live" || phase === "over") return undefined;
    if (phase === "scan" || hasWants) return this.#ready;
    return phase === "catch" ? this.#catching : undefined;
  }

  /** The session reads again. */
  unblock(session: ServedSession): void {
    if (session.blocked === undefined || !session.outbox.hasRoom) return;
    for (const stream of Array.from(session.blocked)) this.place(stream);
  }

  wake(): void {
    if (this.#isGoing || this.#isClosed || !this.#hasWork) return;
    this.#isGoing = true;
    void this.#go();
  }

  close(): void {
    this.#isClosed = true;
  }

  get #hasWork(): boolean {
    return this.#ready.size > 0 || this.#catching.size > 0;
  }

  async #go(): Promise<void> {
    while (!this.#isClosed && this.#hasWork) {
      await this.#host.pause();
      if (this.#catching.size > 0) await this.#catchUp();
      const endMs = this.#host.elapsed() + SLICE_MS;
      for (const stream of this.#ready) {
        if (this.#isClosed) break;
        await this.#piece(stream);
        if (this.#host.elapsed() >= endMs) break;
      }
    }
    this.#isGoing = false;
  }

  async #piece(stream: Stream): Promise<void> {
    this.#ready.delete(stream);
    // Another stream of the session may have filled the queue meanwhile.
    if (!stream.session.outbox.hasRoom) return this.place(stream);
    try {
      if (stream.hasWants) await this.#answer(stream);
      else await this.#scan(stream);
    } catch (error) {
      this.#failed(stream, error);
    }
  }

  /** After a transient error the stream tries again. */
  #failed(stream: Stream, error: unknown): void {
    if (isTransient(error)) this.#host.place(stream);
    else this.#host.fail(stream, error);
  }

  async #scan(stream: Stream): Promise<void> {
    const { scan, session } = stream;
    if (scan === undefined) return this.#host.advance(stream);
    const piece = await this.#host.read((snapshot) =>
      readPiece(scan, stream, snapshot, this.#host),
    );
    if (stream.isOver || stream.scan !== scan) return;
    const { frame } = piece;
    // First of all, because a peer in this process may answer before `send` returns.
    stream.pieceSent(piece);
    if (frame !== undefined) {
      session.outbox.send(frame);
      stream.framesQueued();
    }
    if (!stream.isOver) this.#host.advance(stream);
  }

  /** Sends requested documents. The stream is not live, so each frame counts by itself. */
  async #answer(stream: Stream): Promise<void> {
    const { group, session, settledCount } = stream;
    const { entries, count } = await this.#host.read((snapshot) =>
      readWanted(stream, snapshot, this.#host),
    );
    if (stream.isOver) return;
    // It was live meanwhile: a round answers or has answered, and this read is older.
    if (stream.settledCount !== settledCount) return this.#host.place(stream);
    stream.answered(count);
    this.#host.made.encoded++;
    session.outbox.say({ t: "documents", filter: group.filter, entries });
    stream.framesQueued();
    if (stream.isOver) return;
    if (stream.phase === "answer") this.#host.advance(stream);
    else this.#host.place(stream);
  }

  async #catchUp(): Promise<void> {
    const streams = [...this.#catching];
    this.#catching.clear();
    try {
      const changes = await this.#host.read((snapshot) =>
        readCatchUp(snapshot, streams, this.#host),
      );
      for (const [group, error] of changes.failed) {
        for (const stream of Array.from(group.streams)) this.#host.fail(stream, error);
      }
      for (const stream of changes.exhausted) this.#host.fail(stream, exhaustion());
      for (const stream of changes.lost) this.#restart(stream);
      for (const each of changes.streams) this.#send(each, changes.txn);
    } catch (error) {
      for (const stream of streams) this.#failed(stream, error);
    }
  }

  #restart(stream: Stream): void {
    if (stream.phase !== "catch") return;
    stream.restart();
    this.#host.place(stream);
  }

  #send({ stream, outgoing, cut }: StreamChanges, txn: number): void {
    const { session, group } = stream;
    if (stream.phase !== "catch") return;
    if (!session.outbox.hasRoom) return this.place(stream);
    this.#closeRange(stream, outgoing);
    const { limits, made } = this.#host;
    const options = { frameBytes: limits.frameBytes, count: made };
    for (const frame of new FrameSet(group.filter, outgoing.entries, options).plain()) {
      session.outbox.send(frame);
    }
    stream.framesQueued();
    if (stream.isOver) return;
    stream.changesSent(txn, cut);
    if (cut === undefined) this.#host.advance(stream);
    else this.#host.place(stream);
  }

  /**
   * Ends the open range before a change in it is sent. Otherwise the next range, which also covers
   * the ids already read, would make the peer release the changed document.
   */
  #closeRange(stream: Stream, outgoing: OutgoingChanges): void {
    const { scan, group, session } = stream;
    const key = scan && outgoing.lastIn(scan.sentThrough, scan.through);
    if (scan === undefined || key === undefined) return;
    this.#host.made.encoded++;
    session.outbox.send(emptyPiece(scan, group, key));
    stream.rangeSent(key);
  }
}
