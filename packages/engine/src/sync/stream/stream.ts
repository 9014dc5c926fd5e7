/**
 * Stream: a subscription of one session as the server serves it. Its phase and its position change
 * only through the methods here.
 *
 *             ┌──▶ scan ──▶ answer ──┐
 *   behind ───┼──────────────────────┼──▶ join ──▶ live ──▶ behind or catch
 *             └──▶ catch ────────────┘
 *
 * `advance` chooses between scan, answer, catch and join: at the beginning, and after each piece.
 * Rounds make a stream live and leave it behind. A stream in any phase can end.
 *
 * There are many streams, and most of them are live and idle: such a stream holds only this object.
 */

import type { Value } from "@bigpeer/protocol";
import type { Outbox } from "../outbox/outbox.ts";
import type { RateLimiter } from "../outbox/rate-limiter.ts";
import type { Group } from "./group.ts";
import { Progress } from "./progress.ts";
import type { Piece, ScanPosition } from "./scan.ts";
import { FIRST_KEY } from "./sent-ranges.ts";
import type { StreamOutcome, StreamSession } from "./session-streams.ts";
import { WantedIds } from "./wanted-ids.ts";

/**
 * `behind`: it waits until its session reads; `scan`: a fill or comparison is being read; `answer`:
 * the peer compares and requests documents; `catch`: it catches up in pieces; `join`: it becomes
 * live with the next round; `over`: it has ended.
 */
export type Phase = "behind" | "scan" | "answer" | "catch" | "join" | "live" | "over";

const NO_IDS: readonly Value[] = [];

/** The session of streams, for the streams themselves and for the loops that serve them. */
export interface ServedSession {
  readonly port: StreamSession;
  readonly outbox: Outbox;
  readonly rateLimiter: RateLimiter;
  readonly isClosed: boolean;
  /** The transaction up to which all live streams have been sent (S5). */
  readonly completeUpTo: number;
  /** The live streams have been sent everything up to a transaction. */
  announceUpTo(txn: number): void;

  /** By the key of the filter. */
  readonly streams: ReadonlyMap<string, Stream>;
  /** The streams that are live now. */
  live(): Iterable<Stream>;
  add(stream: Stream): void;
  /** The stream is over; another one may have its filter already. */
  remove(stream: Stream): void;
  /** Streams whose next piece waits for room in the queue; undefined if there are none. */
  readonly blocked: ReadonlySet<Stream> | undefined;
  block(stream: Stream): void;
  unblock(stream: Stream): void;

  /** The last piece of a comparison is sent. */
  compared(filterKey: string): void;
  /** Whether the peer has not answered all comparisons of a filter. */
  isComparing(filterKey: string): boolean;

  /** Outcomes that are not sent yet, in order. */
  readonly outcomes: readonly StreamOutcome[];
  /** The first `count` outcomes are sent. */
  dropOutcomes(count: number): void;

  /** Ends all its streams. */
  close(): void;
}

/** All streams with the same effective filter. */
export type StreamGroup = Group<Stream>;

export class Stream {
  readonly session: ServedSession;
  readonly group: StreamGroup;
  #phase: Phase = "behind";
  /** Undefined for a live stream: it was sent everything up to the last round. */
  #progress: Progress | undefined;
  /** Undefined if the peer waits for no requested documents. */
  #wanted: WantedIds | undefined;
  #settledTxn = 0;
  #settledMs = 0;
  #settledCount = 0;
  /** Where its last frames end in the queue of the session; frames of rounds do not count. */
  #queuePosition = 0;

  /** A new stream waits until it is advanced. */
  constructor(session: ServedSession, group: StreamGroup, progress: Progress) {
    this.session = session;
    this.group = group;
    this.#progress = progress;
  }

  get key(): string {
    return this.group.prepared.filterKey;
  }

  get phase(): Phase {
    return this.#phase;
  }

  get isLive(): boolean {
    return this.#phase === "live";
  }

  get isOver(): boolean {
    return this.#phase === "over";
  }

  // Phases.

  /**
   * Chooses the next phase of a stream that is not live. A stream that lacks more transactions than
   * `lackedMax` catches up first, so that the change log always reaches back to it.
   */
  advance(newestTxn: number, lackedMax: number): void {
    if (this.isLive) return;
    if (newestTxn - this.oldestSent > lackedMax) this.#enter("catch");
    else if (this.scan !== undefined) this.#enter("scan");
    else this.#enter(this.#isAnswering ? "answer" : "join");
  }

  /** A round cannot bring what it lacks. A live stream must fall behind first. */
  catchUp(): void {
    if (!this.isLive) this.#enter("catch");
  }

  /** The change log no longer has what it lacks. It compares; a link, which cannot, fills (S50). */
  restart(): void {
    this.#progress = Progress.ofScan(this.group.follower === undefined ? "compare" : "fill");
    this.#enter("scan");
  }

