/**
 * A store whose clock is its work: each read of its storage takes a tenth of a millisecond, and nothing
 * else takes any time. So the longest piece of work between two pauses is a number of reads, the same
 * on every machine.
 */

import { setImmediate } from "node:timers/promises";
import type { KeyValue, Platform, Snapshot } from "../../src/platform.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Store } from "../../src/store/store.ts";
import { testPlatform } from "./test-platform.ts";

export const MS_PER_READ = 0.1;

/** Reads of the store, and the pauses in between. */
export class WorkCount {
  reads = 0;
  pauses = 0;
  /** Reads since the last pause, and the most that there were between two. */
  #piece = 0;
  #longest = 0;

  read(): void {
    this.reads++;
    this.#piece++;
    this.#longest = Math.max(this.#longest, this.#piece);
  }

  pause(): void {
    this.pauses++;
    this.#piece = 0;
  }

  /** The longest piece since this was asked last. */
  takeLongest(): number {
    const longest = this.#longest;
    this.#piece = 0;
    this.#longest = 0;
    return longest;
  }
}

export interface CountedStore {
  readonly store: Store;
  readonly storage: MemoryKeyValue;
  readonly disk: MemoryDisk;
  readonly platform: Platform;
  readonly work: WorkCount;
}

export async function openCounted(): Promise<CountedStore> {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  const work = new WorkCount();
  const platform: Platform = {
    ...testPlatform(),
    elapsed: () => work.reads * MS_PER_READ,
    pause: () => {
      work.pause();
      return setImmediate();
    },
  };
  const counted: KeyValue = {
    snapshot: () => countedSnapshot(storage.snapshot(), work),
    commit: (writes) => storage.commit(writes),
    close: () => storage.close(),
  };
  const store = await Store.open(counted, platform);
  return { store, storage, disk, platform, work };
}

function countedSnapshot(snapshot: Snapshot, work: WorkCount): Snapshot {
  return {
    get state() {
      return snapshot.state;
    },
    get: (key, fields) => {
      work.read();
      return snapshot.get(key, fields);
    },
    has: (key) => {
      work.read();
      return snapshot.has(key);
    },
    entries: (range, fields) => counting(snapshot.entries(range, fields), work),
    keys: (range) => counting(snapshot.keys(range), work),
    close: () => snapshot.close(),
  };
}

function* counting<T>(items: Iterable<T>, work: WorkCount): Iterable<T> {
  for (const item of items) {
    work.read();
    yield item;
  }
}
