/**
 * The state of a peer's session, what can happen to it, and what it asks of its host. Plain values:
 * nothing here runs.
 */

import type {
  Bye,
  ErrorCode,
  PeerDescription,
  PeerMessage,
  PresentPeer,
  RunEnd,
  RunMessage,
  ServerMessage,
  Site,
  StreamMode,
  SyncCursor,
  Value,
  ValueObject,
  Versions,
} from "@bigpeer/protocol";
import type { ConfirmedBatch, ConfirmedPart, SealedUpload } from "./peer-layers.ts";

/** Now, on both clocks: `elapsed` never goes back and measures time, `wall` is what stands in messages. */
export interface PeerMoment {
  readonly elapsed: number;
  readonly wall: number;
}

/** One subscription, and where it stands on this connection. */
export interface Following {
  readonly key: string;
  readonly query: string;
  readonly args: ValueObject;
  /** Its name on this connection; left out until it was sent. */
  readonly id?: number;
  readonly filter?: Uint8Array;
  /** Left out as long as the filter is. */
  readonly collection?: string;
  readonly isLive: boolean;
  /** The code with which the server did not take it, on this connection. */
  readonly refusal?: string;
}

/** What the uploads of a connection wait for. */
export type UploadWait =
  /** Nothing: the next one can go. */
  | "nothing"
  /** The store looks for what can be sent. */
  | "sealing"
  /** The server says what it has of a site. */
  | "site"
  /** The store goes back to what the server has. */
  | "reoffering"
  /** The store takes a new site. */
  | "forking";

export interface SentUpload {
  readonly site: Site;
  readonly number: number;
}

export interface Uploads {
  readonly wait: UploadWait;
  /** The site whose uploads the server takes now. */
  readonly site: Site;
  /** The site that the server was asked for. */
  readonly asked?: Site;
  /** By site: the last number that was sent on this connection. */
  readonly sent: ReadonlyMap<Site, number>;
  /** Sent and without an outcome. */
  readonly inFlight: readonly SentUpload[];
  /** Sealed, and next to be sent. */
  readonly ready: readonly SealedUpload[];
  /** The store may have more than what was handed out. */
  readonly mayHaveMore: boolean;
}

/** Frames of a transaction whose end has not come yet. */
export interface Gathered {
  readonly parts: readonly (ConfirmedPart & { readonly filter: string })[];
  readonly bytes: number;
}

/** What a peer knows of the others of its app (S41). */
export interface Presence {
  readonly isConnected: boolean;
  /** The others that are connected, told of or not. */
  readonly total: number;
  /** In the order in which they were told of. */
  readonly peers: readonly PresentPeer[];
}

/** How much of what came the store has finished (S43). */
export interface Taken {
  /** Batches that the store was given and has not answered. */
  readonly waiting: number;
  /** What live subscriptions brought up to here is in the store; 0 for nothing. */
  readonly txn: number;
}

/** A connection that was welcomed. */
export interface Link {
  readonly history: string;
  readonly app: string;
  /** What the server's clock is ahead of ours, in milliseconds (S4). */
  readonly offsetMs: number;
  readonly window: number;
  /** Bytes of a message that may be sent. */
  readonly messageBytes: number;
  readonly welcomedAt: number;
  readonly heardAt: number;
  readonly pingedAt: number;
  /** When to ask for a new token; undefined for never. */
  readonly renewAt: number | undefined;
  /** When the token ends; undefined for never. */
  readonly expiresAt: number | undefined;
  /** The last transaction that live subscriptions are complete up to. */
  readonly committed: number;
  /** Rights have changed, and it was not said since that subscriptions are still live. */
  readonly isJudged: boolean;
  readonly known: number;
  /** Keys of subscriptions by filter, and by their name on this connection. */
  readonly filters: ReadonlyMap<string, readonly string[]>;
  readonly ids: ReadonlyMap<number, string>;
  readonly nextId: number;
  /** Streams that were ended while uploads were in flight, as long as these are. */
  readonly ended: EndedStreams;
  readonly gathered: Gathered;
  readonly taken: Taken;
  readonly uploads: Uploads;
  /** Undefined until the server has begun to tell. */
  readonly present: Presence | undefined;
  /** Statements of the server that are being run (S44). */
  readonly runs: ReadonlySet<number>;
}

