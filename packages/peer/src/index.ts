/**
 * The small peer for Node: an offline-first store that syncs with a Big Peer.
 */

export type { EndCode, RefusedUpload, SubscriptionStatus } from "@bigpeer/engine/peer";
export type { Warning } from "@bigpeer/engine/query";
export type { UploadStep } from "@bigpeer/engine/store";
export { type ErrorCode, type ErrorDetails, PeerError, type TextPlace } from "@bigpeer/protocol";
export type { AuthStatus, PeerAuth } from "./auth.ts";
export type { Listener } from "./event-hub.ts";
export type {
  Arguments,
  PeerDocuments,
  QueryResult,
  StoreTransaction,
  TransactionResult,
} from "./local-store.ts";
export type { ObservedResult, ObserverCallback, StoreObserver } from "./observer.ts";
export type {
  CommonOptions,
  CredentialOptions,
  LoginDetails,
  PeerOptions,
  RemotePolicy,
  RemoteStatement,
  StorageOptions,
} from "./options.ts";
export { openPeer, type Peer, type PeerEvents } from "./peer.ts";
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
export type { AwayCode, PeerConnection, SyncState, SyncStatus, SyncSubscription } from "./sync.ts";
