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
export type { Change, ChangesOptions, ChangeType, ChangeWriter } from "./changes.ts";
export {
  type Args,
  BigPeerClient,
  type FindByIdResult,
  type FindResult,
  type QueryResult,
} from "./client.ts";
export type { Destinations } from "./destinations.ts";
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
  CreatedWebhook,
  DeadLetter,
  DeletedApp,
  DeliveryStatus,
  NewApiKey,
  NewApp,
  NewProvider,
  NewReplication,
  NewSink,
  NewWebhook,
  Operations as ManagementOperations,
  Permissions,
  Problem,
  Provider,
  Replication,
  ReplicationStatus,
  Settings,
  Sink,
  Webhook,
} from "./generated/management-api.ts";
export { Management } from "./management.ts";
export type { PageOptions } from "./management-calls.ts";
export type { CallOptions, ClientOptions, ReadOptions, WriteOptions } from "./options.ts";
