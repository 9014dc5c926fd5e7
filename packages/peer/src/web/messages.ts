/**
 * Messages between a page and the worker that runs its peer. The browser clones them, so they hold
 * values and nothing else.
 */

import type { RefusedUpload, SubscriptionStatus } from "@bigpeer/engine/peer";
import type { AuthStatus } from "../auth.ts";
import type { AttachmentCall } from "../host/attachment-transfers.ts";
import type { QueryResult, TransactionResult } from "../local-store.ts";
import type { Login, RemotePolicy, RemoteStatement } from "../options.ts";
import type { PeerEvents } from "../peer-events.ts";
import type { PlainObject, PlainValue } from "../plain-value.ts";
import type { PresenceGraph } from "../presence.ts";
import type { SyncStatus } from "../sync.ts";
import type { SentError } from "./sent-error.ts";
import type { SentRows } from "./sent-rows.ts";

/** Pages and workers of different builds understand each other only if this is the same. */
export const PAGE_PROTOCOL = 1;

/** The options of a page, as its worker gets them. The page has checked all but the metadata. */
export interface PageOptions {
  readonly appId: string;
  /** http or https, without a trailing slash. */
  readonly url: string;
  readonly name: string;
  /** Undefined for a login: then the worker asks a page for its details. */
  readonly token: string | undefined;
  /** As the app names it, or else by the user agent. */
  readonly deviceName: string;
  readonly os: string;
  readonly metadata: unknown;
  /** `ask` if the page has a function that decides. */
  readonly remote: Exclude<RemotePolicy, (...args: never[]) => unknown> | "ask";
  readonly isInMemory: boolean;
  /** When the app opened the peer: of two credentials, that of the later page holds. */
  readonly openedAtMs: number;
  readonly attachmentBytesMax?: number | undefined;
  /** Where the worker finds the code for patterns, that for EXPLAIN, and that for attachments. */
  readonly patternsUrl: string;
  readonly explainUrl: string;
  readonly attachmentsUrl: string;
}

/** A result; its rows end with these. */
export type SentResult = Omit<QueryResult, "items"> & { readonly rows: SentRows };

/** What a page can have its worker do: the methods of a session. */
export interface WorkerCalls {
  /** The first rows of the result may come before, as messages with its number. */
  execute(result: number, statement: unknown, args: unknown): Promise<SentResult>;
  /** Resolves when the transaction is committed. The worker asks the page to run its function. */
  runTransaction(transaction: number): Promise<void>;
  executeIn(transaction: number, statement: unknown, args: unknown): Promise<TransactionResult>;
  observe(observer: number, query: unknown, args: unknown): Promise<void>;
  cancelObserver(observer: number): Promise<void>;
  subscribe(
    subscription: number,
    query: unknown,
    args: unknown,
    isPrefetched: boolean,
  ): Promise<void>;
  whenReady(subscription: number): Promise<void>;
  cancelSubscription(subscription: number): Promise<void>;
  startSync(): Promise<void>;
  stopSync(): Promise<void>;
  logout(): Promise<void>;
  listRefused(): Promise<readonly RefusedUpload[]>;
  clearRefused(commitId: unknown): Promise<number>;
  watchPresence(isWatched: boolean): Promise<void>;
  setPeerMetadata(metadata: unknown): Promise<void>;
  attach(call: AttachmentCall): Promise<unknown>;
  erase(isForced: boolean): Promise<void>;
}

export type CallName = keyof WorkerCalls;

/** Of a call or a question: what it returned, or the error that it threw. */
export type Outcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: SentError };

/** What only a page can do: run a function of the app. */
export type Question =
  | { readonly kind: "login" }
  | { readonly kind: "remote"; readonly request: RemoteStatement }
  /** Runs the function of a transaction, perhaps not for the first time. */
  | { readonly kind: "transaction"; readonly transaction: number }
  /** The next piece of a content that the app gives. */
  | { readonly kind: "piece"; readonly content: number };

