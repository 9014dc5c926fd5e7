/**
 * TreeWriter: brings the tree up to date with the table in the background, one layer at a time, in
 * large commits: a document that was written ten times is put once.
 *
 * A layer is written when it is large enough, or some time after its first commit. If the tree
 * cannot be written, the layer stays in memory and in its log, and the writer tries again.
 */

import { assert } from "@bigpeer/protocol";
import type { ShapeRecord } from "../lmdb/shape-records.ts";
import type { CommitTable } from "./commit-table.ts";
import type { JournalLimits } from "./journal-limits.ts";
import type { JournalTree } from "./journal-tree.ts";
import type { TableLayer } from "./table-layer.ts";

/** More values than this go to the worker thread: each costs the main thread some microseconds. */
const AT_ONCE_MAX = 256;

/** `P`: as in TableLayer. */
export interface TreeWriterHost<P> {
  readonly limits: JournalLimits;
  /** Says in the same commit up to where the tree has the log. */
  mark(position: P): readonly ShapeRecord[];
  /** Called when the tree has a layer, with the last mark. */
  written(): void;
}

export class TreeWriter<P = unknown> {
  readonly #tree: JournalTree;
  readonly #table: CommitTable<P>;
  readonly #host: TreeWriterHost<P>;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the active layer has waited long enough. */
  #isDue = false;
  #failure: unknown;
  /** Set while the active layer must not be frozen. */
  #pause: Pause | undefined;
  #isStopped = false;

  constructor(tree: JournalTree, table: CommitTable<P>, host: TreeWriterHost<P>) {
    this.#tree = tree;
    this.#table = table;
    this.#host = host;
  }

  /** Whether the last write failed, and its layer still waits. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether a commit must wait until the tree has caught up. */
  get isBehind(): boolean {
    return this.#table.frozen !== undefined && this.#isFull(this.#table.active);
  }

  /** Until it is resumed, the active layer is not frozen: a commit was planned for it. */
  pauseFreezing(): void {
    this.#pause = newPause();
  }

  resumeFreezing(): void {
    this.#pause?.end();
    this.#pause = undefined;
    this.#check();
  }

  /** Writes the active layer as soon as the answers of its last commit are under way. */
  hasten(): void {
    this.#isDue = true;
    setImmediate(() => this.#check());
  }

  /** Writes everything that is in the table now. Rejects if the tree cannot be written. */
  async drain(): Promise<void> {
    const { active, frozen } = this.#table;
    const isLeft = (): boolean =>
      (frozen !== undefined && this.#table.frozen === frozen) ||
      this.#table.frozen === active ||
      (this.#table.active === active && !active.isEmpty);
    while (isLeft()) {
      if (this.#running === undefined) this.#start();
      // Nothing runs if the layer must not be frozen now.
      if (this.#running === undefined) await this.#pause?.ended;
      await this.#running;
      if (this.#failure !== undefined) throw this.#failure;
    }
  }

  /** Waits until the layer that is being written is in the tree. Rejects if it cannot be. */
  async whenWritten(): Promise<void> {
    if (this.#running === undefined && this.#table.frozen !== undefined) this.#start();
    await this.#running;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits until nothing is written to the tree, whatever came of it. */
  async whenIdle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Runs other work on the tree, which does one thing at a time. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    await this.whenIdle();
    const working = work();
    this.#running = working.then(
      () => {},
      () => {},
    );
    try {
      return await working;
    } finally {
      this.#running = undefined;
      this.#check();
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #check(): void {
    if (this.#running !== undefined || this.#isStopped || this.#table.isEmpty) return;
    const isWanted = this.#table.frozen !== undefined || this.#isFull(this.#table.active);
    if (this.#isDue || (isWanted && this.#failure === undefined)) this.#start();
    if (this.#running === undefined && !this.#isDue) this.#arm();
  }

  #arm(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#isDue = true;
      this.#check();
    }, this.#host.limits.layerMs).unref();
  }

  #start(): void {
    const { active, frozen } = this.#table;
    if (frozen === undefined && (this.#pause !== undefined || active.isEmpty)) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    this.#running = this.#write(frozen ?? this.#table.freeze()).finally(() => {
      this.#running = undefined;
      this.#check();
    });
  }

  /** Never rejects. */
  async #write(layer: TableLayer<P>): Promise<void> {
    try {
      const { position } = layer;
      assert(position !== undefined, "a layer with a commit");
      // It is there already, unless a commit before used more than was estimated.
      await this.#tree.reserve([layer.pages]);
      await this.#tree.write({
        values: layer.newest(),
        beside: [...layer.beside, ...this.#host.mark(position)],
        atOnceMax: AT_ONCE_MAX,
        isReserved: true,
      });
      this.#failure = undefined;
      this.#table.dropFrozen();
      this.#host.written();
    } catch (error) {
      this.#failure = error;
    }
  }

  #isFull({ bytes, keyCount }: TableLayer): boolean {
    const { layerBytes, layerKeys } = this.#host.limits;
    return bytes >= layerBytes || keyCount >= layerKeys;
  }
}

interface Pause {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

function newPause(): Pause {
  let end: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { ended, end: () => end?.() };
}
