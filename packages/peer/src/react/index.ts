/**
 * React hooks of the small peer: live queries, subscriptions, sync status, presence and attachments
 * as the state of components. They work with the peer of Node and with that of browsers.
 */

"use client";

export type { QueryState } from "./followed-query.ts";
export { PeerProvider, type PeerProviderProps } from "./peer-provider.ts";
export type { ProvidedPeer } from "./provided-peer.ts";
export {
  type AttachmentState,
  type UseAttachmentOptions,
  useAttachment,
} from "./use-attachment.ts";
export { type MutationState, useMutation } from "./use-mutation.ts";
export { usePeer } from "./use-peer.ts";
export { type PresenceState, usePresence } from "./use-presence.ts";
export { useQuery } from "./use-query.ts";
export { type SubscriptionState, useSubscription } from "./use-subscription.ts";
export { type SyncStatusState, useSyncStatus } from "./use-sync-status.ts";
