/**
 * JournaledKeyValue: the KeyValue storage with a journal in front of an LMDB tree.
 *
 * A commit is one entry in the journal, with one synced write. Then it is durable, and visible
 * through the table in memory. In the background the table goes to the tree in large commits, each
 * with the position in the journal that it reaches; then the segment of the journal is used again.
 * A commit that is too large for the journal goes to the tree directly, after everything before it.
 *
 *   commit → journal (durable) → table (visible) → tree → segment used again
 *
 * The journal begins with the first commit after startJournal(); before, and while the storage is
 * closed, there is none. docs/decisions/0023-journal.md states the cost.
 */

import { randomBytes } from "node:crypto";
import type { Key, KeyValue, Reader, Snapshot, Writes } from "@bigpeer/engine";
import { assert, PeerError } from "@bigpeer/protocol";
import { CommitEncoder, ENTRIES_AT_ONCE } from "../lmdb/commit-encoder.ts";
import type { EncodedWrite } from "../lmdb/encoded-write.ts";
import { SnapshotHolder } from "../lmdb/held-snapshot.ts";
import { type LmdbOptions, SNAPSHOT_LIFE_MS } from "../lmdb/lmdb-key-value.ts";
import { LmdbTree, type OnEnd } from "../lmdb/lmdb-tree.ts";
import { type ShapeRecord, shapeRecords } from "../lmdb/shape-records.ts";
import { CommitTable } from "./commit-table.ts";
import { FolderSegments } from "./folder-segments.ts";
import { Journal, newEntry, PAYLOAD_START } from "./journal.ts";
import { JOURNAL_LIMITS, type JournalLimits } from "./journal-limits.ts";
import { encodeMark } from "./journal-mark.ts";
import { type JournaledWrites, payloadSize, writePayload } from "./journal-payload.ts";
import { type OnReplay, recover } from "./journal-recovery.ts";
import type { JournalTree } from "./journal-tree.ts";
import { completeCopy } from "./journaled-reader.ts";
import type { SegmentFiles } from "./segment-files.ts";
import { JOURNAL_ID_SIZE } from "./segment-format.ts";
import type { LayerPlan } from "./table-layer.ts";
import { TreeWriter } from "./tree-writer.ts";

export interface JournaledOptions extends Omit<LmdbOptions, "readOnly"> {
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

/** What a journaled storage stands on. */
export interface JournaledParts<T extends JournalTree = JournalTree> {
  readonly tree: T;
  readonly files: SegmentFiles;
}

/**
 * Opens the storage in `folder` for writing, and replays its journal if it was not closed cleanly.
 * Rejects as LmdbTree, and with `store.corrupt` if the journal is damaged, missing or of another
 * store.
 */
export async function openJournaled(
  folder: string,
  options: JournaledOptions = {},
): Promise<JournaledLmdb> {
  return JournaledLmdb.on((onEnd) => {
    const tree = new LmdbTree(folder, options, onEnd);
    return { tree, files: new FolderSegments(tree.folder) };
  }, options);
}

/** As openJournaled, with the journal started: for a store that is used as it is. */
export async function openStorage(
  folder: string,
  options: JournaledOptions = {},
): Promise<JournaledLmdb> {
  const storage = await openJournaled(folder, options);
  storage.startJournal();
  return storage;
}

export class JournaledKeyValue<T extends JournalTree = JournalTree> implements KeyValue {
  protected readonly tree: T;
  readonly #files: SegmentFiles;
  readonly #limits: JournalLimits;
  readonly #encoder: CommitEncoder;
  readonly #snapshots: SnapshotHolder;
  readonly #table: CommitTable;
  protected readonly writer: TreeWriter;
  /** The last position of the journal before this one. */
  #position = 0;
  #isJournaling = false;
  /** Set from the first commit on that it gets. */
  #journal: Journal | undefined;
  /** The same, also if the tree does not name it yet. */
  #begun: Journal | undefined;
  /** Whether it may have made files. */
  #isBeginning = false;
  /** The first segment that is needed, by the last mark that was made. */
  #markedSegment = 0;
  readonly #work = new Set<Promise<unknown>>();
  #isCommitting = false;
  /** Set while a piece of other work on the tree must come before the next commit. */
  #before: Promise<unknown> | undefined;
  #closing: Promise<void> | undefined;

