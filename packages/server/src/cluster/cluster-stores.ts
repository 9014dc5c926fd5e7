/**
 * ClusterStores: the stores of a node, each a replica of a log of the cluster.
 *
 * A store that cannot continue at its position, because the log has forgotten what follows, begins
 * again with a copy from another node.
 */

import type { Platform } from "@bigpeer/engine";
import {
  awaitStart,
  type LogStart,
  Replica,
  type ReplicaHost,
  type ReplicaRole,
  type SharedLog,
  type SharedTransaction,
} from "@bigpeer/engine/cluster";
import { readIdentity, type StoreOptions } from "@bigpeer/engine/store";
import { type LoggedLmdb, openReplicaStorage } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import type { Log } from "../observability/log.ts";
import type { OpenedStore, Stores } from "../stores/stores.ts";
import type { Elections } from "./elections.ts";
import { writePosition } from "./store-positions.ts";
import { isReached } from "./waiting.ts";

/** Waits between attempts to reach the log: the first is short, since most faults are. */
const WAIT_MS_MIN = 20;
const WAIT_MS_MAX = 1_000;

/** How long an opening waits for a log that cannot be reached. */
const LEADER_MS_MAX = 15_000;

/** How often a store begins with a copy before its opening fails. */
const COPIES_MAX = 3;

/** How long an opening waits until the store is at the end of the log. */
const CATCH_UP_MS_MAX = 5_000;

export interface ClusterStoresHost {
  readonly node: string;
  readonly logOf: (store: string) => SharedLog;
  readonly elections: Pick<Elections, "add">;
  /** The newest format of log entries that every node reads. */
  readonly entryFormat: () => number;
  readonly platform: Platform;
  readonly options: StoreOptions;
  readonly log: Log;
  /** Replaces the data file in a folder by a copy of the store of another node. */
  readonly copy: (store: string, folder: string) => Promise<void>;
  /** Called when a store fails: it must be closed, and may be opened again. */
  readonly onFailed: (store: string, error: unknown) => void;
  /** Called before a store is opened. Never rejects. */
  readonly onOpening?: (store: string) => Promise<void>;
  readonly onRole?: (store: string, role: ReplicaRole) => void;
  readonly onApplied?: (store: string, transactions: readonly SharedTransaction[]) => void;
  /** Whether the node gives up what it cannot reach, because it closes. */
  readonly isAbandoned: () => boolean;
}

export class ClusterStores implements Stores {
  readonly #host: ClusterStoresHost;
  readonly #open = new Map<string, ReplicaFolder>();

  constructor(host: ClusterStoresHost) {
    this.#host = host;
  }

  /** The replica of an open store. */
  find(name: string): Replica | undefined {
    return this.#open.get(name)?.replica;
  }

  folderOf(name: string): ReplicaFolder | undefined {
    return this.#open.get(name);
  }

  /** Open stores by their names. */
  all(): Iterable<[string, ReplicaFolder]> {
    return this.#open.entries();
  }

  open(name: string, folder: string): Promise<OpenedStore> {
    return this.#openFolder(name, folder, false);
  }

  create(name: string, folder: string): Promise<OpenedStore> {
    return this.#openFolder(name, folder, true);
  }

