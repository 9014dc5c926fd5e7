/**
 * TableKeyValue: base of the storages that answer a commit before an LMDB tree has it.
 *
 * A subclass makes each commit durable in a log: the journal beside the tree, or the log of a
 * cluster. Then the commit is visible through the table in memory. In the background the table goes
 * to the tree in large commits, each with the position in the log that it reaches. A commit that is
 * too large for the table goes to the tree directly, after everything before it.
 *
 *   commit → log (durable) → table (visible) → tree
 */

import type { Key, KeyValue, Reader, Snapshot, Writes } from "@bigpeer/engine";
import { assert, PeerError } from "@bigpeer/protocol";
import { CommitEncoder, ENTRIES_AT_ONCE } from "../lmdb/commit-encoder.ts";
import { SnapshotHolder } from "../lmdb/held-snapshot.ts";
import { type LmdbOptions, SNAPSHOT_LIFE_MS } from "../lmdb/lmdb-key-value.ts";
import { LmdbTree, type OnEnd } from "../lmdb/lmdb-tree.ts";
import { type ShapeRecord, shapeRecords } from "../lmdb/shape-records.ts";
import { atOnce, Slices } from "../slices.ts";
import { CommitTable, type TablePlan } from "./commit-table.ts";
import { FolderSegments } from "./folder-segments.ts";
import { JOURNAL_LIMITS, type JournalLimits } from "./journal-limits.ts";
import { type JournaledWrites, payloadSize, writePayloadInSteps } from "./journal-payload.ts";
import { type OnReplay, recover } from "./journal-recovery.ts";
import type { JournalTree } from "./journal-tree.ts";
import { completeCopy } from "./journaled-reader.ts";
import type { SegmentFiles } from "./segment-files.ts";
import type { LayerPlan } from "./table-layer.ts";
import { TreeWriter } from "./tree-writer.ts";

export interface TableOptions extends Omit<LmdbOptions, "readOnly"> {
  /** Called when entries of the journal are replayed, because the storage was not closed cleanly. */
  readonly onReplay?: OnReplay;
  /**
   * Called with the tree before its journal is looked at, which may be of a version of the software
   * that this one does not know. If it throws, the storage is not opened, and is left as it is.
   */
  readonly checkTree?: (tree: Pick<Reader, "get">) => void;
  /** For tests; JOURNAL_LIMITS otherwise. */
  readonly limits?: Partial<JournalLimits>;
}

/** What a storage stands on. */
export interface StorageParts<T extends JournalTree = JournalTree> {
  readonly openTree: (onEnd: OnEnd) => T;
  /** The files of the journal beside the tree. */
  readonly filesOf: (tree: T) => SegmentFiles;
}

/** The parts of a storage in `folder`. */
export function partsIn(folder: string, options: TableOptions): StorageParts<LmdbTree> {
  return {
    openTree: (onEnd) => new LmdbTree(folder, options, onEnd),
    filesOf: (tree) => new FolderSegments(tree.folder),
  };
}

const NOTHING: Promise<void> = Promise.resolve();

/** Whether the writes are so few that no pause is needed. */
function isSmall({ values }: JournaledWrites): boolean {
  return values.length <= ENTRIES_AT_ONCE;
}

/** `P`: a position in the log. */
export abstract class TableKeyValue<T extends JournalTree, P> implements KeyValue {
  protected readonly tree: T;
  protected readonly files: SegmentFiles;
  protected readonly limits: JournalLimits;
  protected readonly writer: TreeWriter<P>;
  readonly #table: CommitTable<P>;
  readonly #encoder: CommitEncoder;
  readonly #snapshots: SnapshotHolder;
  readonly #work = new Set<Promise<unknown>>();
  #isCommitting = false;
  /** Set while a piece of other work on the tree must come before the next commit. */
  #before: Promise<unknown> | undefined;
  #closing: Promise<void> | undefined;

