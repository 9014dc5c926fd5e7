/**
 * Session state: the phases of the session state machine (server-session.ts), with their data.
 */

import type { Hello, Site, StreamMode, ValueObject } from "@bigpeer/protocol";
import type { Liveness, LivenessLimits } from "./liveness.ts";
import type { Grant } from "./session-event.ts";

/** Configuration that all sessions of a server share. */
export interface SessionConfig {
  readonly history: string;
  readonly app: string;
  readonly limits: SessionLimits;
}

export interface SessionLimits extends LivenessLimits {
  readonly messageBytes: number;
  /** Uploads without an outcome. */
  readonly uploads: number;
  readonly subscriptions: number;
  /** Approximate bytes of the queries and arguments of all subscriptions of a session. */
  readonly subscriptionBytes: number;
  /** Bytes of uploads being applied, of one session and of all; beyond it reading pauses. */
  readonly uploadBytes: number;
  readonly allUploadBytes: number;
  /** How long a peer may take to send `hello`. */
  readonly helloMs: number;
  /** How long the check of the credential may take. */
  readonly admissionMs: number;
}

export interface GreetingSession {
  readonly phase: "greeting";
  readonly config: SessionConfig;
  readonly sinceMs: number;
}

export interface AdmittingSession {
  readonly phase: "admitting";
  readonly config: SessionConfig;
  readonly sinceMs: number;
  readonly hello: Hello;
  /** Permissions that changed while the credential was being checked. */
  readonly newer: Grant | undefined;
}

export interface OpenSession extends Liveness {
  readonly phase: "open";
  readonly config: SessionConfig;
  /** Without the token: a later check uses a new one. */
  readonly hello: Hello;
  readonly expiresMs: number | undefined;
  /** Number of the last credential check: answers to earlier ones are ignored. */
  readonly ticket: number;
  /** Pings without a pong, oldest first. */
  readonly pings: readonly SentPing[];
  /** The last pong; undefined before the first. */
  readonly lastPong: LastPong | undefined;
  /** The transaction that the last ping announced. */
  readonly announcedTxn: number;
  readonly subscriptions: ReadonlyMap<number, Subscription>;
  readonly uploads: UploadSequence;
  /** Remote statements without a complete answer. */
  readonly runs: ReadonlyMap<number, AwaitedRun>;
}

export interface SentPing {
  /** Wall clock in the ping, by which the pong identifies it. */
  readonly wallMs: number;
  readonly elapsedMs: number;
}

/** Progress of a peer (S43), as old as its last pong. */
export interface LastPong {
  readonly txn: number | undefined;
  readonly pending: number | undefined;
  readonly roundTripMs: number;
  /** When the answered ping was sent. */
  readonly pingedMs: number;
}

/** A remote statement that the peer was asked to run, and the size of its answer so far. */
export interface AwaitedRun {
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly rows: number;
  readonly bytes: number;
}

export interface Subscription {
  readonly query: string;
  readonly args: ValueObject;
  /** Approximate bytes of both. */
  readonly size: number;
  /** Undefined until its stream has begun. */
  readonly stream: FollowedStream | undefined;
}

export interface FollowedStream {
  readonly filter: Uint8Array;
  readonly filterKey: string;
  readonly collection: string;
  readonly mode: StreamMode;
}

/** Upload sequence: the position of a session in the numbered uploads of its site. */
export interface UploadSequence {
  readonly site: Site;
  /** The number that continues the sequence; smaller ones are replays. */
  readonly next: number;
  /** Uploads without an outcome. */
  readonly inFlight: number;
  /**
   * Which uploads are ignored. `gap`: until a number continues the sequence; the peer knows which.
   * `forked`: until the peer names another site.
   */
  readonly ignored: "none" | "gap" | "forked";
  /** The site before, if the peer left it because of a fork: it awaits no other answer for it. */
  readonly forkedSite?: Site;
}

export interface ClosedSession {
  readonly phase: "closed";
}

export type SessionState = GreetingSession | AdmittingSession | OpenSession | ClosedSession;

export const CLOSED: ClosedSession = { phase: "closed" };