/** What the server still says for subscriptions that the peer has ended. */
export interface EndedStreams {
  readonly filters: ReadonlyMap<string, EndedStream>;
  /** By their names on this connection: whether they began may not have been heard yet. */
  readonly ids: ReadonlyMap<number, SentUpload>;
}

export interface EndedStream {
  readonly collection: string;
  /** The last upload whose outcome may count on it. */
  readonly last: SentUpload;
}

export type Phase =
  | { readonly name: "stopped" }
  | { readonly name: "waiting"; readonly until: number }
  | { readonly name: "connecting"; readonly since: number }
  /** Hello was sent, with this metadata. */
  | {
      readonly name: "greeting";
      readonly since: number;
      readonly site: Site;
      readonly metadata: ValueObject;
    }
  /** Welcome came, and the store takes it in. */
  | { readonly name: "settling"; readonly link: Link }
  | { readonly name: "open"; readonly link: Link };

export type PhaseName = Phase["name"];

export interface PeerState {
  readonly appId: string;
  /** As it is said in the next hello. */
  readonly description: PeerDescription;
  /** Somebody wants to know of other peers. */
  readonly isWatching: boolean;
  readonly phase: Phase;
  /** Counts the connections: what belongs to a former one is not taken for this one. */
  readonly connection: number;
  readonly chance: number;
  /** Tries in a row that failed, as S8 counts them. */
  readonly failures: number;
  /** Failures of the own store since it last did what it was asked. */
  readonly storeFailures: number;
  readonly subscriptions: ReadonlyMap<string, Following>;
  /** When the host was asked to send a tick. */
  readonly wakeAt?: number;
}

/** What belongs to one connection says to which. */
interface OfConnection {
  readonly connection: number;
}

export type PeerEvent =
  | { readonly kind: "start" }
  | { readonly kind: "stop" }
  | {
      readonly kind: "subscribe";
      readonly key: string;
      readonly query: string;
      readonly args: ValueObject;
      readonly cursor?: SyncCursor | undefined;
    }
  | { readonly kind: "unsubscribe"; readonly key: string }
  /** There are local writes that were not sealed. */
  | { readonly kind: "pending" }
  /** `isReading`: the host reads from the connection, or it would if something came. */
  | { readonly kind: "tick"; readonly isReading: boolean }
  | { readonly kind: "token"; readonly token: string }
  /** The peer says something else of itself (S40). */
  | { readonly kind: "metadata"; readonly metadata: ValueObject }
  /** Whether somebody wants to know of other peers (S41). */
  | { readonly kind: "watch"; readonly isOn: boolean }
  | ({ readonly kind: "opened"; readonly token: string; readonly site: Site } & OfConnection)
  | ({
      readonly kind: "message";
      readonly message: ServerMessage;
      readonly bytes: number;
    } & OfConnection)
  /** Something came that is no message. */
  | ({ readonly kind: "garbled"; readonly message: string } & OfConnection)
  | ({
      readonly kind: "disconnected";
      readonly message: string;
      /** Of a login that was refused: another try would be, too. */
      readonly refusal?: ErrorCode | undefined;
    } & OfConnection)
  /** A new token could not be had; perhaps a little later. */
  | ({ readonly kind: "unrenewed" } & OfConnection)
  /** Rows of a statement that is being run; `end` when there are no more. */
  | ({
      readonly kind: "answered";
      readonly id: number;
      readonly items: readonly Value[];
      readonly end?: RunEnd | undefined;
    } & OfConnection)
  /** The store could not do what it was asked. */
  | ({ readonly kind: "failed"; readonly error: unknown } & OfConnection)
  | ({
      readonly kind: "welcomed";
      /** By key: where each subscription stands. */
      readonly cursors: ReadonlyMap<string, SyncCursor>;
    } & OfConnection)
  | ({
      readonly kind: "applied";
      readonly batch: Pick<ConfirmedBatch, "committed" | "completed">;
      readonly wants: readonly { readonly subscription: string; readonly ids: readonly Value[] }[];
    } & OfConnection)
  | ({
      readonly kind: "compared";
      readonly filter: Uint8Array;
      readonly ids: readonly Value[];
      readonly isLast: boolean;
    } & OfConnection)
  | ({
      readonly kind: "sealed";
      readonly uploads: readonly SealedUpload[];
      /** Nothing more waits in the store. */
      readonly isAll: boolean;
    } & OfConnection)
  /** `ask`: another site that the server may lack uploads of. */
  | ({ readonly kind: "reoffered"; readonly ask?: Site | undefined } & OfConnection)
  | ({ readonly kind: "forked" } & OfConnection);

