/**
 * Streams: sends documents and their changes to all sessions of an app. It knows filters, documents
 * and transactions. Of a peer it knows only how to send, and how many bytes are queued.
 *
 * Two loops do the work, in slices between other work. Rounds bring the live streams to the newest
 * durable transaction. Between rounds, downloads send pieces to sessions with room in their queue.
 * A stream that has caught up joins the next round, which makes it live (see round.ts).
 */

import {
  compareBytes,
  documentId,
  PeerError,
  type StreamMode,
  type SyncCursor,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { locate } from "../query/fault.ts";
import { Budget } from "../query/frame/budget.ts";
import type { Steps } from "../query/frame/steps.ts";
import { LiveRuns } from "../query/live/live-run.ts";
import { MatchIndex } from "../query/live/match-index.ts";
import type { Authority } from "../query/permission/authority.ts";
import { PermissionChecker } from "../query/permission/permission-checker.ts";
import { TimeSlicer } from "../query/run/time-slicer.ts";
import type { Store, StoreSnapshot } from "../store/store.ts";
import { Downloads } from "./download/downloads.ts";
import { WrittenStamps } from "./log/written-stamps.ts";
import { Delivery } from "./round/delivery.ts";
import { readRound } from "./round/round.ts";
import { Filters, type PreparedStream } from "./stream/filter.ts";
import { type Group, Groups } from "./stream/group.ts";
import { Scan } from "./stream/scan.ts";
import type { SessionStreams, StreamSession, StreamStats } from "./stream/session-streams.ts";
import { Stream } from "./stream/stream.ts";
import type { StreamHost } from "./stream/stream-host.ts";
import { STREAM_LIMITS, type StreamLimits } from "./stream/stream-limits.ts";
import { StreamingSession, type StreamingSessionHost } from "./stream/streaming-session.ts";
import { isTransient } from "./stream/transient-error.ts";

export interface StreamsOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  readonly limits?: Partial<StreamLimits>;
}

/** Time and memory for the lookup of the ids that a condition selects. */
const SEARCH = { timeMs: 2000, bytes: 64 * 1024 * 1024, memory: undefined };

/** `go_on`: an interrupted fill continues (S72). */
type FollowMode = StreamMode | "go_on";

/** Memory that permission checks of a session's documents may use. */
const CHECK_BYTES_MAX = 16 * 1024 * 1024;

