/**
 * StreamingSession: the streams of one session, and what waits for it.
 */

import { PeerError, type StreamMode, type SyncCursor, type Value } from "@bigpeer/protocol";
import { approximateSize } from "../store/records.ts";
import type { StoredDocument } from "../store/view.ts";
import { Effort } from "./effort.ts";
import type { PreparedStream } from "./filter.ts";
import { Outbox } from "./outbox.ts";
import type {
  AskedDocument,
  DocumentPlace,
  SessionStreams,
  StreamOutcome,
  StreamSession,
  StreamState,
} from "./session-streams.ts";
import type { Stream } from "./stream.ts";
import type { StreamHost } from "./stream-host.ts";

/** What a session asks of the data plane. */
export interface SessionPlane {
  /** The transaction that all live streams have been brought to. */
  position(): number;
  follow(
    session: StreamingSession,
    prepared: PreparedStream,
    cursor: SyncCursor | undefined,
  ): StreamMode;
  end(stream: Stream): void;
  fail(stream: Stream, error: unknown): void;
  /** A stream was asked something. */
  place(stream: Stream): void;
  /** The session has outcomes, or its queue has room again. */
  goOn(session: StreamingSession): void;
  closed(session: StreamingSession): void;
}

const NO_OUTCOMES: readonly StreamOutcome[] = [];

export class StreamingSession implements SessionStreams {
  readonly port: StreamSession;
  readonly outbox: Outbox;
  readonly streams: Map<string, Stream> = new Map();
  readonly #plane: SessionPlane;
  readonly #host: StreamHost;
  readonly effort: Effort;
  /** Those that were not sent yet, in their order. */
  outcomes: readonly StreamOutcome[] = NO_OUTCOMES;
  /** Streams whose next piece waits for room. */
  blocked: Set<Stream> | undefined;
  /** The last transaction that it was told to be complete up to. */
  toldTxn = 0;
  isClosed = false;

  constructor(port: StreamSession, plane: SessionPlane, host: StreamHost) {
    const { limits, sent, elapsed } = host;
    this.port = port;
    this.outbox = new Outbox(port, limits, sent);
    this.effort = new Effort(elapsed, limits);
    this.#plane = plane;
    this.#host = host;
  }

  get completeUpTo(): number {
    return Math.max(this.#plane.position(), this.toldTxn);
  }

  get sentUpTo(): number {
    let txn = this.completeUpTo;
    for (const { phase, told } of this.streams.values()) {
      if (phase !== "live" && told?.isWhole === true) txn = Math.min(txn, told.oldest);
    }
    return txn;
  }

  /** Its live streams have been sent all up to a transaction. */
  tellUpTo(txn: number): void {
    this.toldTxn = txn;
    this.outbox.mark(txn);
  }

  follow(prepared: PreparedStream, cursor: SyncCursor | undefined): StreamMode {
    return this.#plane.follow(this, prepared, cursor);
  }

  unfollow(filterKey: string): void {
    const stream = this.streams.get(filterKey);
    if (stream !== undefined) this.#plane.end(stream);
  }

  want(filterKey: string, ids: readonly Value[], isLast: boolean): void {
    const stream = this.streams.get(filterKey);
    if (stream === undefined) return;
    const count = (stream.wants?.length ?? 0) + ids.length;
    const { wantedIds, wantedBytes } = this.#host.limits;
    if (count > wantedIds) {
      const message = `expected at most ${wantedIds} ids that are wanted at a time, found ${count}`;
      this.#plane.fail(stream, new PeerError("sync.malformed", message));
      return;
    }
    stream.wantedBytes = (stream.hasWants ? stream.wantedBytes : 0) + approximateSize(ids);
    if (ids.length > 0) stream.wants ??= [];
    for (const id of ids) stream.wants?.push(id);
    if (this.#wantedBytes() > wantedBytes) {
      const message = `expected at most ${wantedBytes} bytes of ids that are wanted at a time`;
      this.#plane.fail(stream, new PeerError("sync.malformed", message));
      return;
    }
    if (isLast && stream.comparisonsSeen < stream.comparisonsSent) stream.comparisonsSeen++;
    this.#plane.place(stream);
  }

  /** At most so many: of what was answered some may be counted until all of a stream is. */
  #wantedBytes(): number {
    let bytes = 0;
    for (const { hasWants, wantedBytes } of this.streams.values())
      if (hasWants) bytes += wantedBytes;
    return bytes;
  }

  get unsentOutcomes(): number {
    return this.outcomes.length;
  }

  stateOf(filterKey: string): StreamState {
    const phase = this.streams.get(filterKey)?.phase;
    return phase === "live" || phase === "behind" ? phase : "filling";
  }

  placeOf(filterKey: string, document: AskedDocument): DocumentPlace | undefined {
    const stream = this.streams.get(filterKey);
    if (stream === undefined) return undefined;
    const { index } = this.#host.groups;
    const { idKey, version, shown } = document;
    const condition = { ...stream.group.entry, judge: undefined };
    return {
      isMatching: shown !== undefined && index.matches(condition, shown),
      sentUpTo: stream.sentUpTo(idKey),
      isTaken: stream.isTaken(version),
      isLive: stream.phase === "live",
      settledTxn: stream.settledTxn,
      settledMs: stream.settledMs,
    };
  }

  mayRead(collection: string, document: StoredDocument): boolean {
    return this.#host.judgeOf(this.port.authority)?.mayRead(collection, document) ?? true;
  }

  outcome(outcome: StreamOutcome): void {
    if (this.isClosed) return;
    this.outcomes = [...this.outcomes, outcome];
    this.#plane.goOn(this);
  }

  drained(): void {
    if (!this.isClosed) this.#plane.goOn(this);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.outcomes = NO_OUTCOMES;
    for (const stream of Array.from(this.streams.values())) this.#plane.end(stream);
    this.#plane.closed(this);
  }

  /** Its live streams, as they are now. */
  *live(): Iterable<Stream> {
    for (const stream of this.streams.values()) if (stream.phase === "live") yield stream;
  }
}
