/**
 * Statement language: reads and changes the documents of a store, with permissions and live queries.
 */

export { mayUseExplainer, mayUsePatterns } from "./code-use.ts";
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
} from "./command/command.ts";
export type { ChosenPeers } from "./command/remote.ts";
export { type IndexUse, IndexUses } from "./frame/index-uses.ts";
export { MemoryPool } from "./frame/memory-pool.ts";
export type { ConditionPlan } from "./live/condition.ts";
export {
  changedDocuments,
  changeOf,
  type DocumentChange,
  type GatheredChange,
} from "./live/document-change.ts";
export {
  type Advance,
  type LiveLimits,
  LiveQueries,
  type LiveQueriesOptions,
  type LiveRequest,
  type Registration,
} from "./live/live-queries.ts";
export type { LiveQuery } from "./live/live-query.ts";
export { type PreparedCondition, prepareCondition } from "./live/live-statement.ts";
export {
  type Given,
  type Match,
  type MatchEntry,
  type MatchedChange,
  MatchIndex,
} from "./live/match-index.ts";
export { LocalRunner } from "./local-runner.ts";
export { uploadChecker } from "./mutate/checked-upload.ts";
export { Authority } from "./permission/authority.ts";
export { bindPermissions } from "./permission/bound-permissions.ts";
export type { Caller } from "./permission/caller.ts";
export { checkFilter } from "./permission/filter-check.ts";
export type { PermissionSource } from "./permission/permission-source.ts";
export {
  type AccessRule,
  FULL_PERMISSIONS,
  type Permissions,
  permissionsValue,
  readPermissions,
} from "./permission/permissions.ts";
export type {
  BatchResult,
  CountRequest,
  CountResult,
  ExportRequest,
  ExportResult,
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
} from "./request.ts";
export type { PlanExplainer } from "./run/plan-explainer.ts";
export { TimeSlicer } from "./run/time-slicer.ts";
export type { Warning } from "./run/warnings.ts";
export type { SortKey } from "./statement/find.ts";
export { StatementRunner } from "./statement-runner.ts";
export { PARAMETERS } from "./system/settings.ts";
export type {
  ExplainSyncRequest,
  InfoFact,
  SystemData,
  SystemRow,
} from "./system/system-collections.ts";
export type { StatementLimits, StatementRunnerOptions } from "./task/runner-context.ts";
export type { StatementTransaction } from "./task/statement-transaction.ts";
