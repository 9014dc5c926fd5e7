/**
 * Downloads: the scheduler of all streams that are not live. It sends their next pieces in turns.
 *
 * Each piece is a short read of its own, and only for sessions with room in their queue. A stream
 * that lacks little joins the next round. A stream whose sent ranges become too old catches up
 * before it reads on, so that the change log always reaches back to it.
 */

import { SLICE_MS } from "../../limits.ts";
import type { Steps } from "../../query/frame/steps.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { OutgoingChanges, StreamChanges } from "../change/matching.ts";
import { FrameSet } from "../stream/frame.ts";
import { exhaustion } from "../stream/rate-limiter.ts";
import { Scan } from "../stream/scan.ts";
import { FIRST_KEY } from "../stream/sent-ranges.ts";
import type { Stream } from "../stream/stream.ts";
import type { StreamHost } from "../stream/stream-host.ts";
import type { StreamingSession } from "../stream/streaming-session.ts";
import { isTransient } from "../stream/transient-error.ts";
import { emptyPiece, readPiece } from "./back-fill.ts";
import { readCatchUp } from "./catch-up.ts";
import { readWanted } from "./comparison.ts";

/** What downloads need from the streams. */
export interface StreamDownloadHost {
  /** The last durable transaction. */
  newest(): number;
  elapsed(): number;
  pause(): Promise<void>;
  read<T>(work: (snapshot: StoreSnapshot) => Steps<T>): Promise<T>;
  /** The stream becomes live with the next round. */
  join(stream: Stream): void;
  fail(stream: Stream, error: unknown): void;
  /** The session does not read: its streams wait. */
  wait(session: StreamingSession): void;
}

export class Downloads {
  readonly #host: StreamHost;
  readonly #downloadHost: StreamDownloadHost;
  /** Streams with a piece to read or requested documents to send. */
  readonly #ready = new Set<Stream>();
  /** Streams that lack many transactions. */
  readonly #catching = new Set<Stream>();
  #isGoing = false;
  #isClosed = false;

  constructor(host: StreamHost, downloadHost: StreamDownloadHost) {
    this.#host = host;
    this.#downloadHost = downloadHost;
  }

