/**
 * The log that the nodes of a cluster share: its entries, the chain that they are, and the stores
 * that follow it.
 */

export { DRIFT_MS_MAX } from "../limits.ts";
export { type AdoptionHost, adopt } from "./adoption.ts";
export { LOG_START, LogChain, type LogPosition, type TakenEntry } from "./log-chain.ts";
export {
  contentsOf,
  type EntryContent,
  NEWEST_ENTRY_FORMAT,
  OLDEST_ENTRY_FORMAT,
  type SharedRecord,
  type SharedTransaction,
} from "./log-entry.ts";
export { awaitStart, type LogHistory, type LogStart } from "./log-start.ts";
export { LogWriter, type LogWriterHost } from "./log-writer.ts";
export { type Replayed, replay } from "./replay.ts";
export { Replica, type ReplicaHost, type ReplicaRole } from "./replica.ts";
export type { ReplicaStorage } from "./replica-storage.ts";
export type {
  AppendOutcome,
  AppendTarget,
  LogTail,
  SharedEntry,
  SharedLog,
} from "./shared-log.ts";
export {
  type RelayedAnswer,
  type RelayedUpload,
  relayedAnswers,
  UploadRelay,
  type UploadRelayHost,
} from "./upload-relay.ts";
