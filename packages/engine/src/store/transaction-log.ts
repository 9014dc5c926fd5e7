/**
 * Transaction log: where the commit queue makes groups of transactions durable.
 *
 * A group has its transactions, as the change log has them, and the keys that these change. A
 * storage logs the keys (writesLog). A log that several machines share has the transactions instead:
 * each machine applies them itself (K20).
 */

import type { Durability, KeyValue, Writes } from "../platform.ts";
import type { TransactionRecord } from "./records.ts";

export interface CommittedTransaction {
  readonly txnId: number;
  readonly record: TransactionRecord;
}

/** What one flush of the commit queue makes durable. */
export interface CommitGroup {
  /** In the order of their ids. */
  readonly transactions: readonly CommittedTransaction[];
  readonly writes: Writes;
  /** `relaxed` only if all of its transactions are. */
  readonly durability: Durability;
}

export interface TransactionLog {
  /**
   * Commits the group as a whole, so that it is visible in the storage, or rejects as
   * KeyValue.commit. A log that others read makes it durable even if it is relaxed. One group at a
   * time; the caller does not change it meanwhile.
   */
  append(group: CommitGroup): Promise<void>;
  /**
   * Called in place of `append` for a group that changes nothing, before it is answered: a log that
   * others may write to knows whether its answers still hold. Absent if this store is the only writer.
   */
  confirm?(): Promise<void>;
  /** Approximate bytes of a group; GROUP_BYTES_MAX if left out. */
  readonly groupBytesMax?: number;
  /** Whether it does not answer for so long that new requests had better be refused. */
  readonly isStalled?: boolean;
}

/** The log of a store whose storage is all that it has. */
export function writesLog(storage: Pick<KeyValue, "commit">): TransactionLog {
  return { append: ({ writes, durability }) => storage.commit(writes, { durability }) };
}
