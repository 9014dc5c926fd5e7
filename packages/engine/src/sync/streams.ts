/**
 * Streams: sends documents and their changes to all sessions of an app. It knows filters, documents
 * and transactions. Of a peer it knows only how to send, and how many bytes are queued.
 *
 * Two loops do the work, in slices between other work. Rounds bring the live streams to the newest
 * durable transaction (round/rounds.ts). Between rounds, downloads send pieces to sessions with
 * room in their queue (download/downloads.ts). A stream that has caught up joins the next round,
 * which makes it live. The stream knows its phase (stream/stream.ts), and here it is placed into
 * the queue of the loop that serves the phase.
 */

import { PeerError, type StreamMode, type SyncCursor, type ValueObject } from "@bigpeer/protocol";
import { locate } from "../query/fault.ts";
import type { Authority } from "../query/permission/authority.ts";
import type { Store } from "../store/store.ts";
import { Downloads } from "./download/downloads.ts";
import { SnapshotReader } from "./log/snapshot-reader.ts";
import { isTransient } from "./log/transient-error.ts";
import { Rounds } from "./round/rounds.ts";
import { Filters, type PreparedStream } from "./stream/filter.ts";
import type { SessionStreams, StreamSession, StreamStats } from "./stream/session-streams.ts";
import { type ServedSession, Stream } from "./stream/stream.ts";
import { type StreamsOptions, streamContext } from "./stream/stream-context.ts";
import type { StreamHost } from "./stream/stream-host.ts";
import { startOf } from "./stream/stream-start.ts";
import { StreamingSession } from "./stream/streaming-session.ts";

export class Streams {
  readonly #store: Store;
  readonly #filters: Filters;
  readonly #host: StreamHost;
  readonly #rounds: Rounds;
  readonly #downloads: Downloads;
  readonly #sessions = new Set<ServedSession>();
  /** Sessions with streams or outcomes that wait until the peer reads. */
  readonly #waiting = new Set<ServedSession>();
  readonly #endCommits: () => void;

  constructor(options: StreamsOptions) {
    const { store, platform } = options;
    const reader = new SnapshotReader(store, platform);
    this.#store = store;
    this.#filters = new Filters(platform);
    this.#host = {
      ...streamContext(options),
      newestTxn: () => store.txnId,
      position: () => this.#rounds.position,
      pause: () => platform.pause(),
      read: (work) => reader.read(work),
      run: (work) => reader.run(work),
      follow: (session, prepared, cursor) => this.#follow(session, prepared, cursor),
      place: (stream) => this.#place(stream),
      advance: (stream) => this.#advance(stream),
      end: (stream) => this.#end(stream),
      fail: (stream, error) => this.#fail(stream, error),
      wait: (session) => this.#waiting.add(session),
      goOn: (session) => this.#goOn(session),
      closed: (session) => this.#closed(session),
    };
    this.#rounds = new Rounds(this.#host);
    this.#downloads = new Downloads(this.#host);
    this.#endCommits = store.onCommit(() => this.#rounds.committed());
  }

  /** Throws a PeerError if the query cannot be subscribed to (S9). */
  prepare(query: string, args: ValueObject, authority: Authority | undefined): PreparedStream {
    return this.#filters.prepare(query, args, authority);
  }

  /** Prepares a query of another Big Peer; `follower` is its history. Throws as `prepare` does. */
  prepareLink(query: string, follower: string): PreparedStream {
    return this.#filters.prepareLink(query, follower);
  }

  open(session: StreamSession): SessionStreams {
    const opened = new StreamingSession(session, this.#host);
    this.#sessions.add(opened);
    return opened;
  }

  /** Must be called about once a second: continues work that waits for time to pass. */
  tick(): void {
    for (const session of Array.from(this.#waiting)) this.#goOn(session);
    this.#rounds.wake();
    this.#downloads.wake();
  }

  stats(): StreamStats {
    const { groups, made, sent } = this.#host;
    const counts = { streams: 0, filling: 0, behind: 0 };
    for (const group of groups.all()) {
      counts.streams += group.streams.size;
      for (const { phase } of group.streams) {
        if (phase === "behind") counts.behind++;
        else if (phase !== "live") counts.filling++;
      }
    }
    let bytesQueued = 0;
    for (const { outbox } of this.#sessions) bytesQueued += outbox.queuedBytes;
    return {
      groups: groups.count,
      ...counts,
      live: groups.liveCount,
      framesEncoded: made.encoded,
      framesSent: sent.frames,
      bytesSent: sent.bytes,
      bytesQueued,
      lagMs: this.#rounds.lagMs,
    };
  }

  close(): void {
    this.#rounds.close();
    this.#endCommits();
    this.#downloads.close();
    for (const session of Array.from(this.#sessions)) session.close();
  }

  // One stream.

  #follow(
    session: ServedSession,
    prepared: PreparedStream,
    cursor: SyncCursor | undefined,
  ): StreamMode {
    const { groups, limits } = this.#host;
    const former = session.streams.get(prepared.filterKey);
    const { mode, progress } = startOf(prepared, cursor, former, {
      historyId: this.#store.identity.historyId,
      txnId: this.#store.txnId,
      logStart: () => this.#logStart(),
      resumeTransactions: limits.resumeTransactions,
    });
    const stream = new Stream(session, groups.of(prepared), progress);
    if (former?.isLive === true) {
      session.outbox.say({ t: "behind", filters: [prepared.filter] });
    }
    // The group of both streams must not become empty in between.
    groups.join(stream);
    if (former !== undefined) this.#end(former);
    session.add(stream);
    this.#advance(stream);
    return mode;
  }

  /** If the log start cannot be read now, a later read finds that a stream is below it. */
  #logStart(): number {
    try {
      return this.#store.read(({ head }) => head.floor);
    } catch (error) {
      if (isTransient(error)) return 0;
      throw error;
    }
  }

  #place(stream: Stream): void {
    this.#rounds.place(stream);
    this.#downloads.place(stream);
  }

  #advance(stream: Stream): void {
    stream.advance(this.#store.txnId, this.#host.limits.joinTransactions);
    this.#place(stream);
  }

  #end(stream: Stream): void {
    if (stream.isOver) return;
    stream.end();
    this.#place(stream);
    this.#host.groups.leave(stream);
    stream.session.remove(stream);
  }

  #fail(stream: Stream, error: unknown): void {
    if (stream.isOver) return;
    this.#end(stream);
    const { statement } = stream.group.prepared;
    stream.session.port.onFailed(stream.key, peerErrorOf(locate(error, statement.text)));
  }

  // One session.

  #goOn(session: ServedSession): void {
    const { outbox } = session;
    const hasOutcomes = session.outcomes.length > 0;
    const hasRoom = outbox.fits(0);
    if (hasOutcomes && hasRoom) this.#rounds.addSession(session);
    if (outbox.isReadyAt(this.#host.elapsed())) {
      for (const stream of session.streams.values()) {
        if (stream.phase === "behind") this.#advance(stream);
      }
    }
    this.#downloads.unblock(session);
    let isWaiting = (hasOutcomes && !hasRoom) || session.blocked !== undefined;
    for (const { phase } of session.streams.values()) isWaiting ||= phase === "behind";
    if (isWaiting) this.#waiting.add(session);
    else this.#waiting.delete(session);
    this.#rounds.wake();
  }

  #closed(session: ServedSession): void {
    this.#sessions.delete(session);
    this.#waiting.delete(session);
    this.#rounds.removeSession(session);
  }
}

function peerErrorOf(error: unknown): PeerError {
  if (error instanceof PeerError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new PeerError("query.store", message, { cause: error });
}
