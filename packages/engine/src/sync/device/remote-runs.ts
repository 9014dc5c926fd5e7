/**
 * Remote runs: runs a statement on many connected peers at once and collects the answers (S44 to
 * S46).
 *
 * This code has no timer: the caller has one and calls `expire`. Peers are asked in slices between
 * other work, each with the same frame. Each has one answer in the end, a success or an error.
 */

import {
  encodeMessage,
  type RunEnd,
  type RunWarning,
  SYNC_MESSAGE_BYTES_MAX,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { PeerReport } from "./peer-report.ts";

export interface RemoteRun {
  readonly statement: string;
  readonly args: ValueObject;
  /** Time limit of each peer. */
  readonly ms: number;
  /** Limits of the answer of each peer. */
  readonly rows: number;
  readonly bytes: number;
  /** Limit of all answers together. */
  readonly allBytes: number;
}

export interface PeerAnswer {
  readonly session: number;
  /** The peer when it was asked; absent if it was already gone. */
  readonly report?: PeerReport;
  readonly items: readonly Value[];
  /** As the peer reports; without an answer: how long the server waited. */
  readonly elapsedMs: number;
  readonly warnings: readonly RunWarning[];
  readonly totalWarnings: number;
  /** Absent on success; with an error there are no items. */
  readonly error?: RunFault;
}

export interface RunFault {
  readonly code: string;
  readonly message: string;
}

export interface RunningRemote {
  /** One answer for each session, in order. Never rejects. */
  readonly done: Promise<readonly PeerAnswer[]>;
  /** The time is over: peers without an answer fail and receive `cancel`. */
  expire(): void;
  /** The caller no longer waits: peers without an answer fail and receive `cancel`. */
  cancel(): void;
}

export interface RemoteRunStats {
  /** Peers of all runs; each is counted below when its run is over. */
  readonly asked: number;
  readonly answered: number;
  readonly failed: number;
}

/** The request to a peer, encoded once for all. */
export interface AskedRun {
  readonly id: number;
  readonly rows: number;
  readonly bytes: number;
  readonly frame: Uint8Array;
}

/** Receives the answer of one session. */
export interface RunListener {
  onPiece(items: readonly Value[], size: number, end: RunEnd | undefined): void;
  /** The session is over. */
  onLost(): void;
}

/** A session that can be asked. */
export interface AskedSession {
  readonly queuedBytes: number;
  report(): PeerReport | undefined;
  /** Returns false if the session is over. */
  ask(run: AskedRun, listener: RunListener): boolean;
  cancelRun(id: number): void;
}

export interface RemoteRunHost {
  /** Peers with more queued bytes than this are not asked. */
  readonly queueBytes: number;
  find(session: number): AskedSession | undefined;
  elapsed(): number;
  pause(): Promise<void>;
  noteFault(error: unknown): void;
}

/** Sessions that are asked or cancelled between two pauses. */
const AT_ONCE = 50;

const LOST: RunFault = { code: "remote.lost", message: "the peer left before it answered" };
const LATE: RunFault = { code: "query.timeout", message: "the peer did not answer in time" };
const CANCELLED: RunFault = {
  code: "query.timeout",
  message: "the caller does not wait for the answer any more",
};
const BUSY: RunFault = {
  code: "query.busy",
  message: "too much waits on the way to the peer: it was not asked",
};
const TOO_LARGE: RunFault = {
  code: "query.too_large",
  message: "the answers of all peers together are too large",
};

export class RemoteRuns {
  readonly #host: RemoteRunHost;
  readonly #counts = { asked: 0, answered: 0, failed: 0 };
  #lastId = 0;

  constructor(host: RemoteRunHost) {
    this.#host = host;
  }

  stats(): RemoteRunStats {
    return { ...this.#counts };
  }

  run(sessions: readonly number[], run: RemoteRun): RunningRemote {
    const id = ++this.#lastId;
    const { statement, args, ms, rows, bytes } = run;
    const frame = encodeMessage({ t: "run", id, statement, args, ms, rows, bytes });
    const running = new Running(sessions, run.allBytes, {
      host: this.#host,
      asked: { id, rows, bytes, frame },
      onSettled: (isGood) => this.#counts[isGood ? "answered" : "failed"]++,
    });
    this.#counts.asked += running.size;
    running.start();
    return running;
  }
}

/** One of the asked sessions. */
interface Slot {
  readonly number: number;
  report: PeerReport | undefined;
  /** Undefined until it is asked. */
  session: AskedSession | undefined;
  askedMs: number;
  items: Value[];
  /** Bytes of the frames that the items came in. */
  bytes: number;
  answer: PeerAnswer | undefined;
}

interface RunningOptions {
  readonly host: RemoteRunHost;
  readonly asked: AskedRun;
  readonly onSettled: (isGood: boolean) => void;
}

class Running implements RunningRemote {
  readonly done: Promise<readonly PeerAnswer[]>;
  readonly #options: RunningOptions;
  readonly #sessions: readonly number[];
  readonly #slots: ReadonlyMap<number, Slot>;
  readonly #allBytes: number;
  #heldBytes = 0;
  #open: number;
  #resolve: (answers: readonly PeerAnswer[]) => void = () => undefined;

  constructor(sessions: readonly number[], allBytes: number, options: RunningOptions) {
    this.#options = options;
    this.#sessions = sessions;
    this.#allBytes = allBytes;
    // A session that is named twice is asked once.
    this.#slots = new Map(sessions.map((number) => [number, newSlot(number)]));
    this.#open = this.#slots.size;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get size(): number {
    return this.#slots.size;
  }

  start(): void {
    const slots = Array.from(this.#slots.values());
    if (slots.length === 0) return this.#resolve([]);
    const { length } = this.#options.asked.frame;
    if (length > SYNC_MESSAGE_BYTES_MAX) {
      const message = `expected a statement with arguments of at most ${SYNC_MESSAGE_BYTES_MAX} bytes`;
      return this.#failOpen({ code: "query.too_large", message });
    }
    void this.#inTurns(slots, (slot) => this.#ask(slot));
  }

  expire(): void {
    this.#failOpen(LATE);
  }

  cancel(): void {
    this.#failOpen(CANCELLED);
  }

  #ask(slot: Slot): void {
    if (slot.answer !== undefined) return;
    const { host, asked } = this.#options;
    slot.askedMs = host.elapsed();
    const session = host.find(slot.number);
    const report = session?.report();
    if (session === undefined || report === undefined) return this.#fail(slot, LOST);
    slot.report = report;
    if (session.queuedBytes > host.queueBytes) return this.#fail(slot, BUSY);
    slot.session = session;
    const isAsked = session.ask(asked, {
      onPiece: (items, size, end) => this.#take(slot, items, { size, end }),
      onLost: () => this.#fail(slot, LOST),
    });
    if (!isAsked) this.#fail(slot, LOST);
  }

  #take(
    slot: Slot,
    items: readonly Value[],
    { size, end }: { readonly size: number; readonly end: RunEnd | undefined },
  ): void {
    if (slot.answer !== undefined) return;
    // An error has no rows and voids those before it (S45). It may be long as well.
    const isFault = end?.error !== undefined;
    if (isFault) this.#drop(slot);
    if (!this.#makeRoom(slot, size)) return this.#giveUp(slot, end !== undefined);
    slot.bytes += size;
    this.#heldBytes += size;
    if (!isFault) for (const item of items) slot.items.push(item);
    if (end !== undefined) this.#settle(slot, end);
  }

  /** Drops the largest answer to make room, so that no peer can keep out the others. */
  #makeRoom(slot: Slot, size: number): boolean {
    while (this.#heldBytes + size > this.#allBytes) {
      let largest = slot;
      for (const each of this.#slots.values()) {
        const bytes = largest === slot ? slot.bytes + size : largest.bytes;
        if (each.bytes > bytes) largest = each;
      }
      if (largest === slot) return false;
      this.#giveUp(largest, largest.answer !== undefined);
    }
    return true;
  }

  #giveUp(slot: Slot, isOver: boolean): void {
    if (slot.answer === undefined) this.#fail(slot, TOO_LARGE);
    else {
      this.#drop(slot);
      slot.answer = { ...slot.answer, items: [], warnings: [], error: TOO_LARGE };
    }
    if (!isOver) slot.session?.cancelRun(this.#options.asked.id);
  }

  #drop(slot: Slot): void {
    this.#heldBytes -= slot.bytes;
    slot.bytes = 0;
    slot.items = [];
  }

  #failOpen(error: RunFault): void {
    const asked: AskedSession[] = [];
    for (const slot of this.#slots.values()) {
      if (slot.answer !== undefined) continue;
      if (slot.session !== undefined) asked.push(slot.session);
      this.#fail(slot, error);
    }
    const { id } = this.#options.asked;
    void this.#inTurns(asked, (session) => session.cancelRun(id));
  }

  /** Handles the first ones at once, the others in slices between other work. Never rejects. */
  async #inTurns<T>(all: readonly T[], work: (each: T) => void): Promise<void> {
    const { host } = this.#options;
    try {
      for (const [i, each] of all.entries()) {
        if (i > 0 && i % AT_ONCE === 0) await host.pause();
        work(each);
      }
    } catch (error) {
      host.noteFault(error);
      this.#failOpen(LOST);
    }
  }

  #fail(slot: Slot, error: RunFault): void {
    if (slot.answer !== undefined) return;
    this.#drop(slot);
    const isAsked = slot.session !== undefined;
    const elapsedMs = isAsked ? Math.round(this.#options.host.elapsed() - slot.askedMs) : 0;
    this.#settle(slot, { elapsedMs, warnings: [], totalWarnings: 0, error });
  }

  #settle(slot: Slot, end: RunEnd): void {
    const { number: session, report } = slot;
    const { items } = slot;
    slot.answer = { session, ...(report !== undefined && { report }), items, ...end };
    slot.items = [];
    if (--this.#open === 0) this.#finish();
  }

  #finish(): void {
    for (const { answer } of this.#slots.values()) {
      this.#options.onSettled(answer?.error === undefined);
    }
    this.#resolve(
      this.#sessions.flatMap((number) => {
        const answer = this.#slots.get(number)?.answer;
        return answer === undefined ? [] : [answer];
      }),
    );
  }
}

function newSlot(number: number): Slot {
  return {
    number,
    report: undefined,
    session: undefined,
    askedMs: 0,
    items: [],
    bytes: 0,
    answer: undefined,
  };
}
