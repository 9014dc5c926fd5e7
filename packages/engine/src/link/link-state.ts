/**
 * Link state: types of the link state machine (link-session.ts): its states, events, actions and
 * limits. A link connects two Big Peers; each may follow queries of the other.
 */

import type {
  Behind,
  Bye,
  ByeCode,
  CommittedMessage,
  Complete,
  ContentMessage,
  Documents,
  FetchMessage,
  LinkMessage,
  Site,
  SyncCursor,
  Value,
} from "@bigpeer/protocol";
import type { Liveness, LivenessLimits } from "../sync/session/liveness.ts";
import type { LinkSide } from "./link-proof.ts";
import type { LinkQuery } from "./link-query.ts";

/** A moment, with the last transaction of the own store. */
export interface LinkMoment {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  /** Monotonic clock. */
  readonly elapsedMs: number;
  readonly txn: number;
}

export interface LinkLimits extends LivenessLimits {
  /** How long it may take until both sides have sent `linked`. */
  readonly greetingMs: number;
  /** Milliseconds after which a query that the source refused is requested again. */
  readonly retryMs: number;
  /** Queries that the other side may follow, and characters of all of them. */
  readonly subscriptions: number;
  readonly subscriptionBytes: number;
}

export const LINK_LIMITS: LinkLimits = {
  greetingMs: 30_000,
  pingMs: 30_000,
  silenceMs: 60_000,
  stuckMs: 60_000,
  retryMs: 60_000,
  subscriptions: 1000,
  subscriptionBytes: 8 * 1024 * 1024,
};

export interface LinkConfig {
  readonly side: LinkSide;
  readonly app: string;
  /** History of the own store. */
  readonly history: string;
  /** Nonce in the `link` of this side. */
  readonly nonce: Uint8Array;
  /** Sites of Big Peers, including that of the own store (S60). */
  readonly sites: readonly Site[];
  readonly limits: LinkLimits;
}

/** A query of the configuration, with its text as a subscription. */
export interface WantedQuery extends LinkQuery {
  readonly statement: string;
}

interface Begun {
  readonly config: LinkConfig;
  readonly sinceMs: number;
  readonly wanted: readonly WantedQuery[];
}

/** Waits for `link` of the other side. */
export interface Greeting extends Begun {
  readonly phase: "greeting";
  /** Whether this side has sent its own. */
  readonly hasGreeted: boolean;
}

/** Waits for the proof of the other side, or for the computation of one. */
export interface Proving extends Begun {
  readonly phase: "proving";
  readonly nonces: { readonly [side in LinkSide]: Uint8Array };
  /** Proof of the other side; undefined before it arrived. */
  readonly claim: Uint8Array | undefined;
}

/** Both sides know the secret; waits for `linked` of the other side. */
export interface Meeting extends Begun {
  readonly phase: "meeting";
}

export interface LinkedState extends Liveness {
  readonly phase: "linked";
  readonly config: LinkConfig;
  /** The history of the other store. */
  readonly partner: string;
  /** A link begins with `linked`, which counts as a ping. */
  readonly pingedMs: number;
  /** Transaction that the last ping announced, and the last known one of the other store. */
  readonly announcedTxn: number;
  readonly partnerTxn: number;
  /** How many sites of Big Peers were announced. */
  readonly announcedSites: number;
  /** The last id of a subscription of this side. */
  readonly lastId: number;
  /** Queries that this side follows. */
  readonly follows: ReadonlyMap<number, Follow>;
  /** Queries that the other side follows. */
  readonly served: ReadonlyMap<number, Served>;
}

export interface Follow {
  readonly query: WantedQuery;
  /** `asked`: the source has not answered; `refused` and `held`: it is asked again later. */
  readonly state: "asked" | "following" | "refused" | "held";
  /** For `held`, milliseconds since 1970; else by the monotonic clock. */
  readonly untilMs: number;
}

export interface Served {
  readonly size: number;
  /** Undefined until its stream has begun. */
  readonly stream: ServedStream | undefined;
}

export interface ServedStream {
  readonly filter: Uint8Array;
  readonly filterKey: string;
  readonly collection: string;
  readonly mode: "resume" | "fill";
}

export interface Closed {
  readonly phase: "closed";
}

