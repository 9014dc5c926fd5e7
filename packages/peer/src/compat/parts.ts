/**
 * Parts: the classes of the parts of an instance, as apps know them. Each has `ditto`, the instance.
 */

import { Attachment as AttachmentOf } from "./attachment.ts";
import type {
  AttachmentFetchEventCompleted as AttachmentFetchEventCompletedOf,
  AttachmentFetchEvent as AttachmentFetchEventOf,
} from "./attachment-fetcher.ts";
import { AttachmentFetcher as AttachmentFetcherOf } from "./attachment-fetcher.ts";
import {
  type AuthenticationExpirationHandler as AuthenticationExpirationHandlerOf,
  Authenticator as AuthenticatorOf,
} from "./authenticator.ts";
import type { Ditto } from "./ditto.ts";
import { Presence as PresenceOf } from "./presence.ts";
import { Store as StoreOf } from "./store.ts";
import { StoreObserver as StoreObserverOf } from "./store-observer.ts";
import { Sync as SyncOf } from "./sync.ts";
import { SyncSubscription as SyncSubscriptionOf } from "./sync-subscription.ts";
import { Transaction as TransactionOf } from "./transaction.ts";

export type Attachment = AttachmentOf<Ditto>;
export const Attachment: typeof AttachmentOf<Ditto> = AttachmentOf;

export type AttachmentFetcher = AttachmentFetcherOf<Ditto>;
export const AttachmentFetcher: typeof AttachmentFetcherOf<Ditto> = AttachmentFetcherOf;

export type AttachmentFetchEvent = AttachmentFetchEventOf<Ditto>;
export type AttachmentFetchEventCompleted = AttachmentFetchEventCompletedOf<Ditto>;

export type Authenticator = AuthenticatorOf<Ditto>;
export const Authenticator: typeof AuthenticatorOf<Ditto> = AuthenticatorOf;

export type AuthenticationExpirationHandler = AuthenticationExpirationHandlerOf<Ditto>;

export type Presence = PresenceOf<Ditto>;
export const Presence: typeof PresenceOf<Ditto> = PresenceOf;

export type Store = StoreOf<Ditto>;
export const Store: typeof StoreOf<Ditto> = StoreOf;

export type StoreObserver = StoreObserverOf<Ditto>;
export const StoreObserver: typeof StoreObserverOf<Ditto> = StoreObserverOf;

export type Sync = SyncOf<Ditto>;
export const Sync: typeof SyncOf<Ditto> = SyncOf;

export type SyncSubscription = SyncSubscriptionOf<Ditto>;
export const SyncSubscription: typeof SyncSubscriptionOf<Ditto> = SyncSubscriptionOf;

export type Transaction = TransactionOf<Store>;
export const Transaction: typeof TransactionOf<Store> = TransactionOf;