  /** Everything up to a transaction is sent: rounds bring the rest. */
  becomeLive(txn: number, elapsedMs: number): void {
    this.#progress = undefined;
    this.settle(txn, elapsedMs);
    this.#enter("live");
  }

  /** It does not get a round, and stays at the transaction of the round before. */
  fallBehind(txn: number): void {
    this.#progress = Progress.since(txn);
    this.#enter("behind");
  }

  end(): void {
    this.#enter("over");
  }

  /** A stream may end while a piece of it is read or sent: then it stays over. */
  #enter(phase: Phase): void {
    if (this.isOver) return;
    if (this.isLive) this.group.countLive(-1);
    this.#phase = phase;
    if (this.isLive) this.group.countLive(1);
  }

  // What was sent.

  /** The rest of a fill or a comparison. */
  get scan(): ScanPosition | undefined {
    return this.#progress?.scan;
  }

  /** The catch-up continues after this id. */
  get sweep(): string {
    return this.#progress?.sweep ?? FIRST_KEY;
  }

  /** Whether it is not live, but was sent all ids once: only changes are missing. */
  get lacksChanges(): boolean {
    return this.#progress?.isWhole === true;
  }

  /** The oldest transaction as of which something was sent; Infinity for a live stream. */
  get oldestSent(): number {
    return this.#progress?.oldestSent ?? Number.POSITIVE_INFINITY;
  }

  /** The transaction as of which a document was sent; undefined if not yet, or for a live stream. */
  sentTxn(idKey: string): number | undefined {
    return this.#progress?.sentTxn(idKey);
  }

  /** Whether the peer may hold any state of a document since it was sent (S19). */
  isUncertainOf(idKey: string): boolean {
    return this.#progress?.isUncertainOf(idKey) === true;
  }

  /** The next piece of the scan is sent. */
  pieceSent(piece: Piece): void {
    const kind = this.scan?.kind;
    this.#progress?.pieceSent(piece);
    if (kind === "compare" && piece.through === undefined) this.session.compared(this.key);
  }

  /** The open range of the scan is sent up to and including an id. */
  rangeSent(idKey: string): void {
    this.#progress?.rangeSent(idKey);
  }

  /** Changes are sent up to a transaction, for ids up to `cut`; undefined if that is all. */
  changesSent(txn: number, cut: string | undefined): void {
    this.#progress?.changesSent(txn, cut);
  }

  /** Its frames are in the queue of the session. */
  framesQueued(): void {
    this.#queuePosition = this.session.outbox.position;
  }

  /**
   * Records a send outside the order of transactions that is complete up to a transaction: the last
   * frames before it becomes live, or requested documents of a live stream.
   */
  settle(txn: number, elapsedMs: number): void {
    this.#settledTxn = txn;
    this.#settledMs = elapsedMs;
    this.#settledCount++;
    this.framesQueued();
  }

  /** Transaction and time of the last such send, and how many there were. */
  get settledTxn(): number {
    return this.#settledTxn;
  }

  get settledMs(): number {
    return this.#settledMs;
  }

  get settledCount(): number {
    return this.#settledCount;
  }

  /**
   * The transaction as of which the peer has a document. Undefined if nothing was sent yet, or if
   * the peer has not yet said whether it needs the document.
   */
  sentUpTo(idKey: string): number | undefined {
    if (this.#wanted?.has(idKey) === true) return undefined;
    if (this.isLive) return Math.max(this.session.completeUpTo, this.#settledTxn);
    const isComparing = this.scan?.kind === "compare" || this.session.isComparing(this.key);
    return isComparing ? undefined : this.sentTxn(idKey);
  }

  /** Whether the network has taken a document whose last change is the transaction `version`. */
  isTaken(version: number): boolean {
    const { outbox } = this.session;
    // It may have been sent with a transaction, even if the stream is behind now.
    const inOrder = version > this.#settledTxn ? outbox.positionOf(version) : 0;
    return outbox.isTaken(Math.max(inOrder, this.#queuePosition));
  }

  // What the peer requested.

  get hasWants(): boolean {
    return this.#wanted !== undefined;
  }

  /** Approximate bytes of the requested ids. */
  get wantedBytes(): number {
    return this.#wanted?.bytes ?? 0;
  }

  /** The first `count` requested ids. */
  firstWanted(count: number): readonly Value[] {
    return this.#wanted?.first(count) ?? NO_IDS;
  }

  want(ids: readonly Value[]): void {
    if (ids.length === 0) return;
    this.#wanted ??= new WantedIds();
    this.#wanted.add(ids);
  }

  /** The first `count` requested ids are answered. */
  answered(count: number): void {
    this.#wanted?.drop(count);
    if (this.#wanted?.isEmpty === true) this.#wanted = undefined;
  }

  /** Whether the peer may still request documents of a comparison, or waits for some. */
  get #isAnswering(): boolean {
    return this.hasWants || this.session.isComparing(this.key);
  }
}
