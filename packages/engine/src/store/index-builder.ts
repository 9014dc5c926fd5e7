/**
 * Index builder: background task that fills new indexes and empties dropped ones, piece by piece.
 *
 * CREATE INDEX fills an index with the first documents, DROP INDEX removes the first entries. The
 * builder does the rest, one index after the other, by logged operations. Each piece is a small
 * transaction of its own, so that no request waits longer; while one piece is flushed, the next is
 * evaluated.
 *
 *   resting ──a commit leaves something to do──> at work ──nothing more, a failure, close──> resting
 *
 * The remaining work is read from the store, so a restart simply continues. The engine has no
 * timers: after a failure the next commit that comes late enough, or maintenance, triggers the next
 * try.
 */

import { type IndexOperation, PeerError, type StoreOperation } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { DROPPED_INDEXES, droppedIndexKey, droppedIndexOfKey } from "./keys.ts";
import type { Evaluate } from "./queued-request.ts";
import type { View } from "./view.ts";

/** Documents that CREATE INDEX itself indexes: a smaller collection is indexed at once. */
export const FIRST_PIECE = 1000;

/** Documents or entries of one piece; the size adapts so that a piece takes about PIECE_MS. */
const PIECE_MIN = 16;
const PIECE_MAX = 4000;
const PIECE_MS = 8;

/** Pieces under way: one is flushed while the next is evaluated. */
const PIECES_AHEAD = 2;

/** Delay after a failed piece: its failure also fails the requests that share its commit. */
const REST_MS = 30_000;

/** Callbacks that the store gives to the builder. */
export interface BuilderHost {
  readonly platform: Pick<Platform, "elapsed" | "pause">;
  transact<T>(evaluate: Evaluate<T>): Promise<{ readonly result: T }>;
}

/** Result of a piece: there may be more to do, there is nothing to do, or it failed. */
type PieceOutcome = "worked" | "finished" | "failed";

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: PeerError) => void;
}

export class IndexBuilder {
  readonly #host: BuilderHost;
  #running: Promise<void> | undefined;
  /** Whether work may have arrived since the last look. */
  #isWoken = false;
  #isClosed = false;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #limit = FIRST_PIECE;
  /** The work of the last piece: it need not be looked for again. */
  #current: IndexWork | undefined;
  #waiters: Waiter[] = [];

  constructor(host: BuilderHost) {
    this.#host = host;
  }

  /** Starts the builder when there is work. Returns at once. */
  wake(): void {
    this.#isWoken = true;
    if (this.#isClosed || this.#running !== undefined || this.#isResting()) return;
    this.#running = this.#run();
  }

  /** Retries after a failure and waits until all is done. Rejects when it fails once more. */
  async goOn(): Promise<void> {
    this.#restsUntilMs = Number.NEGATIVE_INFINITY;
    this.wake();
    await this.#running;
    if (this.#isResting() && !this.#isClosed) throw this.#failure;
  }

  /** Waits until nothing is left to do, through failures; rejects when the store is closed. */
  whenFinished(): Promise<void> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Starts no other piece; resolves when those under way are over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiters.splice(0)) reject(closedError());
    await this.#running;
  }

  #isResting(): boolean {
    return this.#host.platform.elapsed() < this.#restsUntilMs;
  }

  async #run(): Promise<void> {
    while (this.#isWoken && !this.#isClosed && !this.#isResting()) {
      const outcome = await this.#work();
      if (outcome === "failed") this.#restsUntilMs = this.#host.platform.elapsed() + REST_MS;
      else if (!this.#isWoken) for (const { resolve } of this.#waiters.splice(0)) resolve();
    }
    this.#running = undefined;
  }

  /** Works until nothing is left to do or a piece fails. Returns the outcome of the last piece. */
  async #work(): Promise<PieceOutcome> {
    const sent: Promise<PieceOutcome>[] = [];
    let outcome: PieceOutcome = "worked";
    while (outcome === "worked" && this.#isWoken && !this.#isClosed) {
      await this.#host.platform.pause();
      sent.push(this.#piece());
      if (sent.length >= PIECES_AHEAD) outcome = (await sent.shift()) ?? outcome;
    }
    // Pieces behind a failed one were evaluated again without it, so the last outcome is current.
    return (await Promise.all(sent)).at(-1) ?? outcome;
  }

  async #piece(): Promise<PieceOutcome> {
    try {
      const { result } = await this.#host.transact((transaction): PieceOutcome => {
        const work = this.#nextWork(transaction.view);
        if (work === undefined) return "finished";
        const limit = this.#limit;
        const startMs = this.#host.platform.elapsed();
        transaction.apply([operationOf(work, limit)]);
        this.#limit = nextLimit(limit, this.#host.platform.elapsed() - startMs);
        return "worked";
      });
      return result;
    } catch (error) {
      // The store is unchanged, whatever the error, so the piece can be retried.
      this.#failure = error;
      return "failed";
    }
  }

  #nextWork(view: View): IndexWork | undefined {
    if (this.#current === undefined || !isDue(view, this.#current)) this.#current = findWork(view);
    // Work that arrives from here on wakes the builder when it is durable.
    if (this.#current === undefined) this.#isWoken = false;
    return this.#current;
  }
}

/** An index that is not finished. */
type IndexWork =
  | { readonly kind: "build_index"; readonly collection: string; readonly name: string }
  | { readonly kind: "clear_index"; readonly number: number };

function operationOf(work: IndexWork, limit: number): StoreOperation & IndexOperation {
  return { ...work, limit };
}

function isDue(view: View, work: IndexWork): boolean {
  if (work.kind === "clear_index") return view.reader.has(droppedIndexKey(work.number));
  return view.index(work.collection, work.name)?.building !== undefined;
}

/** Builds come before removals: a client waits for them. */
function findWork(view: View): IndexWork | undefined {
  if ((view.head.unfinished ?? 0) === 0) return undefined;
  for (const { collection, name, building } of view.indexes()) {
    if (building !== undefined) return { kind: "build_index", collection, name };
  }
  for (const key of view.reader.keys(DROPPED_INDEXES)) {
    return { kind: "clear_index", number: droppedIndexOfKey(key) };
  }
  return undefined;
}

/** Documents differ in size, so the duration of a piece determines the size of the next. */
function nextLimit(limit: number, elapsedMs: number): number {
  const wished = Math.round((limit * PIECE_MS) / Math.max(elapsedMs, 0.1));
  return Math.max(PIECE_MIN, Math.min(wished, limit * 2, PIECE_MAX));
}

function closedError(): PeerError {
  return new PeerError("store.closed", "the store is closed");
}
