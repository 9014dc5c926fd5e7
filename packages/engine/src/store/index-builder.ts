/**
 * Index builder: goes on with indexes that are not finished, piece by piece, in the background.
 *
 * CREATE INDEX fills an index with the first documents, DROP INDEX removes the first entries; what
 * is left of both is done here, one index after the other, by logged operations. Each piece is a
 * transaction of its own and small, so that nobody waits for more than that; while one is being
 * flushed, the next is evaluated.
 *
 *   resting ──a commit leaves something to do──> at work ──nothing more, a failure, close──> resting
 *
 * What is to be done is read from the store, so a restart simply goes on. The engine has no timers:
 * after a failure the next commit that comes late enough, or maintenance, is when it tries again.
 */

import { type IndexOperation, PeerError, type StoreOperation } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import type { Evaluate } from "./commit-queue.ts";
import { DROPPED_INDEXES, droppedIndexKey, droppedIndexOfKey } from "./keys.ts";
import type { View } from "./view.ts";

/** Documents of the first piece, in the transaction of CREATE INDEX: fewer are indexed at once. */
export const FIRST_PIECE = 1000;

/** Documents or entries of one piece; it is made so large that it takes about PIECE_MS. */
const PIECE_MIN = 16;
const PIECE_MAX = 4000;
const PIECE_MS = 8;

/** Pieces under way: one that is flushed, and one that is evaluated meanwhile. */
const PIECES_AHEAD = 2;

/** How long a failed piece is left alone: it takes along whoever shares its commit. */
const REST_MS = 30_000;

/** What the builder needs of its store. */
export interface BuilderHost {
  readonly platform: Pick<Platform, "elapsed" | "pause">;
  transact<T>(evaluate: Evaluate<T>): Promise<{ readonly result: T }>;
}

/** What a piece found: more to do, nothing to do, or that it could not be done. */
type PieceOutcome = "worked" | "finished" | "failed";

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: PeerError) => void;
}

export class IndexBuilder {
  readonly #host: BuilderHost;
  #running: Promise<void> | undefined;
  /** Whether something may have come since the last look. */
  #isWoken = false;
  #isClosed = false;
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #limit = FIRST_PIECE;
  /** What the last piece was about: it need not be looked for again. */
  #current: IndexWork | undefined;
  #waiters: Waiter[] = [];

  constructor(host: BuilderHost) {
    this.#host = host;
  }

  /** To be called when there is something to do. Returns at once. */
  wake(): void {
    this.#isWoken = true;
    if (this.#isClosed || this.#running !== undefined || this.#isResting()) return;
    this.#running = this.#run();
  }

  /** Tries again after a failure, and waits until all is done. Rejects when it fails once more. */
  async goOn(): Promise<void> {
    this.#restsUntilMs = Number.NEGATIVE_INFINITY;
    this.wake();
    await this.#running;
    if (this.#isResting() && !this.#isClosed) throw this.#failure;
  }

  /** Waits until nothing is left to do, through failures; rejects when the store is closed before. */
  whenFinished(): Promise<void> {
    if (this.#isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Begins no other piece; resolves when those under way are over. */
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

  /** Works until nothing is left to do or a piece fails. Tells what became of the last one. */
  async #work(): Promise<PieceOutcome> {
    const sent: Promise<PieceOutcome>[] = [];
    let outcome: PieceOutcome = "worked";
    while (outcome === "worked" && this.#isWoken && !this.#isClosed) {
      await this.#host.platform.pause();
      sent.push(this.#piece());
      if (sent.length >= PIECES_AHEAD) outcome = (await sent.shift()) ?? outcome;
    }
    // Those behind one that failed were evaluated again without it: the last one says how it is now.
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
      // Whatever it was, the store is as before, and the piece can be tried again.
      this.#failure = error;
      return "failed";
    }
  }

  #nextWork(view: View): IndexWork | undefined {
    if (this.#current === undefined || !isDue(view, this.#current)) this.#current = findWork(view);
    // What comes from here on wakes the builder when it is durable.
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

/** Builds first: somebody waits for them. */
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

/** Documents differ in size, so the time of a piece says how large the next may be. */
function nextLimit(limit: number, elapsedMs: number): number {
  const wished = Math.round((limit * PIECE_MS) / Math.max(elapsedMs, 0.1));
  return Math.max(PIECE_MIN, Math.min(wished, limit * 2, PIECE_MAX));
}

function closedError(): PeerError {
  return new PeerError("store.closed", "the store is closed");
}
