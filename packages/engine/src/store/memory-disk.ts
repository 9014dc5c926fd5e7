/**
 * MemoryDisk: a disk for tests and for peers that keep nothing. It outlives the MemoryKeyValue that
 * writes to it, as a disk outlives a process.
 *
 * A commit is first written and then synced; only a sync makes it durable and visible. Syncs happen
 * at once unless they are held, and then one by one when the test says so. So a test can stop the
 * world between any two steps, crash there, and open the disk again.
 *
 * After crash() whatever was opened before is dead, like the process it stands for: reading throws
 * `store.closed`, and a commit, under way or new, never settles, because nobody is left to hear it.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { Key, Writes } from "../platform.ts";
import { OrderedTree } from "./ordered-tree.ts";

/** The life of one opening of the disk: it ends with the next crash. */
export interface Mount {
  readonly isAlive: boolean;
}

export type WriteFailure = "store.full" | "store.write_failed";

interface UnsyncedCommit {
  readonly mount: Mount;
  readonly writes: Writes;
  /** How the sync will end, when it was told to fail. */
  readonly failure: WriteFailure | undefined;
  /** Tells the committer how the sync ended. */
  readonly acknowledge: () => void;
  readonly refuse: (error: PeerError) => void;
}

export class MemoryDisk {
  #durable: OrderedTree<Value> = OrderedTree.empty();
  #mount: { isAlive: boolean } = { isAlive: true };
  #unsynced: UnsyncedCommit[] = [];
  #isHeld = false;
  #syncCount = 0;
  #failure: WriteFailure | undefined;

  /** What a crash would leave, and what a snapshot shows. */
  get durable(): OrderedTree<Value> {
    return this.#durable;
  }

  get unsyncedCount(): number {
    return this.#unsynced.length;
  }

  /** Syncs asked for so far, failed ones included. */
  get syncCount(): number {
    return this.#syncCount;
  }

  mount(): Mount {
    return this.#mount;
  }

  /** Resolves after the sync. A dead mount's promise never settles. */
  async write(mount: Mount, writes: Writes): Promise<void> {
    // As on a real disk, nothing is visible before the caller has gone on.
    await Promise.resolve();
    if (!mount.isAlive) return never();
    const failure = this.#failure;
    this.#failure = undefined;
    const synced = new Promise<void>((acknowledge, refuse) => {
      this.#unsynced.push({ mount, writes, failure, acknowledge, refuse });
    });
    if (!this.#isHeld) this.#syncAll();
    return synced;
  }

  /**
   * The next write changes nothing and rejects with this code when it would have been synced;
   * undefined: it is written after all.
   */
  failNextWrite(code: WriteFailure | undefined): void {
    this.#failure = code;
  }

  /** From now on commits wait, unsynced, for syncNext() or releaseSyncs(). */
  holdSyncs(): void {
    this.#isHeld = true;
  }

  /** Syncs the oldest commit that waits. False when none does. */
  syncNext(): boolean {
    const commit = this.#unsynced.shift();
    if (commit === undefined) return false;
    this.#syncCount++;
    if (commit.failure === undefined) {
      this.#sync(commit);
      commit.acknowledge();
    } else {
      const message = "failed to write: the disk was set to fail";
      commit.refuse(new PeerError(commit.failure, message));
    }
    return true;
  }

  /** Syncs all that waits; later commits wait no more. */
  releaseSyncs(): void {
    this.#isHeld = false;
    this.#syncAll();
  }

  /**
   * The power goes. What was written but not synced is gone, or, with `unsynced: "kept"`, turns out
   * to have reached the disk although nobody was told: both happen to real commits.
   */
  crash({ unsynced = "lost" }: { readonly unsynced?: "lost" | "kept" } = {}): void {
    if (unsynced === "kept") {
      for (const commit of this.#unsynced) if (commit.failure === undefined) this.#sync(commit);
    }
    this.#unsynced = [];
    this.#failure = undefined;
    this.#mount.isAlive = false;
    this.#mount = { isAlive: true };
  }

  #syncAll(): void {
    while (this.syncNext());
  }

  #sync({ writes }: UnsyncedCommit): void {
    const puts: (readonly [Key, Value])[] = [];
    let tree = this.#durable;
    for (const [key, value] of writes) {
      if (value === undefined) tree = tree.without(key);
      else puts.push([key, value]);
    }
    this.#durable = tree.withAll(puts);
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
