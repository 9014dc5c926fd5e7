/**
 * Entry of the package: a typed HTTP client for the data API and the management API of a Big Peer.
 */

export {
  Attachments,
  type BeginUploadOptions,
  type Content,
  type ContinueUploadOptions,
  type DownloadOptions,
} from "./attachments.ts";
export {
  type Args,
  BigPeerClient,
  type FindByIdResult,
  type FindResult,
  type QueryResult,
} from "./client.ts";
export { BigPeerError, type ErrorDetails, type TextPlace } from "./error.ts";
export type {
  CountRequest,
  CountResponse,
  FindByIdRequest,
  FindRequest,
  LoginRequest,
  LoginResponse,
  Operations as DataOperations,
  QueryResponseWarning,
  RemoteExecutePeerItem,
  RemoteExecuteResponse,
  Sort,
  SyncExplainResponse,
  SyncExplanation,
  SyncPeer,
  SyncPeersResponse,
  UpdateCommand,
  UploadedAttachment,
  UploadProgress,
  WriteCommand,
  WriteCommandResult,
  WriteResponse,
} from "./generated/data-api.ts";
export type {
  ApiKey,
  App,
  AuditEntry,
  AuthProvider,
  ClusterStatus,
  DeletedApp,
  NewApiKey,
  NewApp,
  NewProvider,
  NewReplication,
  Operations as ManagementOperations,
  Permissions,
  Problem,
  Provider,
  Replication,
  ReplicationStatus,
  Settings,
} from "./generated/management-api.ts";
export { Management, type PageOptions } from "./management.ts";
export type { CallOptions, ClientOptions, ReadOptions, WriteOptions } from "./options.ts";