export interface Answers {
  readonly login: Login;
  readonly remote: boolean;
  readonly transaction: undefined;
  /** Undefined at the end. */
  readonly piece: Uint8Array | undefined;
}

export type PageMessage =
  | {
      readonly kind: "open";
      readonly protocol: number;
      /** The page holds a Web Lock of this name for as long as it lives. */
      readonly pageId: string;
      readonly options: PageOptions;
    }
  | {
      readonly kind: "call";
      readonly id: number;
      readonly name: CallName;
      readonly args: readonly unknown[];
    }
  | { readonly kind: "answer"; readonly id: number; readonly outcome: Outcome }
  /** The page can take the next result of an observer. */
  | { readonly kind: "next"; readonly observer: number }
  | { readonly kind: "pong" }
  | { readonly kind: "close" }
  /** As `close`, of a page that must not get an answer. */
  | { readonly kind: "leave" };

/** Copies of what a page can read without waiting. */
export interface PeerState {
  readonly isActive: boolean;
  readonly sync: SyncStatus;
  readonly auth: AuthStatus;
  readonly graph: PresenceGraph;
  readonly peerMetadata: PlainObject;
}

/** What a worker posts: one message, or several in their order. */
export type WorkerPost = WorkerMessage | WorkerMessage[];

export type WorkerMessage = { readonly instance: string } & WorkerContent;

/** What the peer of a page handles; the link to the worker handles the rest. */
export type PeerNotice = Extract<
  WorkerMessage,
  {
    kind:
      | "state"
      | "part"
      | "rows"
      | "observerEnded"
      | "subscription"
      | "presence"
      | "progress"
      | "event";
  }
>;

export type WorkerContent =
  /** The worker runs. It answers when the peer is open. */
  | { readonly kind: "hello" }
  | {
      readonly kind: "opened";
      readonly state: PeerState;
      /** Another one than before means that the peer was opened anew: its sync is stopped. */
      readonly opening: string;
    }
  | { readonly kind: "refused"; readonly error: SentError }
  /** Another worker has the database: attach to it, if it speaks the same protocol. */
  | { readonly kind: "moved"; readonly url: string; readonly protocol: number }
  /** The page must open the peer again. */
  | { readonly kind: "restart" }
  /** The session of the page has ended, as it wished. */
  | { readonly kind: "closed" }
  | { readonly kind: "outcome"; readonly id: number; readonly outcome: Outcome }
  /** Nothing was done of a call: it is for the worker that comes next. */
  | { readonly kind: "undone"; readonly id: number }
  | { readonly kind: "question"; readonly id: number; readonly question: Question }
  | { readonly kind: "state"; readonly state: PeerState }
  /** Rows of a result or an observer; more follow. */
  | { readonly kind: "part"; readonly of: number; readonly rows: SentRows }
  /** A result of an observer; its rows end with these. */
  | {
      readonly kind: "rows";
      readonly observer: number;
      readonly rows: SentRows;
      readonly pendingIds: readonly PlainValue[];
    }
  /** The query of an observer failed. */
  | {
      readonly kind: "observerEnded";
      readonly observer: number;
      /** A worker of an older build sends an event instead. */
      readonly error?: SentError | undefined;
    }
  | {
      readonly kind: "subscription";
      readonly subscription: number;
      readonly status: SubscriptionStatus;
    }
  | { readonly kind: "presence"; readonly graph: PresenceGraph }
  /** Of a fetch: bytes so far. */
  | { readonly kind: "progress"; readonly fetch: number; readonly received: number }
  | {
      readonly [Name in keyof PeerEvents]: {
        readonly kind: "event";
        readonly name: Name;
        readonly details: Name extends "error" ? SentError : PeerEvents[Name];
      };
    }[keyof PeerEvents]
  | { readonly kind: "ping" };
