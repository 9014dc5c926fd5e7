/**
 * Stream: a subscription of one session as the server serves it, with its position.
 *
 * There are many streams, and most of them are live and idle: such a stream holds only this object.
 */

import { documentId, type Value } from "@bigpeer/protocol";
import { approximateSize } from "../../store/records.ts";
import type { Group } from "./group.ts";
import type { Scan } from "./scan.ts";
import { FIRST_KEY, SentRanges } from "./sent-ranges.ts";
import type { StreamingSession } from "./streaming-session.ts";

/**
 * `scan`: a fill or comparison is being read; `answer`: the peer compares and requests documents;
 * `catch`: it catches up in pieces; `join`: it becomes live with the next round; `behind`: it waits
 * until its session reads.
 */
export type Phase = "scan" | "answer" | "catch" | "join" | "live" | "behind";

export class Stream {
  readonly session: StreamingSession;
  readonly group: Group;
  phase: Phase = "join";
  /** What the peer was sent; undefined for a live stream: everything up to the last round. */
  sentRanges: SentRanges | undefined;
  /**
   * Set for a stream that returned with a cursor. The previous connection may have brought more
   * than the cursor counts, so the peer may hold any state since (S19).
   */
  isUncertain = false;
  /** For a fill that continues: only ids up to this one are uncertain, the rest is sent again. */
  #uncertainThrough: string | undefined;
  /** The rest of a fill or a comparison. */
  scan: Scan | undefined;
  /** The catch-up continues after this id. */
  sweep: string = FIRST_KEY;
  /** Ids that the peer requested. */
  wants: Value[] | undefined;
  /** Approximate bytes of these ids. */
  wantedBytes = 0;
  /**
   * Transaction and time of the last send outside the order of transactions: the end of a download,
   * or requested documents.
   */
  settledTxn = 0;
  settledMs = 0;
  /** How many such sends there were. */
  settledCount = 0;
  /** End position of the last such send, or of the last piece, in the queue of the session. */
  sentPosition = 0;
  isOver = false;

  constructor(session: StreamingSession, group: Group) {
    this.session = session;
    this.group = group;
  }

  get key(): string {
    return this.group.prepared.filterKey;
  }

  /** The oldest transaction as of which something was sent; Infinity if nothing is outstanding. */
  get oldestSent(): number {
    return this.sentRanges?.oldest ?? Number.POSITIVE_INFINITY;
  }

  get hasWants(): boolean {
    return this.wants !== undefined && this.wants.length > 0;
  }

  wanted(ids: readonly Value[]): void {
    if (ids.length === 0) return;
    this.wants ??= [];
    for (const id of ids) this.wants.push(id);
    this.wantedBytes += sizeOfIds(ids);
  }

  /** The first `count` requested ids are answered. */
  answered(count: number): void {
    const done = this.wants?.splice(0, count) ?? [];
    this.wantedBytes -= sizeOfIds(done);
    if (this.wants?.length === 0) this.wants = undefined;
  }

  /** Whether the peer may still request documents of a comparison, or waits for some. */
  get isAnswering(): boolean {
    return this.session.isComparing(this.key) || this.hasWants;
  }

  /** Records a send outside the order of transactions that is complete up to `txn`. */
  settle(txn: number, elapsedMs: number): void {
    this.settledTxn = txn;
    this.settledMs = elapsedMs;
    this.settledCount++;
    this.sentPosition = this.session.outbox.position;
  }

  /**
   * The transaction as of which the peer was sent a document. Undefined if nothing was sent yet, or
   * if the peer has not yet said whether it needs the document.
   */
  sentUpTo(idKey: string): number | undefined {
    if (this.#isWanted(idKey)) return undefined;
    if (this.phase === "live") return Math.max(this.session.completeUpTo, this.settledTxn);
    const isComparing = this.scan?.kind === "compare";
    if (isComparing || this.session.isComparing(this.key)) return undefined;
    return this.sentRanges?.at(idKey);
  }

  /** Whether the network has taken a document whose last change is the transaction `version`. */
  isTaken(version: number): boolean {
    const { outbox } = this.session;
    // It may have been sent with a transaction, even if the stream is behind now.
    const inOrder = version > this.settledTxn ? outbox.positionOf(version) : 0;
    return outbox.isTaken(Math.max(inOrder, this.sentPosition));
  }

  #isWanted(idKey: string): boolean {
    return this.wants?.some((id) => documentId(id).key === idKey) ?? false;
  }

  /** Whether the peer may hold any state of a document since its position in the sent ranges. */
  isUncertainOf(idKey: string): boolean {
    const through = this.#uncertainThrough;
    return this.isUncertain && (through === undefined || idKey <= through);
  }

  /** Everything was sent as of one transaction. */
  markSentUpTo(txn: number): void {
    this.sentRanges = SentRanges.upTo(txn);
    this.sweep = FIRST_KEY;
  }

  /** Starts to read everything from the beginning of `scan`. */
  startScan(scan: Scan): void {
    this.scan = scan;
    this.sentRanges = new SentRanges();
    this.isUncertain = false;
    this.#uncertainThrough = undefined;
    this.sweep = FIRST_KEY;
    this.phase = "scan";
  }

  /** Continues an interrupted fill: all ids before `scan` were sent as of `txn` or later (S72). */
  goOn(scan: Scan, txn: number): void {
    this.startScan(scan);
    this.sentRanges?.add(scan.through, txn);
    this.isUncertain = true;
    this.#uncertainThrough = scan.through;
  }
}

/** Each id also takes a place in a list, however short it is. */
function sizeOfIds(ids: readonly Value[]): number {
  let size = 0;
  for (const id of ids) size += approximateSize(id) + 8;
  return size;
}
