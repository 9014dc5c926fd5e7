/**
 * The small peer for Node: an offline-first store that syncs with a Big Peer.
 */

export type { RefusedUpload, SubscriptionStatus } from "@bigpeer/engine";
export { PeerError } from "@bigpeer/protocol";
export type {
  Arguments,
  PeerDocuments,
  QueryResult,
  StoreTransaction,
  TransactionResult,
} from "./local-store.ts";
export type { ObservedResult, ObserverCallback, StoreObserver } from "./observer.ts";
export type { LoginDetails, PeerOptions } from "./options.ts";
export { openPeer, type Peer, type PeerEvents } from "./peer.ts";
export type { PlainObject, PlainValue } from "./plain-value.ts";
export type { PeerConnection, SyncState, SyncStatus, SyncSubscription } from "./sync.ts";
