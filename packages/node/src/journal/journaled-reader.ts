/**
 * JournaledReader: reads a journaled storage beside the process that writes it, and copies it.
 *
 * A snapshot is a view of the tree, and then what the journal has beyond it: everything that was
 * acknowledged before the snapshot was asked for. If the other process uses a segment again
 * meanwhile, because its entries are in the tree by then, both are read again.
 */

import { join } from "node:path";
import type { Snapshot } from "@bigpeer/engine";
import { PeerError } from "@bigpeer/protocol";
import { SnapshotHolder } from "../lmdb/held-snapshot.ts";
import { DATA_FILE, trimFile } from "../lmdb/lmdb-file.ts";
import { type LmdbOptions, SNAPSHOT_LIFE_MS } from "../lmdb/lmdb-key-value.ts";
import { LmdbTree } from "../lmdb/lmdb-tree.ts";
import { readShapes, shapeKey } from "../lmdb/shape-records.ts";
import { FolderSegments } from "./folder-segments.ts";
import { decodeMark, MARK_KEY } from "./journal-mark.ts";
import { type JournalContent, readJournal } from "./journal-reader.ts";
import { layerOf, markOf, writeToTree } from "./journal-recovery.ts";
import type { TreeView } from "./journal-tree.ts";
import { LayeredView } from "./layered-view.ts";
import type { TableLayer } from "./table-layer.ts";

/** What is damaged stays so; what only changes meanwhile is read again, after a moment. */
const ATTEMPTS_MAX = 40;
const SLEEP_MS = 5;

/** Blocks this thread: a snapshot is taken at once. */
function sleep(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SLEEP_MS);
}

/** Throws as openLmdb. */
export function readJournaled(
  folder: string,
  options: Omit<LmdbOptions, "readOnly"> = {},
): JournaledReader {
  return new JournaledReader(folder, options);
}

export class JournaledReader {
  readonly #tree: LmdbTree;
  readonly #files: FolderSegments;
  readonly #snapshots: SnapshotHolder;

  constructor(folder: string, options: Omit<LmdbOptions, "readOnly">) {
    this.#snapshots = new SnapshotHolder(options.snapshotLifeMs ?? SNAPSHOT_LIFE_MS);
    this.#tree = new LmdbTree(folder, { ...options, readOnly: true }, (reason) => {
      this.#snapshots.endAll(reason);
    });
    this.#files = new FolderSegments(this.#tree.folder);
  }

  snapshot(): Snapshot {
    const { tree, content } = this.#read();
    const layer = layerOf(content, this.#tree.pageSize);
    try {
      this.#learn(layer);
    } catch (error) {
      tree.release();
      throw error;
    }
    const state = { state: {}, version: 1, layers: layer.isEmpty ? [] : [layer], tree };
    return this.#snapshots.hold(new LayeredView(state, this.#tree.reader, () => {}));
  }

  /**
   * As LmdbTree.copyTo, of everything that was acknowledged before. The copy has no journal: what
   * the journal had is in its tree.
   */
  async copyTo(folder: string): Promise<void> {
    const { tree, content } = this.#read();
    tree.release();
    await this.#tree.copyTo(folder, (copy) => completeCopy(copy, content));
  }

  close(): Promise<void> {
    return this.#tree.close();
  }

  #read(): { readonly tree: TreeView; readonly content: JournalContent } {
    for (let attempt = 1; ; attempt++) {
      const tree = this.#tree.view();
      try {
        return { tree, content: readJournal(this.#files, decodeMark(tree.recordBeside(MARK_KEY))) };
      } catch (error) {
        tree.release();
        const mayChange = error instanceof PeerError && error.code === "store.corrupt";
        if (!mayChange || attempt === ATTEMPTS_MAX) throw error;
        sleep();
      }
    }
  }

  /** The shapes that only the journal has. */
  #learn({ beside }: TableLayer): void {
    this.#tree.loadShapes();
    const known = this.#tree.shapes.shapes.length;
    const unknown = beside.filter(({ key }) => key >= shapeKey(known));
    this.#tree.shapes.load(readShapes(undefined, known, unknown));
  }
}

/** Brings a copy of a tree up to date with what its journal had, and ends its journal. */
export async function completeCopy(folder: string, content: JournalContent): Promise<void> {
  const copy = new LmdbTree(folder, {}, () => {});
  try {
    const mark = markOf(copy);
    if (mark?.isOpen !== true) return;
    // The copy may be newer than what was read of the journal.
    const entries = content.entries.filter(({ position }) => position > mark.position);
    const last = Math.max(content.last, mark.position);
    const layer = layerOf({ entries, last }, copy.pageSize);
    await writeToTree(copy, layer, { ...mark, position: last });
  } finally {
    await copy.close();
  }
  // A copy is not written to: it needs no space for the next commits.
  trimFile(join(folder, DATA_FILE));
}
