/**
 * Session state: the state of a peer's session, its events, and the actions that it asks of its
 * host. Plain values without side effects.
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
import type { ConfirmedBatch, ConfirmedPart, SequencedUpload } from "./peer-layers.ts";

/** The current time: `elapsed` is monotonic and measures spans, `wall` goes into messages. */
export interface PeerMoment {
  readonly elapsed: number;
  readonly wall: number;
}

/** A subscription and its state on this connection. */
export interface Following {
  readonly key: string;
  readonly query: string;
  readonly args: ValueObject;
  /** Its id on this connection; left out until it is sent. */
  readonly id?: number;
  readonly filter?: Uint8Array;
  /** Left out while the filter is. */
  readonly collection?: string;
  readonly isLive: boolean;
  /** The code with which the server refused it on this connection. */
  readonly refusal?: string;
}

/** What the uploads of a connection wait for. */
export type UploadWait =
  /** Nothing: the next upload can be sent. */
  | "nothing"
  /** The store looks for uploads to send. */
  | "sequencing"
  /** The server answers what it has of a site. */
  | "site"
  /** The store offers again what the server lacks (S30). */
  | "reoffering"
  /** The store takes a new site (S75). */
  | "forking";

export interface SentUpload {
  readonly site: Site;
  readonly number: number;
}

export interface Uploads {
  readonly wait: UploadWait;
  /** The site whose uploads the server currently takes. */
  readonly site: Site;
  /** The site that the peer asked the server about. */
  readonly asked?: Site;
  /** The last number that was sent on this connection, by site. */
  readonly sent: ReadonlyMap<Site, number>;
  /** Sent and without an outcome. */
  readonly inFlight: readonly SentUpload[];
  /** Sequenced uploads to send next. */
  readonly ready: readonly SequencedUpload[];
  /** Whether the store may have more uploads than it handed out. */
  readonly mayHaveMore: boolean;
}

/** Frames of a transaction that has not ended yet. */
export interface Gathered {
  readonly parts: readonly (ConfirmedPart & { readonly filter: string })[];
  readonly bytes: number;
}

/** What a peer knows about the other peers of its app (S41). */
export interface Presence {
  readonly isConnected: boolean;
  /** Number of the others that are connected, listed or not. */
  readonly total: number;
  /** In the order in which the server listed them. */
  readonly peers: readonly PresentPeer[];
}

/** How much of what arrived the store has applied (S43). */
export interface Taken {
  /** Batches that the store has not finished. */
  readonly waiting: number;
  /** The store has everything of live subscriptions up to this transaction; 0 for none. */
  readonly txn: number;
}

/** A connection that was welcomed. */
export interface Link {
  readonly history: string;
  readonly app: string;
  /** How far the server's clock is ahead of the peer's, in milliseconds (S4). */
  readonly offsetMs: number;
  readonly window: number;
  /** Bytes that one message to the server may have. */
  readonly messageBytes: number;
  readonly welcomedAt: number;
  readonly heardAt: number;
  readonly pingedAt: number;
  /** When to renew the token; undefined for never. */
  readonly renewAt: number | undefined;
  /** When the token expires; undefined for never. */
  readonly expiresAt: number | undefined;
  /** The last transaction up to which live subscriptions are complete. */
  readonly committed: number;
  /** Rights have changed, and nothing has confirmed the live subscriptions since (S71). */
  readonly isChecked: boolean;
  readonly known: number;
  /** Keys of subscriptions by filter, and by id on this connection. */
  readonly filters: ReadonlyMap<string, readonly string[]>;
  readonly ids: ReadonlyMap<number, string>;
  readonly nextId: number;
  /** Streams that ended while uploads were in flight, kept as long as these are. */
  readonly ended: EndedStreams;
  readonly gathered: Gathered;
  readonly taken: Taken;
  readonly uploads: Uploads;
  /** Undefined until the server has begun to list. */
  readonly present: Presence | undefined;
  /** Numbers of the server's statements that are running (S44). */
  readonly runs: ReadonlySet<number>;
}

/** Subscriptions that the peer has ended and that the server may still send for (S74). */
export interface EndedStreams {
  readonly filters: ReadonlyMap<string, EndedStream>;
  /** By id on this connection: `subscribed` may not have arrived yet. */
  readonly ids: ReadonlyMap<number, SentUpload>;
}

export interface EndedStream {
  readonly collection: string;
  /** The last upload whose outcome may count on the stream. */
  readonly last: SentUpload;
}

export type Phase =
  | { readonly name: "stopped" }
  | { readonly name: "waiting"; readonly until: number }
  | { readonly name: "connecting"; readonly since: number }
  /** `hello` was sent, with this metadata. */
  | {
      readonly name: "greeting";
      readonly since: number;
      readonly site: Site;
      readonly metadata: ValueObject;
    }
  /** `welcome` arrived, and the store applies it. */
  | { readonly name: "settling"; readonly link: Link }
  | { readonly name: "open"; readonly link: Link };

export type PhaseName = Phase["name"];

export interface PeerState {
  readonly appId: string;
  /** As the next `hello` sends it. */
  readonly description: PeerDescription;
  /** Whether the app observes other peers. */
  readonly isWatching: boolean;
  readonly phase: Phase;
  /** Number of the connection. Events of an earlier one are ignored. */
  readonly connection: number;
  readonly chance: number;
  /** Failed attempts in a row, as S8 counts them. */
  readonly failures: number;
  /** Failures of the store since its last success. */
  readonly storeFailures: number;
  readonly subscriptions: ReadonlyMap<string, Following>;
  /** When the host was asked to send `tick`. */
  readonly wakeAt?: number;
}