export class Streams {
  readonly #store: Store;
  readonly #platform: Platform;
  readonly #filters: Filters;
  readonly #host: StreamHost;
  readonly #downloads: Downloads;
  /** One object for all sessions, of which there are many. */
  readonly #streamingHost: StreamingSessionHost = {
    position: () => this.#position,
    follow: (session, prepared, cursor) => this.#follow(session, prepared, cursor),
    end: (stream) => this.#end(stream),
    fail: (stream, error) => this.#fail(stream, error),
    place: (stream) => this.#place(stream),
    goOn: (session) => this.#goOn(session),
    closed: (session) => this.#closed(session),
  };
  readonly #slicer: TimeSlicer;
  readonly #budget: Budget;
  readonly #sessions = new Set<StreamingSession>();
  /** Sessions with streams or outcomes that wait until the peer reads. */
  readonly #waiting = new Set<StreamingSession>();
  readonly #joining = new Set<Stream>();
  /** Live streams with requested documents. */
  readonly #requested = new Set<Stream>();
  readonly #withOutcomes = new Set<StreamingSession>();
  readonly #endCommits: () => void;
  #position: number;
  #noticedMs: number | undefined;
  #lagMs = 0;
  #isRounding = false;
  #isClosed = false;

  constructor({ store, platform, appId, limits = {} }: StreamsOptions) {
    this.#store = store;
    this.#platform = platform;
    this.#filters = new Filters(platform);
    const elapsed = (): number => platform.elapsed();
    this.#slicer = new TimeSlicer(() => platform.pause(), elapsed);
    this.#budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: Infinity });
    this.#host = {
      groups: new Groups(new MatchIndex<Group>(platform, appId)),
      limits: { ...STREAM_LIMITS, ...limits },
      runs: new LiveRuns({ platform, appId, ...SEARCH }),
      stamps: new WrittenStamps(store.identity.site),
      made: { encoded: 0 },
      sent: { frames: 0, bytes: 0 },
      elapsed,
      checkerOf: checkers(platform, appId),
    };
    this.#downloads = new Downloads(this.#host, {
      newest: () => store.txnId,
      elapsed,
      pause: () => platform.pause(),
      read: (work) => this.#read(work),
      join: (stream) => this.#join(stream),
      fail: (stream, error) => this.#fail(stream, error),
      wait: (session) => this.#waiting.add(session),
    });
    this.#position = store.txnId;
    this.#endCommits = store.onCommit(() => {
      if (this.#host.groups.liveCount > 0) this.#noticedMs ??= platform.elapsed();
      this.#wake();
    });
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
    const opened = new StreamingSession(session, this.#streamingHost, this.#host);
    this.#sessions.add(opened);
    return opened;
  }

  /** Must be called about once a second: continues work that waits for time to pass. */
  tick(): void {
    for (const session of Array.from(this.#waiting)) this.#goOn(session);
    this.#wake();
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
      lagMs: this.#lagMs,
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#endCommits();
    this.#downloads.close();
    for (const session of Array.from(this.#sessions)) session.close();
  }

  #follow(
    session: StreamingSession,
    prepared: PreparedStream,
    cursor: SyncCursor | undefined,
  ): StreamMode {
    const former = session.streams.get(prepared.filterKey);
    const mode = this.#modeOf(prepared, cursor, former);
    const stream = new Stream(session, this.#host.groups.of(prepared));
    if (former?.phase === "live") {
      session.outbox.say({ t: "behind", filters: [prepared.filter] });
    }
    this.#host.groups.join(stream);
    if (former !== undefined) this.#end(former);
    session.streams.set(prepared.filterKey, stream);
    const { after = null, txn = 0 } = cursor ?? {};
    if (mode === "resume") {
      stream.markSentUpTo(txn);
      stream.isUncertain = true;
    } else if (mode === "go_on") {
      stream.goOn(new Scan("fill", documentId(after).key), txn);
    } else {
      stream.startScan(new Scan(mode));
    }
    this.#downloads.advance(stream);
    return mode === "go_on" ? "fill" : mode;
  }

  /**
   * Chooses by S12 to S14, and by S72 if the cursor is inside a fill. Two subscriptions with one
   * filter and different positions can only start over (S69).
   */
  #modeOf(
    { filter, link }: PreparedStream,
    cursor: SyncCursor | undefined,
    former: Stream | undefined,
  ): FollowMode {
    const { historyId } = this.#store.identity;
    const { txnId } = this.#store;
    if (cursor === undefined || cursor.history !== historyId || cursor.txn > txnId) return "fill";
    if (link !== undefined) {
      // A link does not compare (S50), and it never removes a document (S51).
      const isSame = former === undefined && compareBytes(cursor.filter, filter) === 0;
      if (!isSame || cursor.txn < this.#logStart()) return "fill";
      return cursor.after === undefined ? "resume" : "go_on";
    }
    if (former !== undefined) return former.scan?.kind === "fill" ? "fill" : "compare";
    if (compareBytes(cursor.filter, filter) !== 0) return "compare";
    const isFar = txnId - cursor.txn > this.#host.limits.resumeTransactions;
    if (isFar || cursor.txn < this.#logStart()) return "compare";
    return cursor.after === undefined ? "resume" : "go_on";
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

  #join(stream: Stream): void {
    this.#joining.add(stream);
    this.#wake();
  }

  /** The peer requested documents of a stream. */
  #place(stream: Stream): void {
    if (stream.phase === "answer") this.#downloads.advance(stream);
    else if (stream.phase !== "live") this.#downloads.place(stream);
    else if (stream.hasWants) {
      this.#requested.add(stream);
      this.#wake();
    }
  }

  #end(stream: Stream): void {
    if (stream.isOver) return;
    const { session } = stream;
    this.#host.groups.leave(stream);
    stream.isOver = true;
    this.#joining.delete(stream);
    this.#requested.delete(stream);
    this.#downloads.remove(stream);
    if (session.streams.get(stream.key) === stream) session.streams.delete(stream.key);
  }

  #fail(stream: Stream, error: unknown): void {
    if (stream.isOver) return;
    this.#end(stream);
    const { statement } = stream.group.prepared;
    stream.session.port.onFailed(stream.key, peerErrorOf(locate(error, statement.text)));
  }

  #closed(session: StreamingSession): void {
    this.#sessions.delete(session);
    this.#waiting.delete(session);
    this.#withOutcomes.delete(session);
  }

  /** The session has outcomes, or reads again. */
  #goOn(session: StreamingSession): void {
    if (session.outcomes.length > 0 && session.outbox.fits(0)) this.#withOutcomes.add(session);
    let isWaiting = session.outcomes.length > 0 && !session.outbox.fits(0);
    if (session.outbox.isReadyAt(this.#platform.elapsed())) {
      for (const stream of session.streams.values()) {
        if (stream.phase === "behind") this.#downloads.advance(stream);
      }
    }
    this.#downloads.unblock(session);
    for (const { phase } of session.streams.values()) isWaiting ||= phase === "behind";
    if (isWaiting || session.blocked !== undefined) this.#waiting.add(session);
    else this.#waiting.delete(session);
    this.#wake();
  }

  get #isRoundDue(): boolean {
    const { txnId } = this.#store;
    if (this.#joining.size > 0 || this.#requested.size > 0) return true;
    if (this.#host.groups.liveCount > 0 && txnId > this.#position) return true;
    for (const { outcomes } of this.#withOutcomes) {
      if (outcomes[0] !== undefined && outcomes[0].txn <= txnId) return true;
    }
    return false;
  }

  #wake(): void {
    if (this.#isRounding || this.#isClosed || !this.#isRoundDue) return;
    this.#isRounding = true;
    void this.#rounds();
  }

  async #rounds(): Promise<void> {
    while (!this.#isClosed && this.#isRoundDue) {
      // Callers that wait for a commit are notified first, so that their outcomes go along.
      await this.#platform.pause();
      if (this.#isClosed) break;
      try {
        await this.#round();
      } catch (error) {
        if (!isTransient(error)) this.#failAll(error);
      }
    }
    this.#isRounding = false;
  }

  async #round(): Promise<void> {
    const input = {
      since: this.#position,
      joining: [...this.#joining],
      sessions: [...this.#withOutcomes],
      requested: [...this.#requested],
    };
    const noticedMs = this.#takeNotice();
    const changes = await this.#read((snapshot) => readRound({ snapshot, ...input }, this.#host));
    const delivery = new Delivery(changes, this.#host, {
      becomeLive: (stream, txn) => this.#becomeLive(stream, txn),
      leaveBehind: (session, streams, txn) => this.#leaveBehind(session, streams, txn),
      fallBehind: (session, txn) => this.#fallBehind(session, txn),
      catchUp: (stream) => this.#catchUp(stream),
      fail: (stream, error) => this.#fail(stream, error),
      tookOutcomes: (session, count) => this.#tookOutcomes(session, count),
      holdOutcomes: (session) => this.#holdOutcomes(session),
    });
    await this.#slicer.take(delivery.steps(), this.#budget, NOTHING_HELD);
    this.#position = changes.txn;
    for (const stream of input.requested) {
      if (stream.phase !== "live" || !stream.hasWants) this.#requested.delete(stream);
    }
    if (noticedMs !== undefined) this.#lagMs = this.#platform.elapsed() - noticedMs;
  }

  /** When the first commit was noticed that no round has brought yet. */
  #takeNotice(): number | undefined {
    const noticedMs = this.#noticedMs;
    this.#noticedMs = undefined;
    return noticedMs;
  }

  #becomeLive(stream: Stream, txn: number): void {
    this.#joining.delete(stream);
    if (stream.isOver) return;
    stream.settle(txn, this.#platform.elapsed());
    stream.sentRanges = undefined;
    stream.scan = undefined;
    stream.isUncertain = false;
    this.#host.groups.beginLive(stream);
    if (stream.hasWants) this.#requested.add(stream);
  }

  #leaveBehind(session: StreamingSession, streams: readonly Stream[], txn: number): void {
    session.outbox.say({ t: "behind", filters: streams.map(({ group }) => group.filter) });
    for (const stream of streams) {
      this.#endLive(stream, txn);
      this.#catchUp(stream);
    }
  }

  #fallBehind(session: StreamingSession, txn: number): void {
    const streams = [...session.live()];
    session.outbox.fall(this.#platform.elapsed());
    session.outbox.say({ t: "behind", filters: streams.map(({ group }) => group.filter) });
    for (const stream of streams) this.#endLive(stream, txn);
    this.#waiting.add(session);
  }

  #endLive(stream: Stream, txn: number): void {
    this.#host.groups.endLive(stream);
    this.#requested.delete(stream);
    stream.markSentUpTo(txn);
  }

  #catchUp(stream: Stream): void {
    this.#joining.delete(stream);
    stream.phase = "catch";
    this.#downloads.place(stream);
  }

  #tookOutcomes(session: StreamingSession, count: number): void {
    session.outcomes = session.outcomes.slice(count);
    if (session.outcomes.length === 0) this.#withOutcomes.delete(session);
  }

  #holdOutcomes(session: StreamingSession): void {
    this.#withOutcomes.delete(session);
    this.#waiting.add(session);
  }

  /** Reads from one snapshot, in slices, and closes the snapshot in any case. */
  async #read<T>(work: (snapshot: StoreSnapshot) => Steps<T>): Promise<T> {
    const snapshot = this.#store.snapshot();
    let steps: Steps<T>;
    try {
      steps = work(snapshot);
    } catch (error) {
      snapshot.close();
      throw error;
    }
    return this.#slicer.take(steps, this.#budget, snapshot);
  }

  /** The store itself fails: all streams end. */
  #failAll(error: unknown): void {
    for (const group of Array.from(this.#host.groups.all())) {
      for (const stream of Array.from(group.streams)) this.#fail(stream, error);
    }
    this.#withOutcomes.clear();
  }
}

const NOTHING_HELD = { close: (): void => undefined };

function peerErrorOf(error: unknown): PeerError {
  if (error instanceof PeerError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new PeerError("query.store", message, { cause: error });
}

/** One permission checker for each authority, as long as the authority is in use. */
function checkers(platform: Platform, appId: string): StreamHost["checkerOf"] {
  const known = new WeakMap<Authority, PermissionChecker>();
  const elapsed = (): number => platform.elapsed();
  const budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: CHECK_BYTES_MAX });
  const run = { args: {}, platform, budget, request: { id: "", appId, startMs: 0 } };
  return (authority) => {
    if (authority === undefined || authority.isReadingAll) return undefined;
    const checker = known.get(authority) ?? new PermissionChecker(authority, run);
    known.set(authority, checker);
    return checker;
  };
}
