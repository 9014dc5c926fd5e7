/**
 * Stream: one subscription of one session, and how far it is.
 *
 * There are many, and most of them are live and wait: then nothing is held but this.
 */

import type { Value } from "@bigpeer/protocol";
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
  /** What is still to be read of a fill or a comparison. */
  scan: Scan | undefined;
  /** The catch-up goes on behind this id. */
  sweep: string = FIRST_KEY;
  /** Ids that the peer asked for. */
  wants: Value[] | undefined;
  /** Bytes of all that was wanted since there was nothing. */
  wantedBytes = 0;
  /** Comparisons whose last piece was sent, and those that the peer is through with. */
  comparisonsSent = 0;
  comparisonsSeen = 0;
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

  /** Whether the peer may still ask for documents of a comparison, or waits for some. */
  get isAnswering(): boolean {
    return this.comparisonsSeen < this.comparisonsSent || this.hasWants;
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
    this.sweep = FIRST_KEY;
    this.phase = "scan";
  }
}
