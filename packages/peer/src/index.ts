/**
 * The small peer for Node: an offline-first store that syncs with a Big Peer.
 */

export type { EndCode, RefusedUpload, SubscriptionStatus } from "@bigpeer/engine/peer";
export type { Warning } from "@bigpeer/engine/query";
export type { UploadStep } from "@bigpeer/engine/store";
export { type ErrorCode, type ErrorDetails, PeerError, type TextPlace } from "@bigpeer/protocol";
export type {
  AttachmentToken,
  FetchedAttachment,
  FetchOptions,
  FetchProgress,
  PeerAttachments,
} from "./attachments/attachments.ts";
export type { AttachmentContent } from "./attachments/content-pieces.ts";
export type { AuthStatus, PeerAuth } from "./auth.ts";
export type { Listener } from "./event-hub.ts";
export type {
  Arguments,
  PeerDocuments,
  QueryResult,
  StoreTransaction,
  TransactionResult,
} from "./local-store.ts";
export { openPeer } from "./node/open-peer.ts";
export type { ObservedResult, ObserverCallback, StoreObserver } from "./observer.ts";
export type {
  CommonOptions,
  CredentialOptions,
  Login,
  LoginDetails,
  PeerOptions,
  RemotePolicy,
  RemoteStatement,
  SessionDetails,
  StorageOptions,
} from "./options.ts";
export type { EraseOptions, Peer } from "./peer.ts";
export type { PeerEvents } from "./peer-events.ts";
export type { PlainObject, PlainValue } from "./plain-value.ts";
export type {
  LocalPeerPresence,
  PeerPresence,
  PeerPresences,
  PresenceGraph,
  PresenceObserver,
  RemotePeerPresence,
} from "./presence.ts";
export type { RemoteRun } from "./remote.ts";
export type {
  AwayCode,
  PeerConnection,
  SubscriptionOptions,
  SyncState,
  SyncStatus,
  SyncSubscription,
} from "./sync.ts";
