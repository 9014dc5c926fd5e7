/**
 * MemoryDisk: a simulated disk in memory, with syncs and crashes, for tests and for peers that keep
 * nothing. It outlives the MemoryKeyValue that writes to it, as a disk outlives a process.
 *
 * A commit is first written and then synced; only a sync makes it durable and visible. Syncs happen
 * at once unless the test holds them and then releases them one by one. So a test can stop between
 * any two steps, crash there, and open the disk again.
 *
 * After crash() every earlier mount is dead, like the process it stands for. Reads throw
 * `store.closed`; a commit, under way or new, never settles.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { Key, Writes } from "../platform.ts";
import { OrderedTree } from "./ordered-tree.ts";

/** One opening of the disk; it ends with the next crash. */
export interface Mount {
  readonly isAlive: boolean;
}

export type WriteFailure = "store.full" | "store.write_failed";

interface UnsyncedCommit {
  readonly mount: Mount;
  readonly writes: Writes;
  /** The error with which the sync will fail, if the test asked for one. */
  readonly failure: WriteFailure | undefined;
  /** Settles the commit when the sync is over. */
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

  /** The state that a crash would leave and a snapshot shows. */
  get durable(): OrderedTree<Value> {
    return this.#durable;
  }

  get unsyncedCount(): number {
    return this.#unsynced.length;
  }

  /** Syncs requested so far, failed ones included. */
  get syncCount(): number {
    return this.#syncCount;
  }

  mount(): Mount {
    return this.#mount;
  }

  /** Resolves after the sync. The promise of a dead mount never settles. */
  async write(mount: Mount, writes: Writes): Promise<void> {
    // As on a real disk, nothing is visible before the caller has continued.
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
   * Makes the next write change nothing and reject with this code at its sync; undefined cancels
   * that.
   */
  failNextWrite(code: WriteFailure | undefined): void {
    this.#failure = code;
  }

  /** From now on commits wait, unsynced, for syncNext() or releaseSyncs(). */
  holdSyncs(): void {
    this.#isHeld = true;
  }

  /** Syncs the oldest waiting commit. False when there is none. */
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

  /** Syncs all waiting commits; later commits do not wait. */
  releaseSyncs(): void {
    this.#isHeld = false;
    this.#syncAll();
  }

  /**
   * Simulates a power loss. Writes that were not synced are lost or, with `unsynced: "kept"`, have
   * reached the disk although they were never acknowledged: both happen on real disks.
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