  /** Called about once a second. */
  tick(): void {
    for (const { replica } of this.#open.values()) replica.tick();
  }

  async #openFolder(name: string, folder: string, mayBegin: boolean): Promise<OpenedStore> {
    const log = this.#host.logOf(name);
    const [storage] = await Promise.all([
      this.#openStorage(name, folder, log),
      this.#host.onOpening?.(name),
    ]);
    const parts = { log, storage, mayBegin };
    const replica = await this.#openReplica(name, parts).catch(async (error: unknown) => {
      await storage.close();
      throw error;
    });
    const opened = new ReplicaFolder(folder, storage, replica, () => this.#open.delete(name));
    this.#open.set(name, opened);
    opened.onClose(this.#host.elections.add(name, replica));
    await catchUp(replica, log);
    if (replica.role !== "failed") return opened;
    // Each request says why, instead of reading a state that grows old.
    await opened.close();
    throw replica.failure;
  }

  async #openReplica(
    name: string,
    parts: Pick<ReplicaHost, "log" | "storage" | "mayBegin">,
  ): Promise<Replica> {
    const { platform } = this.#host;
    const endMs = platform.elapsed() + LEADER_MS_MAX;
    let isOpening = true;
    // A replica that is open waits for the log as long as it takes.
    const wait = async (attempt: number): Promise<void> => {
      if (isOpening && platform.elapsed() > endMs) throw unreached();
      await this.#wait(attempt);
    };
    const replica = await Replica.open({ ...this.#replicaHost(name), ...parts, wait });
    isOpening = false;
    return replica;
  }

  async #openStorage(name: string, folder: string, log: SharedLog): Promise<LoggedLmdb> {
    const { copy, log: report } = this.#host;
    for (let attempt = 1; ; attempt++) {
      const storage = await openReplicaStorage(folder, { log: report });
      try {
        if (await this.#isContinued(storage, log)) return storage;
      } catch (error) {
        await storage.close();
        throw error;
      }
      await storage.close();
      // The log may be trimmed again while a copy is on its way.
      if (attempt > COPIES_MAX) throw notCopied(name);
      report("info", `the store in ${folder} begins with a copy of another node`);
      await copy(name, folder);
    }
  }

  /** Whether the storage can follow the log as it is. */
  async #isContinued(storage: LoggedLmdb, log: SharedLog): Promise<boolean> {
    // The store of a server that was alone is refused later, and is never replaced.
    if (storage.position === undefined && readIdentity(storage) !== undefined) return true;
    const start = await this.#findStart(storage, log);
    return start.kind !== "forgotten";
  }

  /** A log that was just made has no leader for some seconds. */
  async #findStart({ position }: LoggedLmdb, log: SharedLog): Promise<LogStart> {
    const { platform } = this.#host;
    const endMs = platform.elapsed() + LEADER_MS_MAX;
    for (let attempt = 1; ; attempt++) {
      try {
        const wait = (each: number): Promise<void> => this.#wait(each);
        // An empty log is begun, or refused, when the store is opened.
        return await awaitStart({ log, platform, wait }, position, true);
      } catch (error) {
        if (error instanceof PeerError) throw error;
        if (platform.elapsed() > endMs) throw unreached(error);
      }
      await this.#wait(attempt);
    }
  }

  #replicaHost(name: string) {
    const { node, platform, options, entryFormat, log, onFailed, onRole, onApplied } = this.#host;
    return {
      node,
      platform,
      options,
      entryFormat,
      onRole: (role: ReplicaRole) => {
        const replica = this.find(name);
        log("info", `the store ${name} is ${role}`);
        if (role === "failed") onFailed(name, replica?.failure);
        onRole?.(name, role);
      },
      onApplied: (transactions: readonly SharedTransaction[]) => onApplied?.(name, transactions),
    };
  }

  /** Rejects once the node closes without its log, after a wait: who asks again must not be busy. */
  async #wait(attempt: number): Promise<void> {
    const times = this.#host.isAbandoned() ? 1 : 2 ** Math.min(attempt, 10);
    const ms = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * times);
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (this.#host.isAbandoned()) throw new Error("the node closes");
  }
}

/** A store that was closed may be far behind: what is read is as new as its opening. */
async function catchUp(replica: Replica, log: SharedLog): Promise<void> {
  try {
    await isReached(replica.whenReached(await log.end()), CATCH_UP_MS_MAX);
  } catch {
    // Without the log it serves what it has.
  }
}

/** A replica in its folder. */
export class ReplicaFolder implements OpenedStore {
  readonly folder: string;
  readonly replica: Replica;
  readonly #storage: LoggedLmdb;
  readonly #onClosed: () => void;
  #onClose: () => void = () => {};
  #closing: Promise<void> | undefined;

  constructor(folder: string, storage: LoggedLmdb, replica: Replica, onClosed: () => void) {
    this.folder = folder;
    this.replica = replica;
    this.#storage = storage;
    this.#onClosed = onClosed;
  }

  get store(): Replica["store"] {
    return this.replica.store;
  }

  /** The last entry of the log that is on the disk. */
  get durableSequence(): number {
    return this.#storage.durablePosition?.sequence ?? 0;
  }

  /** The log says what its history is. */
  recordIncarnation(): void {}

  /** Its records have had checksums from the beginning, or are copies of such. */
  async protect(): Promise<void> {}

  /** As LmdbTree.copyTo. */
  copyTo(folder: string): Promise<void> {
    return this.#storage.copyTo(folder);
  }

  /** Called once, before it is closed. */
  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#onClose();
    try {
      await this.replica.close();
    } finally {
      await this.#storage.close();
      this.#recordPosition();
      this.#onClosed();
    }
  }

  #recordPosition(): void {
    try {
      writePosition(this.folder, this.durableSequence);
    } catch {
      // Without it the log keeps more than it must until the store is opened again.
    }
  }
}

function unreached(cause?: unknown): PeerError {
  const message = "the log of the cluster cannot be reached; retry";
  return new PeerError("store.busy", message, { cause });
}

function notCopied(name: string): PeerError {
  const message = `the log of ${name} was trimmed while a copy of it was on its way; retry`;
  return new PeerError("store.busy", message);
}
