/**
 * LoggedKeyValue: the KeyValue storage of a store that follows the log of a cluster.
 *
 * A commit is durable when the log has it; it is visible at once through the table in memory
 * (table-key-value.ts). The tree gets it later, together with its position in the log: after a crash
 * the storage has exactly the state of an earlier position, and the log has the rest. There is no
 * journal.
 *
 *   commit → log of the cluster (durable) → table (visible) → tree with its position
 */

import type { Writes } from "@bigpeer/engine";
import type { LogPosition, ReplicaStorage } from "@bigpeer/engine/cluster";
import { PeerError } from "@bigpeer/protocol";
import type { JournaledWrites } from "../journal/journal-payload.ts";
import type { JournalTree } from "../journal/journal-tree.ts";
import {
  partsIn,
  type StorageParts,
  TableKeyValue,
  type TableOptions,
} from "../journal/table-key-value.ts";
import type { LmdbTree } from "../lmdb/lmdb-tree.ts";
import type { ShapeRecord } from "../lmdb/shape-records.ts";
import { encodeLogMark, logPositionOf } from "./log-mark.ts";

type Append = () => Promise<LogPosition>;

/**
 * Opens the storage in `folder` for writing, as one that follows a log. If it was used without a log
 * before, and was not closed cleanly, its journal is replayed. Rejects as openJournaled.
 */
export async function openLogged(folder: string, options: TableOptions = {}): Promise<LoggedLmdb> {
  return LoggedLmdb.on(partsIn(folder, options), options);
}

export class LoggedKeyValue<T extends JournalTree = JournalTree>
  extends TableKeyValue<T, LogPosition>
  implements ReplicaStorage
{
  /** Of the last mark that was made, and of the one in the tree. */
  #marked: LogPosition | undefined;
  #durable: LogPosition | undefined;
  /** Why the storage lacks writes that the log has: then it must be opened again. */
  #failure: PeerError | undefined;

  get position(): LogPosition | undefined {
    return this.tablePosition ?? this.#durable;
  }

  /** The last entry whose writes are on the disk: the log must keep what comes after it. */
  get durablePosition(): LogPosition | undefined {
    return this.#durable;
  }

  commitLogged(writes: Writes, append: Append): Promise<void> {
    return this.inTurn(() => this.encode(writes, (encoded) => this.#keepLogged(encoded, append)));
  }

  protected async start(): Promise<void> {
    this.#durable = logPositionOf(this.tree);
  }

  /** A commit that the log does not have is one of the tree. */
  protected async keep(encoded: JournaledWrites): Promise<void> {
    this.#checkComplete();
    await this.writer.drain();
    await this.writeDirectly(encoded, []);
  }

  async #keepLogged(encoded: JournaledWrites, append: Append): Promise<void> {
    this.#checkComplete();
    let isCalled = false;
    let isAppended = false;
    const appendOnce = async (): Promise<LogPosition> => {
      isCalled = true;
      const position = await append();
      isAppended = true;
      return position;
    };
    const size = this.sizeInTable(encoded);
    const attempt = (): Promise<void> =>
      size === undefined
        ? this.#writeLarge(encoded, appendOnce)
        : this.addAfter(encoded, () => {
            // The values lie there from now on: the table and the tree use the same bytes.
            const writing = this.writePayload(Buffer.allocUnsafeSlow(size), 0, encoded);
            return writing === undefined ? appendOnce() : writing.then(appendOnce);
          });
    try {
      await this.tryTwice(attempt, () => !isCalled);
    } catch (error) {
      throw isAppended ? this.#fail(error) : error;
    }
  }

  async #writeLarge(encoded: JournaledWrites, append: Append): Promise<void> {
    await this.writer.drain();
    await this.reserveDirectly(encoded);
    const position = await append();
    await this.writeDirectly(encoded, this.marks(position), { isReserved: true });
    this.written();
  }

  #fail(cause: unknown): PeerError {
    const message = "failed to keep a write that the log has; open the storage again";
    this.#failure = new PeerError("store.write_failed", message, { cause });
    this.writer.stop();
    return this.#failure;
  }

  #checkComplete(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  protected marks(position: LogPosition): ShapeRecord[] {
    this.#marked = position;
    return [encodeLogMark(position)];
  }

  protected written(): void {
    this.#durable = this.#marked;
  }

  protected async end(): Promise<void> {
    try {
      if (this.#failure === undefined) await this.writer.drain();
    } catch {
      // The log has what the tree lacks.
    }
    this.writer.stop();
    await this.writer.whenIdle();
  }
}

/** A storage on LMDB that follows a log. */
export class LoggedLmdb extends LoggedKeyValue<LmdbTree> {
  static async on(parts: StorageParts<LmdbTree>, options: TableOptions): Promise<LoggedLmdb> {
    return new LoggedLmdb(parts, options).recover(options);
  }
}
