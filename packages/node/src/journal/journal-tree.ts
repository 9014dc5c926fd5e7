/**
 * JournalTree: the tree behind a journal, as far as a journaled storage uses it. LmdbTree is the
 * real one; a test has one in memory that loses what was not synced.
 */

import type { Key } from "@bigpeer/engine";
import type { View } from "../lmdb/held-snapshot.ts";
import type { TreeCommit } from "../lmdb/lmdb-tree.ts";
import type { PageEstimate } from "../lmdb/page-estimate.ts";
import type { RecordReader } from "../lmdb/record-reader.ts";
import type { ShapeTable } from "../lmdb/shape-table.ts";
import type { SliceClock } from "../slices.ts";

export interface TreeView extends View {
  /** A copy of a record in the tree of shapes; undefined when absent. */
  recordBeside(key: Key): Uint8Array | undefined;
  /** Counts one reference more. */
  share(): this;
}

/** Each method is as in LmdbTree. */
export interface JournalTree {
  readonly shapes: ShapeTable;
  readonly reader: RecordReader;
  readonly clock: SliceClock;
  readonly pageSize: number;
  view(): TreeView;
  loadShapes(): void;
  isReserved(commits: readonly PageEstimate[]): boolean;
  reserve(commits: readonly PageEstimate[]): Promise<void>;
  write(commit: TreeCommit): Promise<void>;
  /** Throws what a use of a closed storage throws. */
  refuse(): never;
  close(): Promise<void>;
}
