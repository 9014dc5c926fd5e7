/**
 * Documents as CRDT states, and the store that keeps them durable: transactions, snapshots and the
 * change log.
 */

export type { ClockLimits } from "../crdt/clock.ts";
export { difference, restrict } from "../crdt/delta.ts";
export { deltaOf, type StateOperation } from "../crdt/edit.ts";
export { merge } from "../crdt/merge.ts";
export { resolveOperation } from "../crdt/resolve.ts";
export { isShown, type Shown, show } from "../crdt/show.ts";
export { type DocumentState, EMPTY_STATE } from "../crdt/state.ts";
export { stateOfBytes, stateToBytes } from "../crdt/state-codec.ts";
export { typedFields } from "../crdt/typed-values.ts";
export type { OperationOutcome } from "./applier.ts";
export {
  type AttachmentReference,
  attachmentOf,
  attachmentReferences,
  isReferredFrom,
  type OrphanedAttachment,
  orphanedAttachments,
  referredAttachments,
  type StoredAttachment,
  storedAttachments,
} from "./attachment-view.ts";
export {
  type ChangesSince,
  type Cursor,
  type CursorFault,
  type DocumentDelta,
  imageBefore,
  type LoggedTransaction,
  operationOfChange,
} from "./change-log.ts";
export { CommitMemory } from "./commit-memory.ts";
export type { Flush } from "./commit-queue.ts";
export {
  CURRENT_FORMAT,
  checkFormat,
  FORMAT_VERSION,
  type Format,
  identityIn,
  type Migration,
  readIdentity,
  renewIdentity,
} from "./identity.ts";
export type { IndexDefinition, IndexEntry, IndexRange } from "./index-entry.ts";
export { KeyOrder } from "./key-order.ts";
export { type Bound, printKey } from "./keys.ts";
export { DEFAULT_RETENTION, type Retention } from "./maintenance.ts";
export { MemoryDisk } from "./memory-disk.ts";
export { MemoryKeyValue } from "./memory-key-value.ts";
export type { Wait } from "./progress.ts";
export type { Committed, Evaluate } from "./queued-request.ts";
export {
  approximateSize,
  type Before,
  type Change,
  type Guard,
  type Head,
  type Identity,
  type Step,
  type TransactionRecord,
  type UploadMark,
  type UploadOutcome,
  type UploadRecord,
  type Writer,
} from "./records.ts";
export type { IdempotencyKey } from "./remembered-answer.ts";
export {
  type AcceptedRest,
  Store,
  type StoreOptions,
  StoreSnapshot,
  type StoreStats,
} from "./store.ts";
export { lastUploadOf, type Sender, takeUpload } from "./taken-upload.ts";
export type { Transaction } from "./transaction.ts";
export {
  type CommitGroup,
  type CommittedTransaction,
  type TransactionLog,
  writesLog,
} from "./transaction-log.ts";
export {
  type CheckedStep,
  type CheckStep,
  type CheckUpload,
  type TakenUpload,
  type Upload,
  type UploadAnswer,
  type UploadedDocument,
  uploadDigest,
} from "./upload.ts";
export type { UploadStep } from "./upload-step.ts";
export { type Problem, type VerifyReport, verify } from "./verify.ts";
export type {
  ChangedDocument,
  ScanRange,
  StoredDocument,
  VersionedState,
  View,
} from "./view.ts";
