/**
 * The log that the nodes of a cluster share: its entries, the chain that they are, and the stores
 * that follow it.
 */

export { LOG_START, LogChain, type LogPosition, type TakenEntry } from "./log-chain.ts";
export {
  contentsOf,
  type EntryContent,
  type SharedRecord,
  type SharedTransaction,
} from "./log-entry.ts";
export { LogWriter, type LogWriterHost } from "./log-writer.ts";
export { type Replayed, replay } from "./replay.ts";
export type { AppendOutcome, AppendTarget, SharedEntry, SharedLog } from "./shared-log.ts";
