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
import type { Key, KeyValue, Snapshot, Writes } from "@bigpeer/engine";
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
import { TreeWriter } from "./tree-writer.ts";

export interface JournaledOptions extends Omit<LmdbOptions, "readOnly"> {
  /** Called when entries of the journal are replayed, because the storage was not closed cleanly. */
  readonly onReplay?: OnReplay;
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
      this.#table.dropCurrent();
    });
    this.tree = tree;
    this.#files = files;
    this.#encoder = new CommitEncoder(tree.shapes, tree.clock);
    this.#table = new CommitTable(tree);
    this.writer = new TreeWriter(tree, this.#table, {
      limits: this.#limits,
      mark: (position) => this.#marks(position),
      written: () => this.#release(),
    });
  }

  protected async recover(onReplay: OnReplay = () => {}): Promise<this> {
    try {
      this.#position = await recover(this.tree, this.#files, onReplay);
      return this;
    } catch (error) {
      await this.tree.close();
      throw error;
    }
  }

  /** From now on commits go to the journal. Before, each is one of the tree. */
  startJournal(): void {
    this.#isJournaling = true;
  }

  snapshot(): Snapshot {
    this.#checkOpen();
    return this.#snapshots.hold(this.#table.view());
  }

  async commit(writes: Writes): Promise<void> {
    assert(!this.#isCommitting, "one commit at a time");
    this.#checkOpen();
    if (writes.size === 0) return;
    // Set at once, so that no other work on the tree comes before this commit.
    this.#isCommitting = true;
    if (this.#before !== undefined) await this.#before;
    try {
      await this.track(this.#commit(writes));
    } finally {
      this.#isCommitting = false;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Runs work on the tree between two commits, when the table is in it. */
  protected async betweenCommits<R>(work: () => Promise<R>): Promise<R> {
    while (this.#isCommitting || this.#before !== undefined) await Promise.allSettled(this.#work);
    this.#checkOpen();
    const working = this.track(this.writer.exclusively(work));
    this.#before = working.catch(() => {});
    try {
      return await working;
    } finally {
      this.#before = undefined;
    }
  }

  protected track<R>(work: Promise<R>): Promise<R> {
    this.#work.add(work);
    return work.finally(() => this.#work.delete(work));
  }

  #checkOpen(): void {
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
    await this.#journal?.close();
    await this.tree.close();
  }

  /** A storage that is closed has no journal. */
  async #endJournal(): Promise<void> {
    await this.writer.drain();
    const journal = this.#journal;
    if (journal === undefined) return;
    const { journalId, position } = journal;
    const mark = encodeMark({ journalId, position, segment: 0, isOpen: false });
    await this.tree.write({ values: [], beside: [mark] });
    await journal.close();
    await this.#files.removeAll();
  }

  async #commit(writes: Writes): Promise<void> {
    const values = this.#encoder.atOnce(writes) ?? (await this.#encoder.inSlices(writes));
    const unsaved = this.tree.shapes.unsaved();
    const encoded = { values, beside: shapeRecords(unsaved.first, unsaved.shapes) };
    try {
      if (this.#isJournaling && this.#isSmall(encoded)) await this.#append(encoded);
      else await this.#writeDirectly(encoded);
    } finally {
      this.#encoder.release();
    }
    this.tree.shapes.markSaved(unsaved.first + unsaved.shapes.length);
  }

  #isSmall(encoded: JournaledWrites): boolean {
    if (encoded.values.length > ENTRIES_AT_ONCE) return false;
    return payloadSize(encoded) <= this.#limits.payloadBytesMax;
  }

  /** On a full disk the journal has space again when its entries are in the tree. */
  async #append(encoded: JournaledWrites): Promise<void> {
    try {
      await this.#appendOnce(encoded);
    } catch (error) {
      const isFull = error instanceof PeerError && error.code === "store.full";
      if (!isFull || this.#table.isEmpty) throw error;
      await this.writer.drain();
      await this.#appendOnce(encoded);
    }
  }

  async #appendOnce(encoded: JournaledWrites): Promise<void> {
    if (this.writer.hasFailed) await this.writer.drain();
    if (this.writer.isBehind) await this.writer.whenWritten();
    this.#journal ??= await this.#beginJournal();
    this.writer.hold();
    try {
      const { all, own } = this.#table.planned(encoded.values);
      // No promise if there is space, so that the write starts before any other work.
      const growth = this.tree.reserve(all);
      if (growth !== undefined) await growth;
      const size = payloadSize(encoded);
      const entry = newEntry(size);
      const values = writePayload(entry, PAYLOAD_START, encoded);
      const position = await this.#journal.append(entry, size);
      this.#table.add({ values, beside: encoded.beside }, { position, pages: own });
    } finally {
      this.writer.release();
    }
    const { retainedBytesMax } = this.#limits;
    while (this.#table.retainedBytes > retainedBytesMax && this.#snapshots.endOldest());
  }

  /** The tree says that it has a journal before the first entry is in it. */
  async #beginJournal(): Promise<Journal> {
    const journalId = randomBytes(JOURNAL_ID_SIZE);
    const position = this.#position;
    const start = { journalId, position, limits: this.#limits };
    const journal = await Journal.begin(this.#files, start);
    const mark = encodeMark({ journalId, position, segment: 1, isOpen: true });
    try {
      await this.writer.exclusively(() => this.tree.write({ values: [], beside: [mark] }));
      return journal;
    } catch (error) {
      await journal.close();
      await this.#files.removeAll().catch(() => {});
      throw error;
    }
  }

  async #writeDirectly(encoded: JournaledWrites): Promise<void> {
    await this.writer.drain();
    // Every snapshot taken meanwhile shows the state before.
    this.#table.hold();
    const values = [...encoded.values] as EncodedWrite[];
    const beside = [...encoded.beside, ...this.#marks(this.#journal?.position ?? 0)];
    await this.writer.exclusively(() => this.tree.write({ values, beside }));
    this.#table.advance();
    this.#release();
  }

  #marks(position: number): ShapeRecord[] {
    const journal = this.#journal;
    if (journal === undefined) return [];
    const { journalId } = journal;
    const segment = journal.segmentAfter(position);
    this.#markedSegment = segment;
    return [encodeMark({ journalId, position, segment, isOpen: true })];
  }

  #release(): void {
    // A segment that cannot be given up is found, and removed, when the storage is opened again.
    void this.#journal?.release(this.#markedSegment).catch(() => {});
  }
}

/** A journaled storage on LMDB, with the work that needs LMDB itself. */
export class JournaledLmdb extends JournaledKeyValue<LmdbTree> {
  static async on(
    open: (onEnd: OnEnd) => JournaledParts<LmdbTree>,
    options: JournaledOptions,
  ): Promise<JournaledLmdb> {
    return new JournaledLmdb(open, options).recover(options.onReplay);
  }

  /** As LmdbTree.copyTo, of everything that was committed before. */
  copyTo(folder: string): Promise<void> {
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
