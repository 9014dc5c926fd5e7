/**
 * Engine of a peer, without I/O: CRDT documents, the store that keeps them durable, the query
 * language that reads and changes them, sync and replication links.
 */

export type { ClockLimits } from "./crdt/clock.ts";
export { difference, restrict } from "./crdt/delta.ts";
export { deltaOf, type StateOperation } from "./crdt/edit.ts";
export { merge } from "./crdt/merge.ts";
export { resolveOperation } from "./crdt/resolve.ts";
export { isShown, type Shown, show } from "./crdt/show.ts";
export { type DocumentState, EMPTY_STATE } from "./crdt/state.ts";
export { stateOfBytes, stateToBytes } from "./crdt/state-codec.ts";
export { typedFields } from "./crdt/typed-values.ts";
export { IndexedSet, type Placed } from "./indexed-set.ts";
export { Link, type LinkEvent, type LinkOptions } from "./link/link.ts";
export type { ContentPiece, FetchOutcome, LinkAttachments } from "./link/link-contents.ts";
export { type LinkSide, linkProofBytes, type ProvenGreeting } from "./link/link-proof.ts";
export type { QueriesByCollection } from "./link/link-query.ts";
export type { LinkFault, LinkStatus, LinkSubscription } from "./link/link-status.ts";
export type { PeerSubscription, SubscriptionStatus } from "./peer/held-subscriptions.ts";
export type { RefusedUpload } from "./peer/outcome.ts";
export type {
  AppliedBatch,
  ConfirmedBatch,
  ConfirmedPart,
  PeerLayers,
  SequencedUpload,
} from "./peer/peer-layers.ts";
export { PeerStore, type PeerStoreOptions } from "./peer/peer-store.ts";
export {
  type DialHandle,
  type DialHandlers,
  PeerSync,
  type PeerSyncEvent,
  type PeerSyncOptions,
  type PeerSyncStatus,
} from "./peer/peer-sync.ts";
export type { RunPiece, RunReply, RunStatement } from "./peer/running-statements.ts";
export type { EndCode, PhaseName, Presence, SessionReport } from "./peer/session-state.ts";
export {
  type Channel,
  type CountSteps,
  KEY_SIZE_MAX,
  type Key,
  type KeyEntry,
  type KeyRange,
  type KeyValue,
  type Pattern,
  type PatternMatch,
  type Platform,
  type Reader,
  type Snapshot,
  type Writes,
} from "./platform.ts";
export type {
  FieldCommand,
  RemoveCommand,
  RemoveResult,
  TypeOverride,
  UpdateCommand,
  UpdateResult,
  UpsertCommand,
  UpsertResult,
  WriteCommand,
  WriteResult,
} from "./query/command/command.ts";
export type { ChosenPeers } from "./query/command/remote.ts";
export { MemoryPool } from "./query/frame/memory-pool.ts";
export type { ConditionPlan } from "./query/live/condition.ts";
export {
  changedDocuments,
  changeOf,
  type DocumentChange,
  type GatheredChange,
} from "./query/live/document-change.ts";
export {
  type Advance,
  type LiveLimits,
  LiveQueries,
  type LiveQueriesOptions,
  type LiveRequest,
  type Registration,
} from "./query/live/live-queries.ts";
export type { LiveQuery } from "./query/live/live-query.ts";
export { type PreparedCondition, prepareCondition } from "./query/live/live-statement.ts";
export {
  type Given,
  type Match,
  type MatchEntry,
  type MatchedChange,
  MatchIndex,
} from "./query/live/match-index.ts";
export { Authority } from "./query/permission/authority.ts";
export { bindPermissions } from "./query/permission/bound-permissions.ts";
export type { Caller } from "./query/permission/caller.ts";
export { checkFilter } from "./query/permission/filter-check.ts";
export {
  type AccessRule,
  FULL_PERMISSIONS,
  type PermissionSource,
  type Permissions,
  permissionsValue,
  readPermissions,
} from "./query/permission/permissions.ts";
export type {
  BatchResult,
  CountRequest,
  CountResult,
  FindByIdRequest,
  FindByIdResult,
  FindRequest,
  FindResult,
  RemoteRequest,
  RequestOptions,
  StatementRequest,
  StatementResult,
  WriteOptions,
  WriteRequest,
} from "./query/request.ts";
export type { Warning } from "./query/run/execution.ts";
export { TimeSlicer } from "./query/run/time-slicer.ts";
export type { SortKey } from "./query/statement/find.ts";
export {
  type StatementLimits,
  StatementRunner,
  type StatementRunnerOptions,
} from "./query/statement-runner.ts";
export type { StatementTransaction } from "./query/statement-transaction.ts";
export { PARAMETERS } from "./query/system/settings.ts";
export type {
  ExplainSyncRequest,
  InfoFact,
  SystemData,
  SystemRow,
} from "./query/system/system-collections.ts";
export type { OperationOutcome } from "./store/applier.ts";
export {
  type ChangesSince,
  type Cursor,
  type CursorFault,
  type DocumentDelta,
  imageBefore,
  type LoggedTransaction,
  operationOfChange,
} from "./store/change-log.ts";
export { CommitMemory } from "./store/commit-memory.ts";
export type { Committed, Evaluate, Flush } from "./store/commit-queue.ts";
export {
  CURRENT_FORMAT,
  FORMAT_VERSION,
  type Format,
  type Migration,
  readIdentity,
  renewIdentity,
} from "./store/identity.ts";
export type { IndexDefinition, IndexEntry, IndexRange } from "./store/index-entry.ts";
export { type Bound, printKey } from "./store/keys.ts";
export { DEFAULT_RETENTION, type Retention } from "./store/maintenance.ts";
export { MemoryDisk } from "./store/memory-disk.ts";
export { MemoryKeyValue } from "./store/memory-key-value.ts";
export type { Wait } from "./store/progress.ts";
export type {
  Before,
  Change,
  Guard,
  Head,
  Identity,
  Step,
  TransactionRecord,
  UploadMark,
  UploadOutcome,
  UploadRecord,
} from "./store/records.ts";
export { approximateSize } from "./store/records.ts";
export type { IdempotencyKey } from "./store/remembered-answer.ts";
export {
  type AcceptedRest,
  Store,
  type StoreOptions,
  StoreSnapshot,
  type StoreStats,
} from "./store/store.ts";
export type { Transaction } from "./store/transaction.ts";
export {
  type CheckedStep,
  type CheckStep,
  type CheckUpload,
  type TakenUpload,
  type Upload,
  type UploadAnswer,
  type UploadedDocument,
  type UploadStep,
  uploadDigest,
} from "./store/upload.ts";
export { type Problem, type VerifyReport, verify } from "./store/verify.ts";
export type {
  AttachmentReference,
  ChangedDocument,
  OrphanedAttachment,
  ScanRange,
  StoredAttachment,
  StoredDocument,
  VersionedState,
  View,
} from "./store/view.ts";
export type { ServerConnection } from "./sync/connection/connection-host.ts";
export { type PeerReport, peerRow } from "./sync/device/peer-report.ts";
export type { PeerAnswer, RemoteRun, RunningRemote } from "./sync/device/remote-runs.ts";
export { SYNC_VERDICTS, type SyncVerdict } from "./sync/device/sync-explanation.ts";
export type { Admission } from "./sync/session/session-event.ts";
export {
  type PeerChange,
  type SyncLimits,
  SyncServer,
  type SyncServerOptions,
  type SyncStats,
} from "./sync/sync-server.ts";
export { type BucketLimits, TokenBuckets } from "./sync/upload/token-buckets.ts";
export { UploadAllowance } from "./sync/upload/upload-allowance.ts";
