/**
 * The names and shapes of the reference SDK on the peer of this package, so that an app moves by a
 * changed import (docs/coming-from-ditto.md). For Node and browsers.
 */

export type {
  AttachmentFetchEventDeleted,
  AttachmentFetchEventProgress,
  AttachmentFetchEventType,
} from "./attachment-fetcher.ts";
export type { AttachmentMetadata, AttachmentToken } from "./attachment-token.ts";
export type { AuthenticationStatus, LoginResult } from "./authenticator.ts";
export { Diff, Differ } from "./differ.ts";
export { DiskUsage, type DiskUsageItem } from "./disk-usage.ts";
export { Ditto } from "./ditto.ts";
export {
  DittoConfig,
  type DittoConfigConnect,
  type DittoConfigConnectServer,
  type DittoConfigConnectSmallPeersOnly,
  type DittoConfigOptions,
} from "./ditto-config.ts";
export { DittoError, ERROR_CODES, type ErrorCode } from "./ditto-error.ts";
export { type InitOptions, init } from "./init.ts";
export { type CustomLogCallback, Logger, type LogLevel } from "./logger.ts";
export { Observer } from "./observer.ts";
export {
  Attachment,
  type AttachmentFetchEvent,
  type AttachmentFetchEventCompleted,
  AttachmentFetcher,
  type AuthenticationExpirationHandler,
  Authenticator,
  Presence,
  Store,
  StoreObserver,
  Sync,
  SyncSubscription,
  Transaction,
} from "./parts.ts";
export {
  type Connection,
  type ConnectionRequest,
  type ConnectionRequestAuthorization,
  type ConnectionRequestHandler,
  type ConnectionType,
  type Peer,
  type PeerOS,
  type PresenceGraph,
} from "./presence.ts";
export type { DQLQueryArguments, DQLQueryArgumentValue } from "./query-arguments.ts";
export { QueryResult, QueryResultItem } from "./query-result.ts";
export { SmallPeerInfo } from "./small-peer-info.ts";
export {
  type StoreObservationHandler,
  type StoreObservationHandlerWithSignalNext,
} from "./store-observer.ts";
export {
  type QueryExecuting,
  type TransactionCompletionAction,
  TransactionInfo,
  type TransactionOptions,
} from "./transaction.ts";
export {
  type ConditionSource,
  type TransportCondition,
  TransportConfig,
  type TransportConfigConnect,
  type TransportConfigGlobal,
  type TransportConfigLan,
  type TransportConfigListen,
  type TransportConfigListenHTTP,
  type TransportConfigListenTCP,
  type TransportConfigPeerToPeer,
} from "./transport-config.ts";
