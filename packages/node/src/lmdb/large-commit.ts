/**
 * LargeCommits: sends commits with very many entries to a worker thread, because passing them to
 * lmdb one by one would block the main thread. The pieces are packed in time slices; the thread
 * writes them in one transaction (commit-thread.ts).
 *
 * The thread starts with the first such commit and ends when it is idle. Space in the file must
 * have been reserved before, as for every commit.
 */

import { Worker } from "node:worker_threads";
import { type SliceClock, Slices } from "../slices.ts";
import type { FromThread, ThreadOptions, ToThread } from "./commit-thread.ts";
import type { EncodedWrite } from "./encoded-write.ts";
import { type PackedPiece, type PackedTree, packEntries } from "./packed-entries.ts";

/** The built file, also when the sources run directly: Node 20 does not run TypeScript. */
const THREAD_FILE = new URL("../../dist/lmdb/commit-thread.js", import.meta.url);

/** Pieces that the thread has not received yet; more wait, so that not all is in memory twice. */
const PIECES_MAX = 16;

/** How long an idle thread stays. */
const IDLE_MS = 10_000;

export type LargeWrites = { readonly [tree in PackedTree]: EncodedWrite[] };

export class LargeCommits {
  readonly #options: ThreadOptions;
  readonly #clock: SliceClock;
  #thread: CommitThread | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: ThreadOptions, clock: SliceClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Empties the lists. Resolves after the sync; rejects when nothing was written. One at a time. */
  async write(trees: LargeWrites): Promise<void> {
    clearTimeout(this.#idle);
    this.#thread ??= new CommitThread(this.#options);
    const thread = this.#thread;
    try {
      await this.#send(thread, trees);
      await thread.commit();
    } catch (error) {
      thread.drop();
      throw error;
    }
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }

  /** Ends the thread, which must have no commit. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.close();
  }

  async #send(thread: CommitThread, trees: LargeWrites): Promise<void> {
    const slices = new Slices(this.#clock);
    for (const tree of ["values", "shapes"] as const) {
      for (const piece of packEntries(trees[tree])) {
        await thread.send(tree, piece);
        if (slices.isOver) await slices.pause();
      }
    }
  }
}

class CommitThread {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #untaken = 0;
  /** The error after which nothing more can be written. */
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  #isCommitted = false;

  constructor(options: ThreadOptions) {
    this.#worker = new Worker(THREAD_FILE, { workerData: options });
    this.#worker.on("message", (message: FromThread) => this.#hear(message));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#ended = new Promise((resolve) => {
      this.#worker.on("exit", () => {
        this.#fail(new Error("expected the thread of a commit to go on, found it ended"));
        resolve();
      });
    });
  }

  /** Resolves when there is room for another piece. */
  async send(tree: PackedTree, piece: PackedPiece): Promise<void> {
    while (this.#untaken >= PIECES_MAX && this.#failure === undefined) await this.#heard();
    if (this.#failure !== undefined) throw this.#failure;
    this.#untaken++;
    this.#worker.ref();
    const message: ToThread = { kind: "entries", tree, piece };
    this.#worker.postMessage(message, [piece.buffer]);
  }

  async commit(): Promise<void> {
    this.#say({ kind: "commit" });
    while (!this.#isCommitted && this.#failure === undefined) await this.#heard();
    if (this.#failure !== undefined) throw this.#failure;
    this.#isCommitted = false;
    // An idle thread does not keep the process alive.
    this.#worker.unref();
  }

  drop(): void {
    this.#say({ kind: "drop" });
  }

  async close(): Promise<void> {
    this.#worker.ref();
    this.#say({ kind: "close" });
    await this.#ended;
  }

  #say(message: ToThread): void {
    this.#worker.postMessage(message, []);
  }

  #heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #hear(message: FromThread): void {
    if (message.kind === "took") this.#untaken--;
    else if (message.kind === "committed") this.#isCommitted = true;
    else this.#fail(Object.assign(new Error(message.message), { code: message.code }));
    this.#wake?.();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }
}
