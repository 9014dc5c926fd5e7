/**
 * Stream: one subscription of one session, and how far it is.
 *
 * There are many, and most of them are live and wait: then nothing is held but this.
 */

import { documentId, type Value } from "@bigpeer/protocol";
import { approximateSize } from "../store/records.ts";
import type { Scan } from "./back-fill.ts";
import type { Group } from "./group.ts";
import type { StreamingSession } from "./streaming-session.ts";
import { FIRST_KEY, Told } from "./told.ts";

/**
 * `scan`: pieces of a fill or a comparison are read; `answer`: the peer compares and asks; `catch`: it
 * lacks so much that it is told in pieces; `join`: it becomes live with the next round; `behind`: its
 * session did not read, and is waited for.
 */
export type Phase = "scan" | "answer" | "catch" | "join" | "live" | "behind";

export class Stream {
  readonly session: StreamingSession;
  readonly group: Group;
  phase: Phase = "join";
  /** What the peer was told; of a live stream: all up to the position of the rounds. */
  told: Told | undefined;
  /**
   * It comes back with a cursor: the connection before may have brought more than that, without coming
   * to an end. So it may hold whatever matched since.
   */
  isUncertain = false;
  /** Of a fill that goes on: the rest is told anew, so this is so only up to the id where it was cut. */
  #uncertainThrough: string | undefined;
  /** What is still to be read of a fill or a comparison. */
  scan: Scan | undefined;
  /** The catch-up goes on behind this id. */
  sweep: string = FIRST_KEY;
  /** Ids that the peer asked for. */
  wants: Value[] | undefined;
  /** About what they take. */
  wantedBytes = 0;
  /**
   * When something was last sent of it outside of the order of transactions, as of which one: what
   * made it live, and what the peer asked for as a whole.
   */
  settledTxn = 0;
  settledMs = 0;
  /** How often that was. */
  settledCount = 0;
  /** Where the last of that, or of its download, ends in the queue of the session. */
  sentPosition = 0;
  isOver = false;

  constructor(session: StreamingSession, group: Group) {
    this.session = session;
    this.group = group;
  }

  get key(): string {
    return this.group.prepared.filterKey;
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

  /** The first that were wanted have their answer. */
  answered(count: number): void {
    const done = this.wants?.splice(0, count) ?? [];
    this.wantedBytes -= sizeOfIds(done);
    if (this.wants?.length === 0) this.wants = undefined;
  }

  /** Whether the peer may still ask for documents of a comparison, or waits for some. */
  get isAnswering(): boolean {
    return this.session.isComparing(this.key) || this.hasWants;
  }

  /** All of it up to a transaction is sent, and not only what the transactions brought. */
  settle(txn: number, elapsedMs: number): void {
    this.settledTxn = txn;
    this.settledMs = elapsedMs;
    this.settledCount++;
    this.sentPosition = this.session.outbox.position;
  }

  /**
   * The transaction as of which the peer has been sent what the filter says of a document. Undefined
   * where nothing was sent yet, or where the peer has still to say whether it needs it.
   */
  sentUpTo(idKey: string): number | undefined {
    if (this.#isWanted(idKey)) return undefined;
    if (this.phase === "live") return Math.max(this.session.completeUpTo, this.settledTxn);
    const isComparing = this.scan?.kind === "compare";
    if (isComparing || this.session.isComparing(this.key)) return undefined;
    return this.told?.at(idKey);
  }

  /** Whether what was sent of a document, which was changed last in a transaction, is off the queue. */
  isTaken(version: number): boolean {
    const { outbox } = this.session;
    // It may have come by a transaction, also of one that is behind by now.
    const inOrder = version > this.settledTxn ? outbox.positionOf(version) : 0;
    return outbox.isTaken(Math.max(inOrder, this.sentPosition));
  }

  #isWanted(idKey: string): boolean {
    return this.wants?.some((id) => documentId(id).key === idKey) ?? false;
  }

  /** Whether the peer may hold a document in any state that it had since the stream was told of it. */
  isUncertainOf(idKey: string): boolean {
    const through = this.#uncertainThrough;
    return this.isUncertain && (through === undefined || idKey <= through);
  }

  /** Everything was told as of one transaction. */
  setTold(txn: number): void {
    this.told = Told.upTo(txn);
    this.sweep = FIRST_KEY;
  }

  /** Everything is read from the beginning. */
  startScan(scan: Scan): void {
    this.scan = scan;
    this.told = new Told();
    this.isUncertain = false;
    this.#uncertainThrough = undefined;
    this.sweep = FIRST_KEY;
    this.phase = "scan";
  }

  /** A fill was cut where `scan` begins; all before it was told as of a transaction or later (S57). */
  goOn(scan: Scan, txn: number): void {
    this.startScan(scan);
    this.told?.add(scan.through, txn);
    this.isUncertain = true;
    this.#uncertainThrough = scan.through;
  }
}

/** Each takes a place in a list, however short it is. */
function sizeOfIds(ids: readonly Value[]): number {
  let size = 0;
  for (const id of ids) size += approximateSize(id) + 8;
  return size;
}
