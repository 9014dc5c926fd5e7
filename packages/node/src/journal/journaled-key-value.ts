/**
 * JournaledKeyValue: the KeyValue storage with a journal in front of an LMDB tree.
 *
 * A commit is one entry in the journal, with one synced write. Then it is durable, and visible
 * through the table in memory (table-key-value.ts). When the tree has the table, the segment of the
 * journal is used again.
 *
 *   commit → journal (durable) → table (visible) → tree → segment used again
 *
 * The journal begins with the first commit after startJournal(); before, and while the storage is
 * closed, there is none. docs/decisions/0023-journal.md states the cost.
 */

import { randomBytes } from "node:crypto";
import type { LmdbTree } from "../lmdb/lmdb-tree.ts";
import type { ShapeRecord } from "../lmdb/shape-records.ts";
import { leaveLog } from "../replica/log-mark.ts";
import { Journal, newEntry, PAYLOAD_START } from "./journal.ts";
import { encodeMark } from "./journal-mark.ts";
import type { JournaledWrites } from "./journal-payload.ts";
import type { JournalTree } from "./journal-tree.ts";
import { JOURNAL_ID_SIZE } from "./segment-format.ts";
import { partsIn, type StorageParts, TableKeyValue, type TableOptions } from "./table-key-value.ts";

/**
 * Opens the storage in `folder` for writing, and replays its journal if it was not closed cleanly.
 * From now on it follows no log of a cluster. Rejects as LmdbTree, and with `store.corrupt` if the
 * journal is damaged, missing or of another store.
 */
export async function openJournaled(
  folder: string,
  options: TableOptions = {},
): Promise<JournaledLmdb> {
  return JournaledLmdb.on(partsIn(folder, options), options);
}

/** As openJournaled, with the journal started: for a store that is used as it is. */
export async function openStorage(
  folder: string,
  options: TableOptions = {},
): Promise<JournaledLmdb> {
  const storage = await openJournaled(folder, options);
  storage.startJournal();
  return storage;
}

export class JournaledKeyValue<T extends JournalTree = JournalTree> extends TableKeyValue<
  T,
  number
> {
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

  protected async start(journalPosition: number): Promise<void> {
    this.#position = journalPosition;
    await leaveLog(this.tree);
  }

  /** From now on commits go to the journal. Before, each is one of the tree. */
  startJournal(): void {
    this.#isJournaling = true;
  }

  protected async end(): Promise<void> {
    try {
      await this.#endJournal();
    } catch {
      // The journal stays, and is replayed when the storage is opened again.
    }
    this.writer.stop();
    await this.#begun?.close();
    await this.files.settled();
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
    await this.files.removeAll();
  }

  protected keep(encoded: JournaledWrites): Promise<void> {
    const size = this.#isJournaling ? this.sizeInTable(encoded) : undefined;
    if (size === undefined) return this.#keepInTree(encoded);
    return this.tryTwice(() => this.#append(encoded, size));
  }

  #append(encoded: JournaledWrites, size: number): Promise<void> {
    const journal = this.#journal;
    if (journal === undefined) return this.#beginJournal().then(() => this.#append(encoded, size));
    return this.addAfter(encoded, () => {
      const entry = newEntry(size);
      const writing = this.writePayload(entry, PAYLOAD_START, encoded);
      if (writing === undefined) return journal.append(entry, size);
      return writing.then(() => journal.append(entry, size));
    });
  }

  /** The tree says that it has a journal before the first entry is in it. */
  async #beginJournal(): Promise<void> {
    this.#isBeginning = true;
    const position = this.#position;
    const journalId = randomBytes(JOURNAL_ID_SIZE);
    const start = { journalId, position, limits: this.limits };
    const journal = (this.#begun ??= await Journal.begin(this.files, start));
    const mark = { journalId: journal.journalId, position, segment: 1, isOpen: true };
    const beside = [encodeMark(mark)];
    await this.writer.exclusively(() => this.tree.write({ values: [], beside }));
    this.#journal = journal;
  }

  async #keepInTree(encoded: JournaledWrites): Promise<void> {
    await this.writer.drain();
    await this.#journal?.repair();
    await this.writeDirectly(encoded, this.marks(this.#journal?.position ?? 0));
    this.written();
  }

  protected marks(position: number): ShapeRecord[] {
    const journal = this.#journal;
    if (journal === undefined) return [];
    const { journalId } = journal;
    const segment = journal.segmentAfter(position);
    this.#markedSegment = segment;
    return [encodeMark({ journalId, position, segment, isOpen: true })];
  }

  protected written(): void {
    // A segment that cannot be given up is found, and removed, when the storage is opened again.
    void this.#journal?.recycle(this.#markedSegment).catch(() => {});
  }
}

/** A journaled storage on LMDB. */
export class JournaledLmdb extends JournaledKeyValue<LmdbTree> {
  static async on(parts: StorageParts<LmdbTree>, options: TableOptions): Promise<JournaledLmdb> {
    return new JournaledLmdb(parts, options).recover(options);
  }
}
