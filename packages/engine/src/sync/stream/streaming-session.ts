/**
 * StreamingSession: the streams of one session, its outbox and its queued outcomes.
 */

import { PeerError, type StreamMode, type SyncCursor, type Value } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { Outbox } from "../outbox/outbox.ts";
import { RateLimiter } from "../outbox/rate-limiter.ts";
import type { PreparedStream } from "./filter.ts";
import type {
  AskedDocument,
  DocumentPlace,
  SessionStreams,
  StreamOutcome,
  StreamSession,
  StreamState,
} from "./session-streams.ts";
import type { ServedSession, Stream } from "./stream.ts";
import type { StreamHost } from "./stream-host.ts";

const NO_OUTCOMES: readonly StreamOutcome[] = [];

/** Filters with unanswered comparisons; a peer with more never answers. */
const COMPARED_MAX = 10_000;

export class StreamingSession implements SessionStreams, ServedSession {
  readonly port: StreamSession;
  readonly outbox: Outbox;
  readonly rateLimiter: RateLimiter;
  readonly #host: StreamHost;
  readonly #streams = new Map<string, Stream>();
  #outcomes: readonly StreamOutcome[] = NO_OUTCOMES;
  #blocked: Set<Stream> | undefined;
  /** The last transaction that the session was sent completely. */
  #announcedTxn = 0;
  #isClosed = false;
  /**
   * How many comparisons of a filter the peer has not answered yet. It answers each (S70), even for
   * a stream that is over: that answer must not count for the next stream.
   */
  #compared: Map<string, number> | undefined;

  constructor(port: StreamSession, host: StreamHost) {
    const { limits, sent, elapsed } = host;
    this.port = port;
    this.outbox = new Outbox(port, limits, sent);
    this.rateLimiter = new RateLimiter(elapsed, limits);
    this.#host = host;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get completeUpTo(): number {
    return Math.max(this.#host.position(), this.#announcedTxn);
  }

  get sentUpTo(): number {
    let txn = this.completeUpTo;
    for (const stream of this.#streams.values()) {
      if (stream.lacksChanges) txn = Math.min(txn, stream.oldestSent);
    }
    return txn;
  }

  announceUpTo(txn: number): void {
    this.#announcedTxn = txn;
    this.outbox.mark(txn);
  }

  // Streams.

  get streams(): ReadonlyMap<string, Stream> {
    return this.#streams;
  }

  *live(): Iterable<Stream> {
    for (const stream of this.#streams.values()) if (stream.isLive) yield stream;
  }

  add(stream: Stream): void {
    this.#streams.set(stream.key, stream);
  }

  remove(stream: Stream): void {
    if (this.#streams.get(stream.key) === stream) this.#streams.delete(stream.key);
  }

  follow(prepared: PreparedStream, cursor: SyncCursor | undefined): StreamMode {
    return this.#host.follow(this, prepared, cursor);
  }

  unfollow(filterKey: string): void {
    const stream = this.#streams.get(filterKey);
    if (stream !== undefined) this.#host.end(stream);
  }

  get blocked(): ReadonlySet<Stream> | undefined {
    return this.#blocked;
  }

  block(stream: Stream): void {
    this.#blocked ??= new Set();
    this.#blocked.add(stream);
  }

  unblock(stream: Stream): void {
    this.#blocked?.delete(stream);
    if (this.#blocked?.size === 0) this.#blocked = undefined;
  }

  // Comparisons.

  compared(filterKey: string): void {
    this.#compared ??= new Map();
    this.#compared.set(filterKey, (this.#compared.get(filterKey) ?? 0) + 1);
    if (this.#compared.size <= COMPARED_MAX) return;
    for (const oldest of this.#compared.keys()) {
      if (!this.#streams.has(oldest)) return void this.#compared.delete(oldest);
    }
  }

  isComparing(filterKey: string): boolean {
    return this.#compared?.has(filterKey) === true;
  }

  #answered(filterKey: string): void {
    const left = (this.#compared?.get(filterKey) ?? 0) - 1;
    if (left > 0) this.#compared?.set(filterKey, left);
    else this.#compared?.delete(filterKey);
    if (this.#compared?.size === 0) this.#compared = undefined;
  }

  want(filterKey: string, ids: readonly Value[], isLast: boolean): void {
    if (isLast) this.#answered(filterKey);
    const stream = this.#streams.get(filterKey);
    if (stream === undefined) return;
    const { wantedBytes } = this.#host.limits;
    stream.want(ids);
    if (this.#wantedBytes() > wantedBytes) {
      const message = `expected at most ${wantedBytes} bytes of ids that are wanted at a time`;
      this.#host.fail(stream, new PeerError("sync.malformed", message));
      return;
    }
    // The last answer ends the phase.
    if (stream.phase === "answer") this.#host.advance(stream);
    else this.#host.place(stream);
  }

  #wantedBytes(): number {
    let bytes = 0;
    for (const { wantedBytes } of this.#streams.values()) bytes += wantedBytes;
    return bytes;
  }

  // Outcomes.

  get outcomes(): readonly StreamOutcome[] {
    return this.#outcomes;
  }

  get unsentOutcomes(): number {
    return this.#outcomes.length;
  }

  outcome(outcome: StreamOutcome): void {
    if (this.#isClosed) return;
    this.#outcomes = [...this.#outcomes, outcome];
    this.#host.goOn(this);
  }

  dropOutcomes(count: number): void {
    this.#outcomes = this.#outcomes.slice(count);
  }

  // Questions about documents.

  stateOf(filterKey: string): StreamState {
    const phase = this.#streams.get(filterKey)?.phase;
    return phase === "live" || phase === "behind" ? phase : "filling";
  }

  placeOf(filterKey: string, document: AskedDocument): DocumentPlace | undefined {
    const stream = this.#streams.get(filterKey);
    if (stream === undefined) return undefined;
    const { index } = this.#host.groups;
    const { idKey, version, shown } = document;
    const condition = { ...stream.group.entry, checker: undefined };
    return {
      isMatching: shown !== undefined && index.matches(condition, shown),
      sentUpTo: stream.sentUpTo(idKey),
      isTaken: stream.isTaken(version),
      isLive: stream.isLive,
      settledTxn: stream.settledTxn,
      settledMs: stream.settledMs,
    };
  }

  mayRead(collection: string, document: StoredDocument): boolean {
    return this.#host.checkerOf(this.port.authority)?.mayRead(collection, document) ?? true;
  }

  // The connection.

  drained(): void {
    if (!this.#isClosed) this.#host.goOn(this);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#outcomes = NO_OUTCOMES;
    for (const stream of Array.from(this.#streams.values())) this.#host.end(stream);
    this.#host.closed(this);
  }
}