/** Names the connection that an event or action belongs to. */
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
  /** Local writes became durable that were never sent. */
  | { readonly kind: "pending" }
  /** `isReading`: whether the host reads from the connection. */
  | { readonly kind: "tick"; readonly isReading: boolean }
  | { readonly kind: "token"; readonly token: string }
  /** The app replaced the metadata of the peer (S40). */
  | { readonly kind: "metadata"; readonly metadata: ValueObject }
  /** Whether the app observes other peers (S41). */
  | { readonly kind: "watch"; readonly isOn: boolean }
  | ({ readonly kind: "opened"; readonly token: string; readonly site: Site } & OfConnection)
  | ({
      readonly kind: "message";
      readonly message: ServerMessage;
      readonly bytes: number;
    } & OfConnection)
  /** A frame arrived that is not a valid message. */
  | ({ readonly kind: "garbled"; readonly message: string } & OfConnection)
  | ({
      readonly kind: "disconnected";
      readonly message: string;
      /** Set for a login that was refused: another try would be, too. */
      readonly refusal?: ErrorCode | undefined;
    } & OfConnection)
  /** The token could not be renewed; a later try may succeed. */
  | ({ readonly kind: "unrenewed" } & OfConnection)
  /** Rows of a running statement; `end` is set on the last piece. */
  | ({
      readonly kind: "answered";
      readonly id: number;
      readonly items: readonly Value[];
      readonly end?: RunEnd | undefined;
    } & OfConnection)
  /** The store failed to do its work. */
  | ({ readonly kind: "failed"; readonly error: unknown } & OfConnection)
  | ({
      readonly kind: "welcomed";
      /** The cursors of the subscriptions, by key. */
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
      readonly kind: "sequenced";
      readonly uploads: readonly SequencedUpload[];
      /** Whether the store has no more uploads. */
      readonly isAll: boolean;
    } & OfConnection)
  /** `ask`: another site of which the server may lack uploads. */
  | ({ readonly kind: "reoffered"; readonly ask?: Site | undefined } & OfConnection)
  | ({ readonly kind: "forked" } & OfConnection);

export type PeerEventKind = PeerEvent["kind"];

export type PeerAction =
  | ({ readonly kind: "dial" } & OfConnection)
  /** Closes the connection after the queued messages. */
  | ({ readonly kind: "hangUp" } & OfConnection)
  | { readonly kind: "send"; readonly message: PeerMessage }
  /** Sends `pong` with the current number of writes without an outcome (S43). */
  | { readonly kind: "pong"; readonly ping: number; readonly now: number; readonly txn?: number }
  | StoreAction
  /** Runs a statement; the host reports `answered`. */
  | ({ readonly kind: "run"; readonly run: RunMessage } & OfConnection)
  /** Stops a run that the server no longer waits for. */
  | ({ readonly kind: "cancel"; readonly id: number } & OfConnection)
  /** Requests a new token; the host reports `token` or `unrenewed`. */
  | { readonly kind: "renew" }
  /** Requests `tick` at this time of the monotonic clock; the last request counts. */
  | { readonly kind: "wakeAt"; readonly elapsed: number }
  /** Cancels the requested `tick`. */
  | { readonly kind: "sleep" }
  | { readonly kind: "report"; readonly event: SessionReport };

/** Work of the store. The host does it strictly in order, one at a time. */
export type StoreAction =
  | ({
      readonly kind: "welcome";
      readonly history: string;
      readonly app: string;
      readonly rights: Uint8Array;
      readonly offsetMs: number;
    } & OfConnection)
  /** Rights that changed during the connection (S71). */
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
  /** A fill or comparison begins (S15). */
  | ({
      readonly kind: "begin";
      readonly subscription: string;
      readonly mode: Exclude<StreamMode, "resume">;
    } & OfConnection)
  /** The subscription has ended, with or without a connection. */
  | ({ readonly kind: "release"; readonly subscription: string } & OfConnection)
  /** The server does not permit the subscription. */
  | ({ readonly kind: "deny"; readonly subscription: string } & OfConnection)
  | ({
      readonly kind: "sequence";
      readonly offsetMs: number;
      readonly max: number;
      readonly sent: ReadonlyMap<Site, number>;
    } & OfConnection)
  | ({ readonly kind: "reoffer"; readonly site: Site; readonly known: number } & OfConnection)
  | ({ readonly kind: "fork"; readonly site: Site; readonly number: number } & OfConnection);

/**
 * How a connection ended: a code of the server's `bye` message (docs/sync-protocol.md), or what the
 * peer found itself, such as `lost` or `silent`.
 *
 * @example
 * const isOutdated = (code: EndCode): boolean => code === "version";
 * console.log(isOutdated("lost")); // false
 */
export type EndCode = Bye["code"] | "lost" | "silent" | "gap" | "too_large" | "store";

export type SessionReport =
  | { readonly kind: "connected"; readonly history: string; readonly offsetMs: number }
  | {
      readonly kind: "disconnected";
      readonly code: EndCode;
      readonly message: string;
      /** Time until the next attempt; left out if there is none. */
      readonly retryInMs?: number;
      /** Why a login was refused (`unauthorized`), before the peer dialled. */
      readonly refusal?: ErrorCode;
    }
  /** The server belongs to another app: the peer stops (S39). */
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

/** Context of one step: its time, and the actions collected so far. */
export interface StepContext {
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
