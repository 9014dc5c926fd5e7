/**
 * Commit thread: worker that writes large commits: it receives their entries in pieces, puts them
 * into one LMDB transaction, and commits that with one sync. In the main thread each entry would
 * cost a few microseconds, and the commit of an upload has hundreds of thousands.
 *
 * It opens the same files as the main thread; in one process both are the same environment.
 * large-commit.ts starts it and sends it messages. The transaction is open from the first piece to
 * the commit. Of our code it imports only packed-entries.ts, so that it starts quickly.
 */

import { parentPort, workerData } from "node:worker_threads";
import { type Database, open, type RootDatabase } from "lmdb";
import { eachEntry, type PackedPiece, type PackedTree } from "./packed-entries.ts";

export interface ThreadOptions {
  /** The options with which lmdb opens the environment. */
  readonly root: { readonly path: string };
  readonly values: string;
  readonly shapes: string;
}

export type ToThread =
  | { readonly kind: "entries"; readonly tree: PackedTree; readonly piece: PackedPiece }
  | { readonly kind: "commit" }
  /** Drops all entries received so far. */
  | { readonly kind: "drop" }
  | { readonly kind: "close" };

export type FromThread =
  /** A piece was received. */
  | { readonly kind: "took" }
  | { readonly kind: "committed" }
  /** Nothing was written. `code` is an error number of LMDB or of the system. */
  | { readonly kind: "failed"; readonly code: unknown; readonly message: string };

type Bytes = Uint8Array;

/** The keys are bytes already. */
const keyEncoder = {
  writeKey: (key: Bytes, target: Bytes, start: number): number => {
    target.set(key, start);
    return start + key.length;
  },
  readKey: (source: Bytes, start: number, end: number): Bytes => source.slice(start, end),
};

class Thread {
  readonly #root: RootDatabase;
  readonly #trees: { readonly [tree in PackedTree]: Database<Bytes, Bytes> };
  readonly #port: NonNullable<typeof parentPort>;
  readonly #queue: ToThread[] = [];
  #wake: (() => void) | undefined;

  constructor({ root, values, shapes }: ThreadOptions, port: NonNullable<typeof parentPort>) {
    this.#root = open(root);
    this.#trees = { values: this.#open(values), shapes: this.#open(shapes) };
    this.#port = port;
    port.on("message", (message: ToThread) => {
      this.#queue.push(message);
      this.#wake?.();
    });
  }

  async run(): Promise<void> {
    for (let first = await this.#next(); first.kind !== "close"; first = await this.#next()) {
      if (first.kind === "entries") await this.#commit(first);
    }
    await this.#root.close();
    this.#port.close();
  }

  #open(name: string): Database<Bytes, Bytes> {
    // lmdb's types know neither `create` nor keys of this kind.
    const options = { name, create: false, keyEncoder, encoding: "binary" as const };
    return this.#root.openDB(options) as unknown as Database<Bytes, Bytes>;
  }

  async #next(): Promise<ToThread> {
    for (;;) {
      const message = this.#queue.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async #commit(first: ToThread): Promise<void> {
    let last = first;
    try {
      await this.#root.transactionSync(async () => {
        for (; last.kind === "entries"; last = await this.#next()) this.#put(last);
        if (last.kind !== "commit") throw new Error("expected all entries of the commit");
      });
      this.#say({ kind: "committed" });
    } catch (error) {
      const { code, message } = error as { readonly code?: unknown; readonly message: string };
      this.#say({ kind: "failed", code, message });
      // More of it may be under way.
      while (last.kind === "entries") last = await this.#next();
    }
  }

  #put({ tree, piece }: Extract<ToThread, { kind: "entries" }>): void {
    const database = this.#trees[tree];
    eachEntry(piece, (key, value) => {
      if (value === undefined) void database.remove(key);
      else void database.put(key, value);
    });
    this.#say({ kind: "took" });
  }

  #say(message: FromThread): void {
    this.#port.postMessage(message, []);
  }
}

if (parentPort !== null) await new Thread(workerData as ThreadOptions, parentPort).run();
