/**
 * MemoryDisk: a simulated disk in memory, with syncs and crashes, for tests and for peers that keep
 * nothing. It outlives the MemoryKeyValue that writes to it, as a disk outlives a process.
 *
 * A commit is first written and then synced; only then it is visible. A strict commit is durable
 * then, with all before it. Relaxed ones after the last strict one are visible, but a crash can lose
 * the newest of them. Syncs happen at once unless the test holds them and then releases them one by
 * one. So a test can stop between any two steps, crash there, and open the disk again.
 *
 * After crash() every earlier mount is dead, like the process it stands for. Reads throw
 * `store.closed`; a commit, under way or new, never settles.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { CommitOptions, Durability, Key, Writes } from "../platform.ts";
import { OrderedTree } from "./ordered-tree.ts";

/** One opening of the disk; it ends with the next crash. */
export interface Mount {
  readonly isAlive: boolean;
}

export type WriteFailure = "store.full" | "store.write_failed";

interface UnsyncedCommit {
  readonly mount: Mount;
  readonly writes: Writes;
  readonly durability: Durability;
  /** The error with which the sync will fail, if the test asked for one. */
  readonly failure: WriteFailure | undefined;
  /** Settles the commit when the sync is over. */
  readonly acknowledge: () => void;
  readonly refuse: (error: PeerError) => void;
}

/** What a crash loses. */
export interface Crash {
  /**
   * What becomes of writes that were not synced: they are lost (default) or, although they were
   * never acknowledged, have reached the disk. Both happen on real disks.
   */
  readonly unsynced?: "lost" | "kept";
  /** How many of the newest relaxed commits are lost; 0 by default. None if unsynced ones are kept. */
  readonly relaxedLost?: number;
}

export class MemoryDisk {
  #state: OrderedTree<Value> = OrderedTree.empty();
  /** The states before each relaxed commit after the last strict one, oldest first. */
  #before: OrderedTree<Value>[] = [];
  #mount: { isAlive: boolean } = { isAlive: true };
  #unsynced: UnsyncedCommit[] = [];
  #isHeld = false;
  #syncCount = 0;
  #failure: WriteFailure | undefined;

  /** The state that a snapshot shows: all acknowledged commits. */
  get state(): OrderedTree<Value> {
    return this.#state;
  }

  /** Relaxed commits that a crash can lose. */
  get relaxedCount(): number {
    return this.#before.length;
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
  async write(
    mount: Mount,
    writes: Writes,
    { durability = "strict" }: CommitOptions = {},
  ): Promise<void> {
    // As on a real disk, nothing is visible before the caller has continued.
    await Promise.resolve();
    if (!mount.isAlive) return never();
    const failure = this.#failure;
    this.#failure = undefined;
    const synced = new Promise<void>((acknowledge, refuse) => {
      this.#unsynced.push({ mount, writes, durability, failure, acknowledge, refuse });
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

  /** Simulates a power loss. What is left is on the disk for good. */
  crash({ unsynced = "lost", relaxedLost = 0 }: Crash = {}): void {
    if (unsynced === "kept") {
      for (const commit of this.#unsynced) if (commit.failure === undefined) this.#sync(commit);
    } else if (relaxedLost > 0) {
      this.#state = this.#before.at(-Math.min(relaxedLost, this.#before.length)) ?? this.#state;
    }
    this.flush();
    this.#unsynced = [];
    this.#failure = undefined;
    this.#mount.isAlive = false;
    this.#mount = { isAlive: true };
  }

  /** Makes all acknowledged commits durable, as a close does. */
  flush(): void {
    this.#before = [];
  }

  #syncAll(): void {
    while (this.syncNext());
  }

  #sync({ writes, durability }: UnsyncedCommit): void {
    if (durability === "relaxed") this.#before.push(this.#state);
    else this.flush();
    const puts: (readonly [Key, Value])[] = [];
    let tree = this.#state;
    for (const [key, value] of writes) {
      if (value === undefined) tree = tree.without(key);
      else puts.push([key, value]);
    }
    this.#state = tree.withAll(puts);
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