export const CLOSED: Closed = { phase: "closed" };

export type LinkState = Greeting | Proving | Meeting | LinkedState | Closed;

export type LinkSessionEvent =
  /** The connection was made. */
  | { readonly kind: "opened" }
  | { readonly kind: "message"; readonly message: LinkMessage; readonly size: number }
  /** A frame that is not a valid message. */
  | { readonly kind: "garbled"; readonly reason: string }
  /** Answer to `sign`; undefined if there is no secret. */
  | { readonly kind: "signed"; readonly side: LinkSide; readonly proof: Uint8Array | undefined }
  /** The queries to follow from now on. */
  | { readonly kind: "configured"; readonly wanted: readonly WantedQuery[] }
  /** Answer to `follow`: the cursor to continue from. */
  | { readonly kind: "cursor"; readonly id: number; readonly cursor: SyncCursor | undefined }
  /** Queries of this side cannot continue before this time, milliseconds since 1970 (S86). */
  | { readonly kind: "held"; readonly ids: readonly number[]; readonly untilMs: number }
  /** Answers to `serve`. */
  | ({ readonly kind: "served"; readonly id: number } & ServedStream)
  | {
      readonly kind: "not_served";
      readonly id: number;
      readonly code: string;
      readonly message: string;
    }
  /** A served stream is over. */
  | {
      readonly kind: "stream_failed";
      readonly filterKey: string;
      readonly code: string;
      readonly message: string;
    }
  /** About once a second. */
  | {
      readonly kind: "tick";
      /** All live streams of the other side are complete up to here. */
      readonly servedTxn: number;
      /** The current sites, as in the configuration. */
      readonly sites: readonly Site[];
      readonly queuedBytes: number;
      readonly takenBytes: number;
      /** Whether this side reads from the connection at this moment. */
      readonly isReading: boolean;
    }
  /** This side ends the link. */
  | {
      readonly kind: "closing";
      readonly code: ByeCode;
      readonly message: string;
      readonly after?: number | undefined;
    }
  /** The connection is closed. */
  | { readonly kind: "disconnected" };

export type LinkAction =
  | { readonly kind: "send"; readonly message: LinkMessage }
  /** Computes the HMAC with which a side proves that it knows the secret. */
  | { readonly kind: "sign"; readonly side: LinkSide; readonly bytes: Uint8Array }
  /** Both sides have sent `linked`. */
  | { readonly kind: "linked"; readonly partner: string }
  /** The other side sent these sites of Big Peers (S60). */
  | { readonly kind: "sites"; readonly sites: readonly Site[] }
  | { readonly kind: "follow"; readonly id: number; readonly query: LinkQuery }
  | { readonly kind: "unfollow"; readonly id: number }
  | {
      readonly kind: "subscribed";
      readonly id: number;
      readonly filter: Uint8Array;
      /** Whether the source continues from the cursor. */
      readonly isResumed: boolean;
    }
  /** A message of a followed query. */
  | { readonly kind: "take"; readonly message: StreamMessage; readonly size: number }
  /** All live queries are complete up to here. */
  | { readonly kind: "reached"; readonly txn: number }
  | {
      readonly kind: "serve";
      readonly id: number;
      readonly query: string;
      readonly cursor: SyncCursor | undefined;
    }
  | { readonly kind: "unserve"; readonly filterKey: string }
  /** The other side holds these and requests their current state (S85). */
  | { readonly kind: "want"; readonly filterKey: string; readonly ids: readonly Value[] }
  | { readonly kind: "contents"; readonly message: FetchMessage | ContentMessage }
  /** An error for the status that does not end the link. */
  | { readonly kind: "note"; readonly code: string; readonly message: string }
  /** The link is over, and why. */
  | { readonly kind: "ended"; readonly bye: Omit<Bye, "t">; readonly isOrderly: boolean }
  /** Closes the connection after everything that was sent. */
  | { readonly kind: "close" }
  /** Frees all that the link holds. Always the last action. */
  | { readonly kind: "release"; readonly isOrderly: boolean };

export type StreamMessage = Documents | Complete | Behind | CommittedMessage;

export interface LinkStep {
  readonly state: LinkState;
  readonly actions: readonly LinkAction[];
}