  protected constructor(open: (onEnd: OnEnd) => JournaledParts<T>, options: JournaledOptions) {
    this.#limits = { ...JOURNAL_LIMITS, ...options.limits };
    this.#snapshots = new SnapshotHolder(options.snapshotLifeMs ?? SNAPSHOT_LIFE_MS);
    const { tree, files } = open((reason) => {
      this.#snapshots.endAll(reason);
      this.#table.dropViews();
    });
    this.tree = tree;
    this.#files = files;
    this.#encoder = new CommitEncoder(tree.shapes, tree.clock);
    this.#table = new CommitTable(tree);
    this.writer = new TreeWriter(tree, this.#table, {
      limits: this.#limits,
      mark: (position) => this.#marks(position),
      written: () => this.#recycle(),
    });
  }

  protected async recover({
    onReplay = () => {},
    checkTree,
  }: JournaledOptions = {}): Promise<this> {
    try {
      if (checkTree !== undefined) this.#checkTree(checkTree);
      this.#position = await recover(this.tree, this.#files, onReplay);
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

  /** From now on commits go to the journal. Before, each is one of the tree. */
  startJournal(): void {
    this.#isJournaling = true;
  }

  snapshot(): Snapshot {
    this.checkOpen();
    return this.#snapshots.hold(this.#table.view());
  }

  async commit(writes: Writes): Promise<void> {
    assert(!this.#isCommitting, "one commit at a time");
    this.checkOpen();
    if (writes.size === 0) return;
    // Set at once, so that no other work on the tree comes before this commit.
    this.#isCommitting = true;
    try {
      await this.track(this.#commitInTurn(writes));
    } finally {
      this.#isCommitting = false;
    }
  }

  async #commitInTurn(writes: Writes): Promise<void> {
    if (this.#before !== undefined) await this.#before;
    await this.#commit(writes);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
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

  protected track<R>(work: Promise<R>): Promise<R> {
    this.#work.add(work);
    return work.finally(() => this.#work.delete(work));
  }

  protected checkOpen(): void {
    if (this.#closing !== undefined) this.tree.refuse();
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#work);
    try {
      await this.#endJournal();
    } catch {
      // The journal stays, and is replayed when the storage is opened again.
    }
    this.writer.stop();
    await this.#begun?.close();
    await this.#files.settled();
    await this.tree.close();
  }

  /** A storage that is closed has no journal. */
  async #endJournal(): Promise<void> {
    await this.writer.drain();
    if (!this.#isBeginning) return;
    if (this.#journal !== undefined) {
      const { journalId, position } = this.#journal;
      const mark = encodeMark({ journalId, position, segment: 0, isOpen: false });
      await this.tree.write({ values: [], beside: [mark] });
    }
    await this.#begun?.close();
    await this.#files.removeAll();
  }

  async #commit(writes: Writes): Promise<void> {
    const values = this.#encoder.atOnce(writes) ?? (await this.#encoder.inSlices(writes));
    const unsaved = this.tree.shapes.unsaved();
    const encoded = { values, beside: shapeRecords(unsaved.first, unsaved.shapes) };
    try {
      const size = this.#isJournaling ? this.#sizeInJournal(encoded) : undefined;
      if (size === undefined) await this.#writeDirectly(encoded);
      else await this.#append(encoded, size);
    } finally {
      this.#encoder.release();
    }
    this.tree.shapes.markSaved(unsaved.first + unsaved.shapes.length);
  }

  /** The size of the payload; undefined when it is too large for the journal. */
  #sizeInJournal(encoded: JournaledWrites): number | undefined {
    if (encoded.values.length > ENTRIES_AT_ONCE) return undefined;
    const size = payloadSize(encoded);
    return size <= this.#limits.payloadBytesMax ? size : undefined;
  }

  async #append(encoded: JournaledWrites, size: number): Promise<void> {
    try {
      await this.#appendOnce(encoded, size);
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      // On a full disk the journal has space again when its entries are in the tree.
      if (error.code === "store.full" && !this.#table.isEmpty) await this.writer.drain();
      // The tree is being opened again after a write of it failed.
      else if (error.code === "store.busy") await this.writer.whenIdle();
      else throw error;
      await this.#appendOnce(encoded, size);
    }
  }

  async #appendOnce(encoded: JournaledWrites, size: number): Promise<void> {
    if (this.writer.hasFailed) await this.writer.drain();
    if (this.writer.isBehind) await this.writer.whenWritten();
    const journal = this.#journal ?? (await this.#beginJournal());
    this.writer.pauseFreezing();
    try {
      const plan = await this.#reserve(encoded.values);
      const entry = newEntry(size);
      writePayload(entry, PAYLOAD_START, encoded);
      const position = await journal.append(entry, size);
      this.#table.add(encoded, { position, plan });
    } finally {
      this.writer.resumeFreezing();
    }
    const { retainedBytesMax } = this.#limits;
    while (this.#table.retainedBytes > retainedBytesMax && this.#endOldest());
  }

  /** Ensures that the tree has space for the writes, and for those that wait before them. */
  #reserve(values: readonly EncodedWrite[]): LayerPlan | Promise<LayerPlan> {
    const { pages, plan } = this.#table.plan(values);
    // No promise if there is space, so that the write starts before any other work.
    if (this.tree.isReserved(pages)) return plan;
    return this.tree.reserve(pages).then(() => plan);
  }

  #endOldest(): boolean {
    return this.#snapshots.endOldest((view) => this.#table.isRetaining(view));
  }

  /** The tree says that it has a journal before the first entry is in it. */
  async #beginJournal(): Promise<Journal> {
    this.#isBeginning = true;
    const position = this.#position;
    const journalId = randomBytes(JOURNAL_ID_SIZE);
    const start = { journalId, position, limits: this.#limits };
    const journal = (this.#begun ??= await Journal.begin(this.#files, start));
    const mark = { journalId: journal.journalId, position, segment: 1, isOpen: true };
    const beside = [encodeMark(mark)];
    await this.writer.exclusively(() => this.tree.write({ values: [], beside }));
    this.#journal = journal;
    return journal;
  }

  async #writeDirectly(encoded: JournaledWrites): Promise<void> {
    await this.writer.drain();
    await this.#journal?.repair();
    // Every snapshot taken meanwhile shows the state before.
    this.#table.hold();
    const values = [...encoded.values] as EncodedWrite[];
    const beside = [...encoded.beside, ...this.#marks(this.#journal?.position ?? 0)];
    await this.writer.exclusively(() => this.tree.write({ values, beside }));
    this.#table.advance();
    this.#recycle();
  }

  #marks(position: number): ShapeRecord[] {
    const journal = this.#journal;
    if (journal === undefined) return [];
    const { journalId } = journal;
    const segment = journal.segmentAfter(position);
    this.#markedSegment = segment;
    return [encodeMark({ journalId, position, segment, isOpen: true })];
  }

  #recycle(): void {
    // A segment that cannot be given up is found, and removed, when the storage is opened again.
    void this.#journal?.recycle(this.#markedSegment).catch(() => {});
  }
}

/** A journaled storage on LMDB, with the work that needs LMDB itself. */
export class JournaledLmdb extends JournaledKeyValue<LmdbTree> {
  static async on(
    open: (onEnd: OnEnd) => JournaledParts<LmdbTree>,
    options: JournaledOptions,
  ): Promise<JournaledLmdb> {
    return new JournaledLmdb(open, options).recover(options);
  }

  /** As LmdbTree.copyTo, of everything that was committed before. */
  copyTo(folder: string): Promise<void> {
    this.checkOpen();
    return this.track(this.#copyTo(folder));
  }

  async #copyTo(folder: string): Promise<void> {
    await this.writer.drain();
    await this.tree.copyTo(folder, (copy) => completeCopy(copy, { entries: [], last: 0 }));
  }

  /** Bytes in pages that hold data; free pages inside the file are not counted. */
  usedBytes(): number {
    return this.tree.usedBytes();
  }

  /** As LmdbTree.addChecksums. */
  addChecksums(from: Key): Promise<Key | undefined> {
    return this.betweenCommits(() => this.tree.addChecksums(from));
  }
}
