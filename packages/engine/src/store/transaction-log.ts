/**
 * Transaction log: where the commit queue makes groups of transactions durable.
 *
 * A group has its transactions, as the change log has them, and the keys that these change. A
 * storage logs the keys (writesLog). A log that several machines share has the transactions instead:
 * each machine applies them itself (K20).
 */

import type { KeyValue, Writes } from "../platform.ts";
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
}

export interface TransactionLog {
  /**
   * Makes the group durable as a whole, and visible in the storage, or rejects as
   * KeyValue.commit. One group at a time; the caller does not change it meanwhile.
   */
  append(group: CommitGroup): Promise<void>;
}

/** The log of a store whose storage is all that it has. */
export function writesLog(storage: Pick<KeyValue, "commit">): TransactionLog {
  return { append: ({ writes }) => storage.commit(writes) };
}