export type PeerEventKind = PeerEvent["kind"];

export type PeerAction =
  | ({ readonly kind: "dial" } & OfConnection)
  /** Ends the connection after what was sent. */
  | ({ readonly kind: "hangUp" } & OfConnection)
  | { readonly kind: "send"; readonly message: PeerMessage }
  /** Sends a pong, with the number of writes that have no outcome now (S43). */
  | { readonly kind: "pong"; readonly ping: number; readonly now: number; readonly txn?: number }
  | StoreAction
  /** Runs a statement: it is answered with `answered`. */
  | ({ readonly kind: "run"; readonly run: RunMessage } & OfConnection)
  /** Nobody waits for this run any more. */
  | ({ readonly kind: "cancel"; readonly id: number } & OfConnection)
  /** Asks for a new token: it is answered with `token` or `unrenewed`. */
  | { readonly kind: "renew" }
  /** A tick is due at this time of the clock that never goes back; the last call counts. */
  | { readonly kind: "wakeAt"; readonly elapsed: number }
  /** No tick is due any more. */
  | { readonly kind: "sleep" }
  | { readonly kind: "report"; readonly event: SessionReport };

/** Work of the store. The host does it strictly in this order, one at a time. */
export type StoreAction =
  | ({
      readonly kind: "welcome";
      readonly history: string;
      readonly app: string;
      readonly rights: Uint8Array;
      readonly offsetMs: number;
    } & OfConnection)
  /** The rights changed while connected. */
  | ({ readonly kind: "rights"; readonly rights: Uint8Array } & OfConnection)
  | ({
      readonly kind: "apply";
      readonly batch: ConfirmedBatch;
      readonly bytes: number;
    } & OfConnection)
  | ({
      readonly kind: "compare";
      readonly subscriptions: readonly string[];
      readonly versions: Versions;
      readonly bytes: number;
    } & OfConnection)
  | ({ readonly kind: "behind"; readonly subscriptions: readonly string[] } & OfConnection)
  /** A fill or compare begins (S15). */
  | ({
      readonly kind: "begin";
      readonly subscription: string;
      readonly mode: Exclude<StreamMode, "resume">;
    } & OfConnection)
  /** The subscription is over. Holds with and without a connection. */
  | ({ readonly kind: "release"; readonly subscription: string } & OfConnection)
  /** The server does not permit the subscription. */
  | ({ readonly kind: "deny"; readonly subscription: string } & OfConnection)
  | ({
      readonly kind: "seal";
      readonly offsetMs: number;
      readonly max: number;
      readonly sent: ReadonlyMap<Site, number>;
    } & OfConnection)
  | ({ readonly kind: "reoffer"; readonly site: Site; readonly known: number } & OfConnection)
  | ({ readonly kind: "fork"; readonly site: Site; readonly number: number } & OfConnection);

/** Why a connection ended: a code of `bye`, or what the peer saw itself. */
export type EndCode = Bye["code"] | "lost" | "silent" | "gap" | "too_large" | "store";

export type SessionReport =
  | { readonly kind: "connected"; readonly history: string; readonly offsetMs: number }
  | {
      readonly kind: "disconnected";
      readonly code: EndCode;
      readonly message: string;
      /** When the next try is made; left out when there is none. */
      readonly retryInMs?: number;
      /** Of a login that was refused (`unauthorized`): why, before any server was dialled. */
      readonly refusal?: ErrorCode;
    }
  /** The server is of another app: nothing more is tried (S39). */
  | { readonly kind: "foreign"; readonly app: string }
  | {
      readonly kind: "unsubscribed";
      readonly key: string;
      readonly code: string;
      readonly message: string;
    }
  | { readonly kind: "failed"; readonly error: unknown };

export interface PeerStep {
  readonly state: PeerState;
  readonly actions: readonly PeerAction[];
}

/** One step under way: when it is, and what it asks for. */
export interface Turn {
  readonly now: PeerMoment;
  readonly actions: PeerAction[];
}

/** A state that has a connection that was welcomed. */
export type Linked = PeerState & { readonly phase: { readonly link: Link } };

export function isLinked(state: PeerState): state is Linked {
  return state.phase.name === "settling" || state.phase.name === "open";
}

export function withLink(state: Linked, change: Partial<Link>): Linked {
  return { ...state, phase: { ...state.phase, link: { ...state.phase.link, ...change } } };
}
