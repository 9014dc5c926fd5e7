/**
 * LmdbKeyValue: the KeyValue storage on LMDB alone: each commit is one of LMDB (lmdb-tree.ts).
 *
 * Snapshots share one read transaction until a commit succeeds. Large commits are encoded in time
 * slices.
 */

import type { Key, KeyValue, Snapshot, Writes } from "@bigpeer/engine";
import { assert } from "@bigpeer/protocol";
import { CommitEncoder } from "./commit-encoder.ts";
import { SnapshotHolder, type View } from "./held-snapshot.ts";
import { LmdbTree, type TreeOptions } from "./lmdb-tree.ts";
import { shapeRecords } from "./shape-records.ts";
import type { TreeView } from "./tree-view.ts";

export interface LmdbOptions extends TreeOptions {
  /** How long a snapshot may be held. Meanwhile freed pages cannot be reused. */
  readonly snapshotLifeMs?: number;
}

export const SNAPSHOT_LIFE_MS = 60_000;

/**
 * Throws PeerError `store.foreign`, `store.corrupt` or `store.in_use`; `store.full` or
 * `store.write_failed` when the files cannot be created or opened.
 */
export function openLmdb(folder: string, options: LmdbOptions = {}): LmdbKeyValue {
  return new LmdbKeyValue(folder, options);
}

export class LmdbKeyValue implements KeyValue {
  readonly #tree: LmdbTree;
  readonly #encoder: CommitEncoder;
  readonly #snapshots: SnapshotHolder;
  /** The newest state; this class holds one reference to it. Never set when read-only. */
  #current: TreeView | undefined;
  readonly #work = new Set<Promise<void>>();
  #isCommitting = false;
  /** Set while records of format 1 get checksums; a commit waits for the piece. */
  #checksumming: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(folder: string, options: LmdbOptions) {
    this.#snapshots = new SnapshotHolder(options.snapshotLifeMs ?? SNAPSHOT_LIFE_MS);
    this.#tree = new LmdbTree(folder, options, (reason) => {
      this.#snapshots.endAll(reason);
      this.#dropCurrent();
    });
    this.#encoder = new CommitEncoder(this.#tree.shapes, this.#tree.clock);
  }

  snapshot(): Snapshot {
    this.#checkOpen();
    return this.#snapshots.hold(this.#newestView());
  }

  async commit(writes: Writes): Promise<void> {
    assert(!this.#tree.readOnly, "a commit only where the storage is open for writing");
    assert(!this.#isCommitting, "one commit at a time");
    this.#checkOpen();
    if (writes.size === 0) return;
    // Set at once, so that no checksums are added before this commit.
    this.#isCommitting = true;
    if (this.#checksumming !== undefined) await this.#checksumming;
    try {
      await this.#track(this.#write(writes));
    } finally {
      this.#isCommitting = false;
    }
  }

  /** As LmdbTree.copyTo. */
  async copyTo(folder: string): Promise<void> {
    this.#checkOpen();
    await this.#track(this.#tree.copyTo(folder));
  }

  /** Bytes in pages that hold data; free pages inside the file are not counted. */
  usedBytes(): number {
    return this.#tree.usedBytes();
  }

  /** As LmdbTree.addChecksums, when no commit is under way. */
  async addChecksums(from: Key): Promise<Key | undefined> {
    assert(
      !this.#tree.readOnly,
      "records get checksums only where the storage is open for writing",
    );
    while (this.#isCommitting || this.#checksumming !== undefined)
      await Promise.allSettled(this.#work);
    this.#checkOpen();
    let next: Key | undefined;
    const checksumming = this.#track(
      this.#tree.addChecksums(from).then((reached) => {
        next = reached;
        this.#dropCurrent();
      }),
    );
    this.#checksumming = checksumming.catch(() => {});
    try {
      await checksumming;
    } finally {
      this.#checksumming = undefined;
    }
    return next;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#work);
    await this.#tree.close();
  }

  #track(work: Promise<void>): Promise<void> {
    this.#work.add(work);
    return work.finally(() => this.#work.delete(work));
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) this.#tree.refuse();
  }

  /** Counts one reference for the caller. */
  #newestView(): View {
    if (this.#tree.readOnly) return this.#tree.view();
    this.#current ??= this.#tree.view();
    return this.#current.share();
  }

  #dropCurrent(): void {
    this.#current?.release();
    this.#current = undefined;
  }

  async #write(writes: Writes): Promise<void> {
    // Held during the commit, so that every snapshot taken meanwhile shows the state before it.
    this.#current ??= this.#tree.view();
    const values = this.#encoder.atOnce(writes) ?? (await this.#encoder.inSlices(writes));
    const unsaved = this.#tree.shapes.unsaved();
    try {
      const beside = shapeRecords(unsaved.first, unsaved.shapes);
      await this.#tree.write({ values, beside });
    } finally {
      this.#encoder.release();
    }
    this.#tree.shapes.markSaved(unsaved.first + unsaved.shapes.length);
    this.#dropCurrent();
  }
}
