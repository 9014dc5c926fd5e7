/**
 * Small peer: its local store with pending writes, and its side of sync.
 */

export { Cancel } from "./contents/cancel.ts";
export type { ContentHash } from "./contents/content-hash.ts";
export type {
  ContentPlace,
  CreatedContent,
  PartialContent,
  ReadyContent,
  RestingContent,
} from "./contents/content-place.ts";
export { hasContents } from "./contents/content-record.ts";
export { type ContentTransport, TransferError } from "./contents/content-transport.ts";
export { MemoryContents } from "./contents/memory-contents.ts";
export { type ContentStats, PeerContents, type WantedContent } from "./contents/peer-contents.ts";
export type { PeerSubscription, SubscriptionStatus } from "./held-subscriptions.ts";
export type { RefusedUpload } from "./outcome.ts";
export type {
  AppliedBatch,
  ConfirmedBatch,
  ConfirmedPart,
  PeerLayers,
  SequencedUpload,
} from "./peer-layers.ts";
export { PeerStore, type PeerStoreOptions } from "./peer-store.ts";
export {
  type DialHandle,
  type DialHandlers,
  PeerSync,
  type PeerSyncEvent,
  type PeerSyncOptions,
  type PeerSyncStatus,
} from "./peer-sync.ts";
export { PendingDocuments } from "./pending-documents.ts";
export type { RunPiece, RunReply, RunStatement } from "./running-statements.ts";
export type { EndCode, PhaseName, Presence, SessionReport } from "./session-state.ts";