  /** Queues a stream according to its phase. */
  place(stream: Stream): void {
    this.remove(stream);
    if (stream.isOver) return;
    const { phase, session } = stream;
    if (phase === "join") this.#downloadHost.join(stream);
    const isReady = phase === "scan" || (phase !== "live" && stream.hasWants);
    if (!isReady && phase !== "catch") return;
    if (!session.outbox.hasRoom) {
      session.blocked ??= new Set();
      session.blocked.add(stream);
      this.#downloadHost.wait(session);
      return;
    }
    (isReady ? this.#ready : this.#catching).add(stream);
    this.wake();
  }

  remove(stream: Stream): void {
    this.#ready.delete(stream);
    this.#catching.delete(stream);
    const { session } = stream;
    session.blocked?.delete(stream);
    if (session.blocked?.size === 0) session.blocked = undefined;
  }

  /** The session reads again. */
  unblock(session: StreamingSession): void {
    if (session.blocked === undefined || !session.outbox.hasRoom) return;
    for (const stream of Array.from(session.blocked)) this.place(stream);
  }

  /** Decides the next phase of a stream that is not live. */
  advance(stream: Stream): void {
    const { joinTransactions } = this.#host.limits;
    const isFar = this.#downloadHost.newest() - stream.oldestSent > joinTransactions;
    stream.phase = isFar ? "catch" : nextPhase(stream);
    this.place(stream);
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
      await this.#downloadHost.pause();
      if (this.#catching.size > 0) await this.#catchUp();
      const endMs = this.#downloadHost.elapsed() + SLICE_MS;
      for (const stream of this.#ready) {
        if (this.#isClosed) break;
        await this.#piece(stream);
        if (this.#downloadHost.elapsed() >= endMs) break;
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
      if (isTransient(error)) this.place(stream);
      else this.#downloadHost.fail(stream, error);
    }
  }

  async #scan(stream: Stream): Promise<void> {
    const { scan, group, session } = stream;
    if (scan === undefined) return this.advance(stream);
    scan.sentSince = stream.oldestSent;
    const piece = await this.#downloadHost.read((snapshot) =>
      readPiece(scan, group, snapshot, this.#host),
    );
    if (stream.isOver || stream.scan !== scan) return;
    const { frame, txn, through, sentThrough } = piece;
    stream.sentRanges?.add(through, txn);
    scan.through = through ?? scan.through;
    if (frame !== undefined) scan.sentThrough = sentThrough ?? scan.through;
    if (through === undefined) {
      stream.scan = undefined;
      if (scan.kind === "compare") session.compared(stream.key);
    }
    // A peer in this process may answer before `send` returns.
    if (frame !== undefined) this.#sent(stream, () => session.outbox.send(frame));
    if (!stream.isOver) this.advance(stream);
  }

  /** Sends requested documents. The stream is not live, so each frame counts by itself. */
  async #answer(stream: Stream): Promise<void> {
    const { group, session, settledCount } = stream;
    const { entries, count } = await this.#downloadHost.read((snapshot) =>
      readWanted(stream, snapshot, this.#host),
    );
    if (stream.isOver) return;
    // It was live meanwhile: a round answers or has answered, and this read is older.
    if (stream.settledCount !== settledCount) return this.place(stream);
    stream.answered(count);
    this.#host.made.encoded++;
    const message = { t: "documents", filter: group.filter, entries } as const;
    this.#sent(stream, () => session.outbox.say(message));
    if (stream.isOver) return;
    if (stream.phase === "answer") this.advance(stream);
    else this.place(stream);
  }

  async #catchUp(): Promise<void> {
    const streams = [...this.#catching];
    this.#catching.clear();
    try {
      const changes = await this.#downloadHost.read((snapshot) =>
        readCatchUp(snapshot, streams, this.#host),
      );
      for (const [group, error] of changes.failed) {
        for (const stream of Array.from(group.streams)) this.#downloadHost.fail(stream, error);
      }
      for (const stream of changes.exhausted) this.#downloadHost.fail(stream, exhaustion());
      for (const stream of changes.lost) this.#compare(stream);
      for (const each of changes.streams) this.#send(each, changes.txn);
    } catch (error) {
      for (const stream of streams) {
        if (isTransient(error)) this.place(stream);
        else this.#downloadHost.fail(stream, error);
      }
    }
  }

  #send({ stream, outgoing: changes, cut }: StreamChanges, txn: number): void {
    const { session, group } = stream;
    if (stream.isOver || stream.phase !== "catch") return;
    if (!session.outbox.hasRoom) return this.place(stream);
    this.#closeRange(stream, changes);
    const { limits, made } = this.#host;
    const options = { frameBytes: limits.frameBytes, count: made };
    this.#sent(stream, () => {
      for (const frame of new FrameSet(group.filter, changes.entries, options).plain()) {
        session.outbox.send(frame);
      }
    });
    if (stream.isOver) return;
    stream.sentRanges?.renew(stream.sweep, cut, txn);
    stream.sweep = cut ?? FIRST_KEY;
    if (cut === undefined) this.advance(stream);
    else this.place(stream);
  }

  /** Sends, and records where the frames end in the queue. */
  #sent(stream: Stream, send: () => void): void {
    send();
    stream.sentPosition = stream.session.outbox.position;
  }

  /** The change log no longer has what the stream lacks: it starts a comparison. */
  #compare(stream: Stream): void {
    if (stream.isOver || stream.phase !== "catch") return;
    // A link does not compare (S50).
    stream.startScan(new Scan(stream.group.follower === undefined ? "compare" : "fill"));
    this.place(stream);
  }

  /**
   * Ends the open range before a change in it is sent. Otherwise the next range, which also covers
   * the ids already read, would make the peer release the changed document.
   */
  #closeRange({ scan, group, session }: Stream, changes: OutgoingChanges): void {
    const key = scan && changes.lastIn(scan.sentThrough, scan.through);
    if (scan === undefined || key === undefined) return;
    this.#host.made.encoded++;
    session.outbox.send(emptyPiece(scan, group, key));
    scan.sentThrough = key;
  }
}

function nextPhase(stream: Stream): "scan" | "answer" | "join" {
  if (stream.scan !== undefined) return "scan";
  return stream.isAnswering ? "answer" : "join";
}
