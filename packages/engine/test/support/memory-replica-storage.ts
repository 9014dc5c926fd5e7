/**
 * The storage of a replica in memory: what it writes to its disk, and when, the test decides. After
 * a crash it has what was on the disk, at the position that was there with it.
 */

import type { Value } from "@bigpeer/protocol";
import type { LogPosition } from "../../src/cluster/log-chain.ts";
import type { ReplicaStorage } from "../../src/cluster/replica-storage.ts";
import type { Key, Snapshot, Writes } from "../../src/platform.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { dump } from "./open-store.ts";

/** What is on the disk. */
export interface ReplicaDisk {
  readonly content: ReadonlyMap<Key, Value>;
  readonly position: LogPosition | undefined;
}

export class MemoryReplicaStorage implements ReplicaStorage {
  readonly #inner = new MemoryKeyValue(new MemoryDisk());
  #position: LogPosition | undefined;
  /** Set in tests of a full disk. */
  failure: Error | undefined;

  static async on({ content, position }: ReplicaDisk): Promise<MemoryReplicaStorage> {
    const storage = new MemoryReplicaStorage();
    if (content.size > 0) await storage.#inner.commit(content);
    storage.#position = position;
    return storage;
  }

  get position(): LogPosition | undefined {
    return this.#position;
  }

  /** What a background write would bring to the disk now. */
  disk(): ReplicaDisk {
    return { content: dump(this.#inner), position: this.#position };
  }

  snapshot(): Snapshot {
    return this.#inner.snapshot();
  }

  commit(writes: Writes): Promise<void> {
    return this.#inner.commit(writes);
  }

  async commitLogged(writes: Writes, append: () => Promise<LogPosition>): Promise<void> {
    const position = await append();
    if (this.failure !== undefined) throw this.failure;
    if (writes.size > 0) await this.#inner.commit(writes);
    this.#position = position;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
