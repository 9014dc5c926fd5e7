/**
 * Server's side of sync: sessions of peers, their streams, presence and remote statements.
 */

export type { ServerConnection, SessionUpload } from "./connection/connection-host.ts";
export { type PeerReport, peerRow } from "./device/peer-report.ts";
export type { PresentSession } from "./device/presence-board.ts";
export type { PeerAnswer, RemoteRun, RunningRemote } from "./device/remote-runs.ts";
export {
  SESSION_RANGE_COUNT,
  SESSION_RANGE_SIZE,
  sessionRange,
} from "./device/session-number.ts";
export { SYNC_VERDICTS, type SyncVerdict } from "./device/sync-explanation.ts";
export { type AdmittedPeer, type Greeting, readGreeting } from "./session/greeting.ts";
export { returnDelayMs } from "./session/return-delay.ts";
export type { Admission } from "./session/session-event.ts";
export {
  type PeerChange,
  type SyncLimits,
  SyncServer,
  type SyncServerOptions,
  type SyncStats,
} from "./sync-server.ts";
export { type BucketLimits, TokenBuckets } from "./upload/token-buckets.ts";
export { UploadAllowance } from "./upload/upload-allowance.ts";