  protected constructor({ openTree, filesOf }: StorageParts<T>, options: TableOptions) {
    this.limits = { ...JOURNAL_LIMITS, ...options.limits };
    this.#snapshots = new SnapshotHolder(options.snapshotLifeMs ?? SNAPSHOT_LIFE_MS);
    this.tree = openTree((reason) => {
      this.#snapshots.endAll(reason);
      this.#table.dropViews();
    });
    this.files = filesOf(this.tree);
    this.#encoder = new CommitEncoder(this.tree.shapes, this.tree.clock);
    this.#table = new CommitTable(this.tree);
    this.writer = new TreeWriter(this.tree, this.#table, {
      limits: this.limits,
      mark: (position) => this.marks(position),
      written: () => this.written(),
    });
  }

  /** Brings the tree up to date with its journal, if the storage was not closed cleanly. */
  protected async recover({ onReplay = () => {}, checkTree }: TableOptions = {}): Promise<this> {
    try {
      if (checkTree !== undefined) this.#checkTree(checkTree);
      await this.start(await recover(this.tree, this.files, onReplay));
      return this;
    } catch (error) {
      await this.tree.close();
      throw error;
    }
  }

  #checkTree(check: (tree: Pick<Reader, "get">) => void): void {
    const view = this.tree.view();
    try {
      check(view);
    } finally {
      view.release();
    }
  }

  /** Called once, when the tree has all of its journal, with the last position of the journal. */
  protected abstract start(journalPosition: number): Promise<void>;

  /** Makes the encoded writes of a commit durable and visible. */
  protected abstract keep(encoded: JournaledWrites): Promise<void>;

  /** The records that say up to where the tree has the log, for the commit that brings it there. */
  protected abstract marks(position: P): readonly ShapeRecord[];

  /** Called when the tree has what the last marks say. */
  protected abstract written(): void;

  /** Called before the tree is closed: the table goes to the tree, as far as possible. */
  protected abstract end(): Promise<void>;

  snapshot(): Snapshot {
    this.checkOpen();
    return this.#snapshots.hold(this.#table.view());
  }

  commit(writes: Writes): Promise<void> {
    return this.inTurn(() => (writes.size === 0 ? NOTHING : this.encode(writes, this.#keep)));
  }

  readonly #keep = (encoded: JournaledWrites): Promise<void> => this.keep(encoded);

  /** Runs one commit at a time, after other work on the tree. */
  protected async inTurn(commit: () => Promise<void>): Promise<void> {
    assert(!this.#isCommitting, "one commit at a time");
    this.checkOpen();
    // Set at once, so that no other work on the tree comes before this commit.
    this.#isCommitting = true;
    try {
      await this.track(this.#before === undefined ? commit() : this.#before.then(commit));
    } finally {
      this.#isCommitting = false;
    }
  }

  /** `keep` makes the encoded writes durable, which are lent until it resolves. */
  protected async encode(
    writes: Writes,
    keep: (encoded: JournaledWrites) => Promise<void>,
  ): Promise<void> {
    const values = this.#encoder.atOnce(writes) ?? (await this.#encoder.inSlices(writes));
    const unsaved = this.tree.shapes.unsaved();
    const beside = shapeRecords(unsaved.first, unsaved.shapes);
    try {
      await keep({ values, beside });
    } finally {
      this.#encoder.release();
    }
    this.tree.shapes.markSaved(unsaved.first + unsaved.shapes.length);
  }

  /** The size of the writes as a payload; undefined when they are too large for the table. */
  protected sizeInTable(encoded: JournaledWrites): number | undefined {
    if (encoded.values.length > this.limits.recordsMax) return undefined;
    const size = payloadSize(encoded);
    return size <= this.limits.payloadBytesMax ? size : undefined;
  }

  /** Position of the newest commit in the table; undefined when the tree has everything. */
  protected get tablePosition(): P | undefined {
    return this.#table.position;
  }

  /**
   * Makes the writes visible when `append` resolves with their position in the log. Space for them
   * in the tree is reserved before. `append` copies the values, which are lent.
   */
  protected async addAfter(encoded: JournaledWrites, append: () => Promise<P>): Promise<void> {
    if (this.writer.hasFailed || !isSmall(encoded)) await this.writer.drain();
    if (this.writer.isBehind) await this.writer.whenWritten();
    this.writer.pauseFreezing();
    try {
      await (isSmall(encoded)
        ? this.#addAtOnce(encoded, append)
        : this.#addInSlices(encoded, append));
    } finally {
      this.writer.resumeFreezing();
    }
    const { retainedBytesMax } = this.limits;
    while (this.#table.retainedBytes > retainedBytesMax && this.#endOldest());
  }

  async #addAtOnce(encoded: JournaledWrites, append: () => Promise<P>): Promise<void> {
    const plan = await this.#reserve(this.#table.plan(encoded.values));
    const position = await append();
    this.#table.add(encoded, { position, plan });
  }

  /**
   * The tree gets each large commit alone, as soon as it is answered: to reserve the space for
   * several of them would make the data file several times as long.
   */
  async #addInSlices(encoded: JournaledWrites, append: () => Promise<P>): Promise<void> {
    const slices = new Slices(this.tree.clock);
    const planned = await slices.take(this.#table.planInSteps(encoded.values));
    const plan = await this.#reserve(planned);
    const position = await append();
    await slices.take(this.#table.addInSteps(encoded, { position, plan }));
    this.writer.hasten();
  }

  /** Copies the payload of a commit to `target`, with pauses if it is large. */
  protected writePayload(
    target: Buffer,
    start: number,
    encoded: JournaledWrites,
  ): Promise<void> | undefined {
    const steps = writePayloadInSteps(target, start, encoded);
    if (!isSmall(encoded)) return new Slices(this.tree.clock).take(steps);
    atOnce(steps);
    return undefined;
  }

  /** Tries a second time if the first attempt failed for a reason that passes with the table. */
  protected async tryTwice(
    attempt: () => Promise<void>,
    isRepeatable: () => boolean = () => true,
  ): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      if (!(error instanceof PeerError && isRepeatable())) throw error;
      // On a full disk there may be space again when the table is in the tree.
      if (error.code === "store.full" && !this.#table.isEmpty) await this.writer.drain();
      // The tree is being opened again after a write of it failed.
      else if (error.code === "store.busy") await this.writer.whenIdle();
      else throw error;
      await attempt();
    }
  }

  /** Ensures that the tree has space for the writes, and for those that wait before them. */
  #reserve({ pages, plan }: TablePlan): LayerPlan | Promise<LayerPlan> {
    // No promise if there is space, so that the write starts before any other work.
    if (this.tree.isReserved(pages)) return plan;
    return this.tree.reserve(pages).then(() => plan);
  }

  #endOldest(): boolean {
    return this.#snapshots.endOldest((view) => this.#table.isRetaining(view));
  }

  /** Ensures that the tree has space for a commit that is written directly. The table is empty. */
  protected async reserveDirectly({ values }: JournaledWrites): Promise<void> {
    await this.#reserve(this.#table.plan(values));
  }

  /** Writes a commit to the tree itself, where the table must be already. */
  protected async writeDirectly(
    encoded: JournaledWrites,
    marks: readonly ShapeRecord[],
    { isReserved = false }: { readonly isReserved?: boolean } = {},
  ): Promise<void> {
    // Every snapshot taken meanwhile shows the state before.
    this.#table.hold();
    const values = [...encoded.values];
    const beside = [...encoded.beside, ...marks];
    await this.writer.exclusively(() => this.tree.write({ values, beside, isReserved }));
    this.#table.advance();
  }

  /** Runs work on the tree between two commits, when the table is in it. */
  protected async betweenCommits<R>(work: () => Promise<R>): Promise<R> {
    while (this.#isCommitting || this.#before !== undefined) await Promise.allSettled(this.#work);
    this.checkOpen();
    const working = this.track(this.#afterTable(work));
    this.#before = working.catch(() => {});
    try {
      return await working;
    } finally {
      this.#before = undefined;
      this.#table.dropTreeView();
    }
  }

  async #afterTable<R>(work: () => Promise<R>): Promise<R> {
    await this.writer.drain();
    return this.writer.exclusively(work);
  }

  protected async track<R>(work: Promise<R>): Promise<R> {
    this.#work.add(work);
    try {
      return await work;
    } finally {
      this.#work.delete(work);
    }
  }

  protected checkOpen(): void {
    if (this.#closing !== undefined) this.tree.refuse();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#work);
    await this.end();
    await this.tree.close();
  }

  /** As LmdbTree.copyTo, of everything that was committed before, with its position in the log. */
  copyTo(this: TableKeyValue<LmdbTree, P>, folder: string): Promise<void> {
    this.checkOpen();
    return this.track(this.#copyTo(folder));
  }

  async #copyTo(this: TableKeyValue<LmdbTree, P>, folder: string): Promise<void> {
    await this.writer.drain();
    await this.tree.copyTo(folder, (copy) => completeCopy(copy, { entries: [], last: 0 }));
  }

  /** Bytes in pages that hold data; free pages inside the file are not counted. */
  usedBytes(this: TableKeyValue<LmdbTree, P>): number {
    return this.tree.usedBytes();
  }

  /** As LmdbTree.addChecksums. */
  addChecksums(this: TableKeyValue<LmdbTree, P>, from: Key): Promise<Key | undefined> {
    return this.betweenCommits(() => this.tree.addChecksums(from));
  }
}
