/**
 * ReplicaStorage: the storage of a store that follows the log of a cluster. Its host implements it.
 *
 * What the log has is durable. So a commit is visible at once, and goes to the disk later, together
 * with its position in the log: after a crash the storage has the state of an earlier position, and
 * the store goes on from there.
 */

import type { KeyValue, Writes } from "../platform.ts";
import type { LogPosition } from "./log-chain.ts";

export interface ReplicaStorage extends KeyValue {
  /** The last entry of the log whose writes it has; undefined if it has followed no log. */
  readonly position: LogPosition | undefined;
  /**
   * Makes `writes` visible when `append` resolves with their position in the log. Space for them is
   * reserved before `append` is called. If `append` rejects, the storage is as before, and this
   * rejects with the same error. As `commit`, one at a time. Rejects with `store.write_failed` or
   * `store.full` if the writes cannot be kept although the log has them: then the storage must be
   * closed, and opened again at its last position on the disk.
   */
  commitLogged(writes: Writes, append: () => Promise<LogPosition>): Promise<void>;
}
