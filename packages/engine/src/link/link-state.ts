/**
 * The state of one side of a link, what happens to it, and what it wants done: the words of its
 * machine (link-session.ts).
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
import type { LinkSide } from "./link-proof.ts";
import type { LinkQuery } from "./link-query.ts";

/** One moment, and the last transaction of the own store. */
export interface LinkMoment {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  /** On a clock that never goes back. */
  readonly elapsedMs: number;
  readonly txn: number;
}

export interface LinkLimits {
  /** How long it may take until both sides have told of their stores. */
  readonly greetingMs: number;
  /** After so much silence `ping` is sent, and after so much the link is ended. */
  readonly pingMs: number;
  readonly silenceMs: number;
  /** How long nothing of what waits may be taken by the network. */
  readonly stuckMs: number;
  /** After this a query that the source has refused is asked for again. */
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

export interface LinkFacts {
  readonly side: LinkSide;
  readonly app: string;
  /** Of the own store. */
  readonly history: string;
  /** What this side says in its greeting. */
  readonly nonce: Uint8Array;
  /** Of Big Peers, that of the own store among them (S60). */
  readonly sites: readonly Site[];
  readonly limits: LinkLimits;
}

/** A query of the configuration, with the text to ask for it. */
export interface WantedQuery extends LinkQuery {
  readonly statement: string;
}

interface Begun {
  readonly facts: LinkFacts;
  readonly sinceMs: number;
  readonly wanted: readonly WantedQuery[];
}

/** Waits for the greeting of the other side. */
export interface Greeting extends Begun {
  readonly phase: "greeting";
  /** Whether this side has said its own. */
  readonly hasGreeted: boolean;
}

/** Waits for the proof of the other side, or until one is computed. */
export interface Proving extends Begun {
  readonly phase: "proving";
  readonly nonces: { readonly [side in LinkSide]: Uint8Array };
  /** What the other side has sent as its proof; undefined before. */
  readonly claim: Uint8Array | undefined;
}

/** Both know the secret; waits to hear of the other store. */
export interface Meeting extends Begun {
  readonly phase: "meeting";
}

export interface LinkedState {
  readonly phase: "linked";
  readonly facts: LinkFacts;
  /** The history of the other store. */
  readonly partner: string;
  readonly heardMs: number;
  readonly pingedMs: number;
  /** What the last ping told, and the last that was heard of the other store. */
  readonly toldTxn: number;
  readonly partnerTxn: number;
  /** How many sites of Big Peers were told. */
  readonly toldSites: number;
  /** The last id that was given to an own subscription. */
  readonly lastId: number;
  /** What this side follows. */
  readonly follows: ReadonlyMap<number, Follow>;
  /** What the other side follows. */
  readonly served: ReadonlyMap<number, Served>;
  readonly waiting: Waiting | undefined;
}

export interface Follow {
  readonly query: WantedQuery;
  /** `asked`: the source has not answered; `refused` and `held`: until a time, then it is asked again. */
  readonly state: "asked" | "following" | "refused" | "held";
  /** Of one that is held: milliseconds since 1970; else on the clock that never goes back. */
  readonly untilMs: number;
}

export interface Served {
  readonly size: number;
  /** Undefined until it is followed. */
  readonly stream: ServedStream | undefined;
}

export interface ServedStream {
  readonly filter: Uint8Array;
  readonly filterKey: string;
  readonly collection: string;
  readonly mode: "resume" | "fill";
}

/** What the network has taken in all, and since when not more. */
export interface Waiting {
  readonly takenBytes: number;
  readonly sinceMs: number;
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
  /** A frame that is no message. */
  | { readonly kind: "garbled"; readonly reason: string }
  /** The answer to `sign`; undefined when there is no secret. */
  | { readonly kind: "signed"; readonly side: LinkSide; readonly proof: Uint8Array | undefined }
  /** What is to be followed from now on. */
  | { readonly kind: "configured"; readonly wanted: readonly WantedQuery[] }
  /** The answer to `follow`: where to go on. */
  | { readonly kind: "cursor"; readonly id: number; readonly cursor: SyncCursor | undefined }
  /** Own queries cannot go on before a time, milliseconds since 1970 (S52). */
  | { readonly kind: "held"; readonly ids: readonly number[]; readonly untilMs: number }
  /** The answers to `serve`. */
  | ({ readonly kind: "served"; readonly id: number } & ServedStream)
  | {
      readonly kind: "not_served";
      readonly id: number;
      readonly code: string;
      readonly message: string;
    }
  /** A stream that is served is over. */
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
      /** As in the facts, of now. */
      readonly sites: readonly Site[];
      readonly queuedBytes: number;
      readonly takenBytes: number;
      /** Whether what comes is read at this moment. */
      readonly isReading: boolean;
    }
  /** Somebody here ends it. */
  | {
      readonly kind: "closing";
      readonly code: ByeCode;
      readonly message: string;
      readonly after?: number | undefined;
    }
  /** The connection is gone. */
  | { readonly kind: "disconnected" };

export type LinkAction =
  | { readonly kind: "send"; readonly message: LinkMessage }
  /** Asks for the HMAC by which a side proves that it knows the secret. */
  | { readonly kind: "sign"; readonly side: LinkSide; readonly bytes: Uint8Array }
  /** Both sides know each other. */
  | { readonly kind: "linked"; readonly partner: string }
  /** The other side has told these sites of Big Peers. */
  | { readonly kind: "sites"; readonly sites: readonly Site[] }
  | { readonly kind: "follow"; readonly id: number; readonly query: LinkQuery }
  | { readonly kind: "unfollow"; readonly id: number }
  | {
      readonly kind: "subscribed";
      readonly id: number;
      readonly filter: Uint8Array;
      /** Whether it goes on from the cursor. */
      readonly isResumed: boolean;
    }
  /** What came of a query that is followed. */
  | { readonly kind: "take"; readonly message: StreamMessage; readonly size: number }
  /** All that is live is complete up to here. */
  | { readonly kind: "reached"; readonly txn: number }
  | {
      readonly kind: "serve";
      readonly id: number;
      readonly query: string;
      readonly cursor: SyncCursor | undefined;
    }
  | { readonly kind: "unserve"; readonly filterKey: string }
  /** The other side holds these, and does not know what became of them. */
  | { readonly kind: "want"; readonly filterKey: string; readonly ids: readonly Value[] }
  | { readonly kind: "contents"; readonly message: FetchMessage | ContentMessage }
  /** Something is worth to be seen that does not end the link. */
  | { readonly kind: "note"; readonly code: string; readonly message: string }
  /** It is over, and why. */
  | { readonly kind: "ended"; readonly bye: Omit<Bye, "t">; readonly isOrderly: boolean }
  /** Ends the connection after what was sent. */
  | { readonly kind: "close" }
  /** Nothing of it is needed any more. Always the last. */
  | { readonly kind: "release"; readonly isOrderly: boolean };

export type StreamMessage = Documents | Complete | Behind | CommittedMessage;

export interface LinkStep {
  readonly state: LinkState;
  readonly actions: readonly LinkAction[];
}
